//! Contour lines of a matrix, by marching squares.
//!
//! Four neighbouring values are the corners of a square. Where the level lies between the two ends of an
//! edge, a line crosses that edge at the place found by linear interpolation. An edge belongs to at most two
//! squares, and each square joins an edge to at most one other. The crossings therefore form chains. Some
//! chains end at the border or at missing values, the others are closed.

use crate::axis::{Scale, is_drawable};
use crate::draw::polyline::Point;

/// No linked crossing.
const NONE: usize = usize::MAX;

/// The lines on which row-major `values` equal `level`, in units of cells: the value at (row, column) stands
/// at (column + 1/2, row + 1/2). Closed lines repeat their first point.
pub(super) fn level_lines(values: &[f64], columns: usize, level: f64) -> Vec<Vec<Point>> {
    let squares = Squares { values, columns, level };
    let mut links = squares.links();
    let mut lines = Vec::new();
    // open lines first: a walk from an end sees the whole line
    for ends_only in [true, false] {
        for start in 0..links.len() {
            let neighbours = links[start].iter().filter(|&&edge| edge != NONE).count();
            if neighbours == 1 || (neighbours == 2 && !ends_only) {
                lines.push(walk(&mut links, start).into_iter().map(|edge| squares.crossing(edge)).collect());
            }
        }
    }
    lines
}

/// Follows a chain to its end, or back to its start, and removes its links.
fn walk(links: &mut [[usize; 2]], start: usize) -> Vec<usize> {
    let mut line = vec![start];
    let mut here = start;
    while let Some(&next) = links[here].iter().find(|&&edge| edge != NONE) {
        for (from, to) in [(here, next), (next, here)] {
            let side = usize::from(links[from][0] != to);
            links[from][side] = NONE;
        }
        line.push(next);
        here = next;
    }
    line
}

struct Squares<'a> {
    values: &'a [f64],
    columns: usize,
    level: f64,
}

impl Squares<'_> {
    /// Edges are numbered by the value at their lower left end: first those to the right, then those upwards.
    fn links(&self) -> Vec<[usize; 2]> {
        let (columns, count) = (self.columns, self.values.len());
        let mut links = vec![[NONE; 2]; 2 * count];
        let rows = count.checked_div(columns).unwrap_or(0);
        for row in 1..rows {
            for column in 1..columns {
                let lower_left = (row - 1) * columns + column - 1;
                for (a, b) in self.segments(lower_left).into_iter().flatten() {
                    for (from, to) in [(a, b), (b, a)] {
                        let side = usize::from(links[from][0] != NONE);
                        links[from][side] = to;
                    }
                }
            }
        }
        links
    }

    /// The pairs of edges that lines join inside one square.
    fn segments(&self, lower_left: usize) -> [Option<(usize, usize)>; 2] {
        let (columns, count) = (self.columns, self.values.len());
        let corners = [lower_left, lower_left + 1, lower_left + columns + 1, lower_left + columns];
        let values = corners.map(|corner| self.values[corner]);
        if !values.iter().all(|&value| is_drawable(value, Scale::Linear)) {
            return [None; 2];
        }
        let above = values.map(|value| value >= self.level);
        let [bottom, right, top, left] =
            [lower_left, count + lower_left + 1, lower_left + columns, count + lower_left];
        let crossed: Vec<usize> = [bottom, right, top, left]
            .into_iter()
            .enumerate()
            .filter(|(i, _)| above[*i] != above[(i + 1) % 4])
            .map(|(_, edge)| edge)
            .collect();
        match crossed[..] {
            [a, b] => [Some((a, b)), None],
            [_, _, _, _] => {
                // a saddle: the middle decides which pair of opposite corners is connected
                let centre_above = values.iter().sum::<f64>() / 4.0 >= self.level;
                if above[0] == centre_above {
                    [Some((bottom, right)), Some((top, left))]
                } else {
                    [Some((bottom, left)), Some((right, top))]
                }
            }
            _ => [None; 2],
        }
    }

    fn crossing(&self, edge: usize) -> Point {
        let upward = edge >= self.values.len();
        let from = edge % self.values.len();
        let to = if upward { from + self.columns } else { from + 1 };
        let (low, high) = (self.values[from], self.values[to]);
        let share = (self.level - low) / (high - low);
        let (x, y) = ((from % self.columns) as f64 + 0.5, (from / self.columns) as f64 + 0.5);
        if upward { (x, y + share) } else { (x + share, y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(n: usize, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        (0..n * n).map(|i| f((i % n) as f64 + 0.5, (i / n) as f64 + 0.5)).collect()
    }

    #[test]
    fn a_cone_has_circles() {
        let cone = matrix(41, |x, y| (x - 20.5).hypot(y - 20.5));
        let lines = level_lines(&cone, 41, 10.0);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last(), "a closed line ends where it began");
        for &(x, y) in &lines[0] {
            assert!(((x - 20.5).hypot(y - 20.5) - 10.0).abs() < 0.02, "({x}, {y})");
        }
        let length: f64 =
            lines[0].windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).sum();
        assert!((length - 20.0 * std::f64::consts::PI).abs() < 0.2, "{length}");
    }

    #[test]
    fn a_slope_has_one_line_from_border_to_border() {
        let lines = level_lines(&matrix(8, |x, y| x + 0.25 * y), 8, 4.3);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), 8 + 2, "8 rows, and a column more at each of two crossings of one");
        assert!(lines[0].iter().all(|&(x, y)| (x + 0.25 * y - 4.3).abs() < 1e-12));
    }

    #[test]
    fn the_middle_of_a_saddle_decides() {
        // high at the lower left and the upper right, with a mean of 0.6
        let saddle = [1.0, 0.0, 0.4, 1.0];
        let corners_cut = |level: f64, side: fn(&Point) -> bool| {
            let lines = level_lines(&saddle, 2, level);
            assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
            let sides: Vec<Vec<bool>> = lines.iter().map(|line| line.iter().map(side).collect()).collect();
            sides.contains(&vec![true; 2]) && sides.contains(&vec![false; 2])
        };
        assert!(corners_cut(0.5, |&(x, y)| x > y), "high values are connected");
        assert!(corners_cut(0.7, |&(x, y)| x + y > 2.0), "low values are connected");
    }

    #[test]
    fn missing_values_open_a_line() {
        let mut cone = matrix(21, |x, y| (x - 10.5).hypot(y - 10.5));
        cone[10 * 21 + 15] = f64::NAN;
        let lines = level_lines(&cone, 21, 5.2);
        assert_eq!(lines.len(), 1);
        assert_ne!(lines[0].first(), lines[0].last());
        assert!(lines[0].iter().all(|point| point.0.is_finite() && point.1.is_finite()));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert!(level_lines(&[], 0, 1.0).is_empty());
        assert!(level_lines(&[1.0, 2.0], 2, 1.5).is_empty());
        assert!(level_lines(&[f64::NAN; 9], 3, 0.0).is_empty());
        assert!(level_lines(&[1.0; 9], 3, f64::NAN).is_empty());
    }
}
