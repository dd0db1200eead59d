//! Equally spaced points on an interval `[0, L]`.
//!
//! Where the field is held at its ends both end points are grid points, `x_j = j L / (n - 1)`. On a periodic domain the
//! two ends are one point, `x_j = j L / n`.

/// How the domain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The field is 0 at both ends.
    Dirichlet,
    /// The two ends are the same point.
    Periodic,
}

/// Grid points of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Number of points.
    pub n: usize,
    /// Length of the interval.
    pub length: f64,
    /// How it ends.
    pub boundary: Boundary,
}

impl Grid {
    /// Number of intervals between neighbouring points.
    pub fn cells(&self) -> usize {
        match self.boundary {
            Boundary::Dirichlet => self.n - 1,
            Boundary::Periodic => self.n,
        }
    }

    /// Distance of neighbouring points, `h`.
    pub fn spacing(&self) -> f64 {
        self.length / self.cells() as f64
    }

    /// The points `x_j`.
    pub fn points(&self) -> Vec<f64> {
        (0..self.n).map(|j| j as f64 * self.length / self.cells() as f64).collect()
    }

    /// Distance after which the domain repeats, if it does.
    pub fn period(&self) -> Option<f64> {
        (self.boundary == Boundary::Periodic).then_some(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_points_unless_they_are_one_point() {
        let held = Grid { n: 5, length: 2.0, boundary: Boundary::Dirichlet };
        assert_eq!(held.points(), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(held.period(), None);
        let ring = Grid { n: 4, length: 2.0, boundary: Boundary::Periodic };
        assert_eq!(ring.points(), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(ring.spacing(), 0.5);
        assert_eq!(ring.period(), Some(2.0));
    }
}
