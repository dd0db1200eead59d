//! A field on a grid as a picture: many small cells that cover the rectangle exactly.
//!
//! On a non-periodic axis grid points lie on both borders. On a periodic axis they start at 0 and end one
//! spacing before the other border. Cells around the grid points would therefore cover a different rectangle
//! than the one agents move in. The bilinear interpolant of the values is defined everywhere, so a picture
//! uses its value at the centre of each cell.

/// A picture has at least this many cells per direction.
const CELLS: usize = 120;

/// Row-major values with y along the rows and the first row at the bottom, as a map needs them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resampled {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

/// The two grid points around a place and the weight of the second.
#[derive(Clone, Copy)]
struct Between {
    low: usize,
    high: usize,
    weight: f64,
}

/// `field` is `[nx][ny]`.
pub(super) fn resample(field: &[f64], n: [usize; 2], periodic: bool) -> Resampled {
    let [across, up] = n.map(|n| middles(n, periodic));
    let at = |i: usize, j: usize| field[i * n[1] + j];
    let along_y = |i: usize, y: &Between| mix(at(i, y.low), at(i, y.high), y.weight);
    let value = |x: &Between, y: &Between| mix(along_y(x.low, y), along_y(x.high, y), x.weight);
    let values = up.iter().flat_map(|y| across.iter().map(move |x| value(x, y))).collect();
    Resampled { rows: up.len(), columns: across.len(), values }
}

/// The centres of the cells along an axis of `n` points.
fn middles(n: usize, periodic: bool) -> Vec<Between> {
    let cells = n * CELLS.div_ceil(n);
    let place = |cell: usize| (cell as f64 + 0.5) / cells as f64;
    let between = |cell: usize| {
        let x = place(cell) * if periodic { n } else { n - 1 } as f64; // in spacings
        let low = x.floor() as usize;
        let high = if periodic { (low + 1) % n } else { (low + 1).min(n - 1) };
        Between { low, high, weight: x - low as f64 }
    };
    (0..cells).map(between).collect()
}

/// Linear interpolation. A point of weight 0 is ignored, even if it is NaN.
fn mix(a: f64, b: f64, weight: f64) -> f64 {
    if weight == 0.0 { a } else { a + weight * (b - a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bilinear_field_is_met_exactly_with_x_to_the_right_and_y_up() {
        let (nx, ny) = (5, 9);
        let z = |x: f64, y: f64| 2.0 * x + 3.0 * y + x * y;
        let grid = |i: usize| z((i / ny) as f64 / (nx - 1) as f64, (i % ny) as f64 / (ny - 1) as f64);
        let field: Vec<f64> = (0..nx * ny).map(grid).collect();
        let Resampled { rows, columns, values } = resample(&field, [nx, ny], false);
        assert_eq!((rows, columns), (126, 120));
        for (i, value) in values.iter().enumerate() {
            let x = ((i % columns) as f64 + 0.5) / columns as f64;
            let y = ((i / columns) as f64 + 0.5) / rows as f64;
            assert!((value - z(x, y)).abs() < 1e-12, "({x}, {y}): {value}");
        }
    }

    #[test]
    fn a_periodic_field_is_joined_at_its_ends() {
        let resampled = resample(&[0.0, 0.0, 0.0, 4.0], [4, 1], true);
        let row = &resampled.values[..resampled.columns];
        let (first, last) = (row[0], row[row.len() - 1]);
        assert!(first == 0.0 && last < 0.1 && last > 0.0, "{first} {last}");
    }

    #[test]
    fn a_missing_value_spoils_only_its_surroundings() {
        let mut field = vec![1.0; 16];
        field[5] = f64::NAN;
        let resampled = resample(&field, [4, 4], false);
        let missing = resampled.values.iter().filter(|value| value.is_nan()).count();
        assert!((missing as f64 / resampled.values.len() as f64 - 4.0 / 9.0).abs() < 0.02);
        assert_eq!(resample(&[3.0], [1, 1], false).values, vec![3.0; CELLS * CELLS]);
    }
}
