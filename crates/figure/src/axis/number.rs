//! Number formatting with true minus signs and superscript exponents.

/// `value` with this many decimals and a minus sign as wide as a plus.
pub(super) fn decimal(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// 10 to the `exponent`, such as "10⁻³".
pub(super) fn power_of_ten(exponent: i32) -> String {
    let raise = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The superscripts 0 and 4 to 9 are consecutive in Unicode; 1 to 3 are elsewhere.
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(raise).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_raised() {
        assert_eq!(power_of_ten(0), "10⁰");
        assert_eq!(power_of_ten(-123), "10⁻¹²³");
        assert_eq!(power_of_ten(4567890), "10⁴⁵⁶⁷⁸⁹⁰");
    }

    #[test]
    fn minus_is_a_minus_sign() {
        assert_eq!(decimal(-0.25, 2), "−0.25");
    }
}
