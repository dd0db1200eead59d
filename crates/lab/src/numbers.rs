//! Numbers as a reader wants them.

use cinoc_learn::evaluate::Spread;

/// Three significant digits, with a power of ten where zeros would have to be counted.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-2..1e4).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let digits = (2 - magnitude.log10().floor() as i32).max(0) as usize;
    format!("{value:.digits$}")
}

/// Mean ± two standard deviations, as the paper prints results.
pub fn two_std(spread: Spread) -> String {
    format!("{} ± {}", number(spread.mean), number(2.0 * spread.std))
}

/// A wall time in the unit one would say it in.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{whole} s"),
        120..7200 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A whole number with its thousands apart.
pub fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let written =
            [0.0, 4.6123e-5, 0.0103, 0.10349, -1.4499, 13.911, 99.96, 5061.0, 123456.0, f64::NAN].map(number);
        assert_eq!(
            written,
            ["0", "4.61e-5", "0.0103", "0.103", "-1.45", "13.9", "100.0", "5061", "1.23e5", "NaN"]
        );
    }

    #[test]
    fn durations_and_counts_are_readable() {
        assert_eq!([3.12, 34.3, 200.0, 9000.0].map(duration), ["3.1 s", "34 s", "3 min 20 s", "2 h 30 min"]);
        assert_eq!([7, 999, 11298, 1234567].map(thousands), ["7", "999", "11,298", "1,234,567"]);
    }
}
