//! The middle and the spread of curves over cases.

/// Quantiles of a set of curves at every point.
pub(crate) struct Spread {
    /// 10 % of the curves are below.
    pub low: Vec<f64>,
    /// Half of the curves are below.
    pub median: Vec<f64>,
    /// 90 % of the curves are below.
    pub high: Vec<f64>,
}

impl Spread {
    /// Of curves of the same length.
    pub fn of(curves: &[Vec<f64>]) -> Spread {
        let points = curves.first().map_or(0, Vec::len);
        let at = |share: f64| -> Vec<f64> {
            (0..points).map(|i| quantile(curves.iter().map(|curve| curve[i]), share)).collect()
        };
        Spread { low: at(0.1), median: at(0.5), high: at(0.9) }
    }
}

/// The value below which a share of all values lies, linear between neighbours; NaN of nothing.
pub(crate) fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [3.0, 1.0, 2.0, 5.0];
        let of = |share| quantile(values.into_iter(), share);
        assert_eq!((of(0.0), of(0.5), of(1.0)), (1.0, 2.5, 5.0));
        assert!((of(0.9) - 4.4).abs() < 1e-12);
        assert!(quantile(std::iter::empty(), 0.5).is_nan());
    }

    #[test]
    fn a_spread_is_found_point_by_point() {
        let spread = Spread::of(&[vec![0.0, 30.0], vec![10.0, 20.0], vec![5.0, 10.0]]);
        assert_eq!(spread.median, [5.0, 20.0]);
        assert_eq!(spread.low, [1.0, 12.0]);
        assert_eq!(spread.high, [9.0, 28.0]);
    }
}
