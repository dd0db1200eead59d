//! Polylines in page coordinates.

/// A point on the page.
pub(crate) type Point = (f64, f64);

/// Points within a column of this width (in points of the page) look the same on paper.
const COLUMN: f64 = 0.25;

/// Drops points that cannot be seen, so that a curve with a million samples gives a small file. Of every run
/// of consecutive points inside one narrow column, only the first, lowest, highest and last are kept.
pub(crate) fn thin(line: &[Point]) -> Vec<Point> {
    let column = |p: &Point| (p.0 / COLUMN).floor();
    let mut kept = Vec::new();
    for run in line.chunk_by(|a, b| column(a) == column(b)) {
        if run.len() <= 4 {
            kept.extend_from_slice(run);
            continue;
        }
        let by_height = |a: &usize, b: &usize| run[*a].1.total_cmp(&run[*b].1);
        let lowest = (0..run.len()).min_by(by_height).unwrap_or(0);
        let highest = (0..run.len()).max_by(by_height).unwrap_or(0);
        let mut corners = [0, lowest.min(highest), lowest.max(highest), run.len() - 1].to_vec();
        corners.dedup();
        kept.extend(corners.into_iter().map(|i| run[i]));
    }
    kept
}

/// Points at most `spacing` apart along the line, to measure what a legend would hide.
pub(crate) fn sample(line: &[Point], spacing: f64) -> Vec<Point> {
    let mut samples: Vec<Point> = line.first().copied().into_iter().collect();
    for pair in line.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        // A line far outside the panel is not worth more samples than this.
        let pieces = ((x1 - x0).hypot(y1 - y0) / spacing).ceil().clamp(1.0, 1000.0);
        samples.extend((1..=pieces as usize).map(|i| {
            let t = i as f64 / pieces;
            (x0 + t * (x1 - x0), y0 + t * (y1 - y0))
        }));
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_ends_and_extremes() {
        let line: Vec<Point> = (0..100_000).map(|i| (i as f64 * 1e-3, (i as f64 * 0.7).sin())).collect();
        let thinned = thin(&line);
        assert!(thinned.len() <= 4 * 401, "{} points are left", thinned.len());
        assert_eq!(thinned.first(), line.first());
        assert_eq!(thinned.last(), line.last());
        let highest = |points: &[Point]| points.iter().map(|p| p.1).fold(f64::MIN, f64::max);
        assert_eq!(highest(&thinned), highest(&line));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0), "the order along the line has changed");
    }

    #[test]
    fn thinning_leaves_sparse_lines_alone() {
        let line = vec![(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (1.0, -1.0)];
        assert_eq!(thin(&line), line);
    }

    #[test]
    fn samples_are_close_together() {
        let samples = sample(&[(0.0, 0.0), (30.0, 40.0), (30.0, 41.0)], 2.0);
        assert_eq!(samples.len(), 1 + 25 + 1);
        assert!(samples.windows(2).all(|p| (p[1].0 - p[0].0).hypot(p[1].1 - p[0].1) <= 2.0 + 1e-9));
        assert!(sample(&[], 2.0).is_empty());
    }
}
