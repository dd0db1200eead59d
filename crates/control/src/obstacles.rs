//! Discs that agents may not enter.
//!
//! The field passes through them. The loss asks agents to keep a margin; `obstacles.filter = "project"` moves
//! a position that would be inside a disc to the nearest point of its rim, disc after disc, so that no agent
//! can ever be inside. Start positions are moved out of the margins in either case.

use crate::config::{self, Config, Layout};
use cinoc_adjoint::Var;

/// Some discs of one radius.
#[derive(Clone, Debug, PartialEq)]
pub struct Discs {
    /// Their centres.
    pub centres: [[f64; 2]; 3],
    /// Their radius.
    pub radius: f64,
    /// Distance agents should keep from a rim.
    pub margin: f64,
    /// Whether agents are moved out.
    pub project: bool,
}

/// Share of the radius by which a position on the rim may seem inside: rounding in single precision.
const ROUNDING: f64 = 1e-5;

impl Discs {
    /// The discs of a task, if it has any.
    pub fn of(config: &Config) -> Option<Discs> {
        let obstacles = config.obstacles.as_ref()?;
        let (centres, radius) = match obstacles.layout {
            Layout::Sides => ([[0.15, 0.5], [0.85, 0.5], [0.5, 0.15]], 0.08),
            Layout::Diagonal => ([[0.3, 0.3], [0.5, 0.5], [0.7, 0.7]], 0.06),
        };
        let project = obstacles.filter == config::Filter::Project;
        Some(Discs { centres, radius, margin: obstacles.margin, project })
    }

    /// Positions `[2][agents]` with those inside a disc moved to its rim, where the task asks for it.
    pub fn filter<'t>(&self, xi: Var<'t>) -> Var<'t> {
        if !self.project {
            return xi;
        }
        self.centres.iter().fold(xi, |xi, &centre| {
            let centre = xi.tracer().constant(2, 1, centre.to_vec());
            let away = xi - centre;
            // positions outside keep their distance; the upper limit is for an agent at the very centre,
            // which stays finite
            let stretch =
                (self.radius * away.length().clamp(1e-6 * self.radius, f64::MAX).recip()).clamp(1.0, 1e6);
            centre + away * stretch
        })
    }

    /// Mean over agents and discs of the squared depth inside a margin, given how to take that over agents.
    pub fn penalty<'t>(&self, xi: Var<'t>, mean_square: impl Fn(Var<'t>) -> Var<'t>) -> Var<'t> {
        let depth = |&centre: &[f64; 2]| {
            let away = xi - xi.tracer().constant(2, 1, centre.to_vec());
            mean_square((self.margin + self.radius - away.length()).relu())
        };
        let [first, second, third] = self.centres.each_ref().map(depth);
        (first + second + third) * (1.0 / self.centres.len() as f64)
    }

    /// A position moved out of all margins, one disc after the other.
    pub fn clear_of_margins(&self, position: [f64; 2]) -> [f64; 2] {
        let keep = self.radius + self.margin;
        self.centres.iter().fold(position, |[x, y], &[cx, cy]| {
            let distance = (x - cx).hypot(y - cy);
            match distance {
                d if d >= keep => [x, y],
                0.0 => [cx + keep, cy],
                d => [cx + keep * (x - cx) / d, cy + keep * (y - cy) / d],
            }
        })
    }

    /// Whether a position is inside a disc, and whether it is inside a margin.
    pub fn inside(&self, [x, y]: [f64; 2]) -> (bool, bool) {
        let nearest =
            self.centres.iter().map(|[cx, cy]| (x - cx).hypot(y - cy)).fold(f64::INFINITY, f64::min);
        let within = |radius: f64| nearest < radius * (1.0 - ROUNDING);
        (within(self.radius), within(self.radius + self.margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_adjoint::{Inputs, Program, Threads, Tracer};

    fn discs(sets: &[&str]) -> Discs {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::preset("heat2d-obstacles").unwrap().with_sets(&sets).unwrap();
        Discs::of(&config).unwrap()
    }

    /// Positions after the filter.
    fn filtered(discs: &Discs, xi: &[f64]) -> Vec<f64> {
        let tracer = Tracer::new();
        let given = tracer.sequence("xi", 2, xi.len() / 2);
        let moved = tracer.record("xi", discs.filter(given) + 0.0 * given);
        let inputs = Inputs::new(1, 1, &[]).with(given.input(), xi);
        let outcome = Program::<f64>::new(&tracer.finish(), 1).forward(&inputs, &Threads::one());
        outcome.record(moved).to_vec()
    }

    #[test]
    fn positions_inside_go_to_the_rim_and_others_stay() {
        let discs = discs(&["obstacles.filter=project"]);
        // inside the first disc, inside its margin, far away
        let xi = [0.13, 0.05, 0.6, 0.5, 0.5, 0.6];
        let moved = filtered(&discs, &xi);
        let at = |agent: usize| [moved[agent], moved[3 + agent]];
        assert!((at(0)[0] - 0.07).abs() < 1e-15 && (at(0)[1] - 0.5).abs() < 1e-15);
        for (agent, place) in [(1, [0.05, 0.5]), (2, [0.6, 0.6])] {
            assert!((0..2).all(|axis| (at(agent)[axis] - place[axis]).abs() < 1e-15));
        }
        assert_eq!(discs.inside(at(0)), (false, true));
        assert_eq!(discs.inside(at(2)), (false, false));
    }

    #[test]
    fn without_the_filter_nothing_moves() {
        let discs = discs(&["obstacles.filter=none"]);
        assert_eq!(filtered(&discs, &[0.15, 0.5]), [0.15, 0.5]);
        assert_eq!(discs.inside([0.15, 0.5]), (true, true));
    }

    #[test]
    fn start_positions_leave_the_margins() {
        let discs = discs(&["obstacles.layout=diagonal"]);
        for start in [[0.3, 0.3], [0.31, 0.33], [0.5, 0.59], [0.9, 0.1]] {
            assert_eq!(discs.inside(discs.clear_of_margins(start)), (false, false), "{start:?}");
        }
    }
}
