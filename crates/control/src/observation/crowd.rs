//! How crowded it is around an agent: what its share of the work is, and where the others are.
//!
//! Forcing is the plain sum over agents. What the field needs at a point is fixed by the error there; what
//! one agent must give is that divided by the number of agents that reach the point. The density of living
//! agents says how many they are, in units of the actuation kernel `b` (peak 1, the agent itself included):
//!
//! ```text
//! D_s(x) = sum_j alive_j exp(-|x - xi_j|^2 / (2 s^2)),   rho_i = D_sigma(xi_i),   wide_i = D_{2 sigma}(xi_i)
//! ```
//!
//! The share of an agent is `ref / rho`: 1 in an even swarm of density `ref`, `observe.crowd_ref`. An agent
//! is told `1 / rho`, `1 / wide` and, per axis, `sigma (dD_sigma/dx) / rho` and
//! `2 sigma (dD_{2 sigma}/dx) / wide`. The last are the mean of `(xi_j - xi_i)` over the neighbours, in
//! kernel widths: 0 in the middle of an even swarm, towards the others at its rim. With `observe.crowd_limit`
//! a crowd denser than that looks like one of that density, and only shares more: the network never sees more
//! agents than it was trained with.
//!
//! A density is a field, as the forcing is, on a lattice of its own with three points per width, read at the
//! agents by linear interpolation (to about 2 %): the cost grows with the number of agents, not with their
//! pairs, and the grid of the solver does not matter. Differentiated in `xi` and `alive`.

use super::gradient;
use crate::config::Config;
use cinoc_adjoint::{Bump, Interpolation, Lattice, PatchLattice, Shape, Sparse, Var};

/// A living agent counts itself, so that `rho >= 1`. The floor is for a failed agent far from the others: its
/// action is 0 times a number that must be finite.
pub const FLOOR: f64 = 0.5;

/// Points of the lattice per kernel width.
const RESOLUTION: f64 = 3.0;

/// What agents know of each other.
#[derive(Clone, Copy)]
pub struct Neighbours<'t> {
    /// `ref / rho`, `[1][agents]`: the share of an agent in what is to be done where it stands.
    pub share: Var<'t>,
    /// All features, [`feature_count`] rows.
    pub features: Var<'t>,
}

/// Rows of [`Neighbours::features`].
pub fn feature_count(config: &Config) -> usize {
    2 + 2 * config.task.dims
}

/// The sense for other agents.
pub struct Crowd {
    near: Density,
    wide: Density,
    reference: f64,
    limit: f64,
}

impl Crowd {
    /// The sense that a task's kernel and `observe.crowd_ref` describe.
    pub fn new(config: &Config) -> Crowd {
        let sigma = config.actuation.sigma;
        Crowd {
            near: Density::new(config, sigma),
            wide: Density::new(config, 2.0 * sigma),
            reference: config.observe.crowd_ref,
            limit: config.observe.crowd_limit,
        }
    }

    /// What agents at `xi` (`[dims][agents]`) know of each other, where those with `alive` 1 count and those
    /// with 0 do not.
    pub fn neighbours<'t>(&self, xi: Var<'t>, alive: Option<Var<'t>>) -> Neighbours<'t> {
        let agents = xi.cols();
        let alive = alive.unwrap_or_else(|| xi.tracer().constant(1, agents, vec![1.0; agents]));
        let alive = alive.broadcast(Shape::per_sample(1, agents));
        let [near, wide] = self.both().map(|density| density.read(xi, density.of(xi, alive)));
        self.told(near, wide)
    }

    /// The densities that agents at `xi` make, those with `alive` 1, as [`Crowd::among`] takes them.
    /// Densities of parts of a swarm add up to that of the swarm.
    pub fn densities<'t>(&self, xi: Var<'t>, alive: Var<'t>) -> [Var<'t>; 2] {
        self.both().map(|density| density.of(xi, alive))
    }

    /// Rows and columns of [`Crowd::densities`].
    pub fn density_shapes(&self) -> [(usize, usize); 2] {
        self.both().map(|density| (density.axes[0].n, density.axes.get(1).map_or(1, |axis| axis.n)))
    }

    /// What agents at `xi` know of a swarm that they belong to, by its densities.
    pub fn among<'t>(&self, xi: Var<'t>, [near, wide]: [Var<'t>; 2]) -> Neighbours<'t> {
        self.told(self.near.read(xi, near), self.wide.read(xi, wide))
    }

    fn both(&self) -> [&Density; 2] {
        [&self.near, &self.wide]
    }

    fn told<'t>(&self, near: Read<'t>, wide: Read<'t>) -> Neighbours<'t> {
        let volume = f64::from(1u32 << self.near.axes.len());
        let told = |density: Var<'t>, limit: f64| {
            if self.limit > 0.0 { density.clamp(FLOOR, limit).recip() } else { density.recip() }
        };
        let features = told(near.density, self.limit).stack(told(wide.density, volume * self.limit));
        let features = features.stack(near.towards / near.density).stack(wide.towards / wide.density);
        let share = self.reference / near.density;
        Neighbours { share, features }
    }
}

/// The density of agents seen with kernels of one width.
struct Density {
    width: f64,
    /// Its lattice.
    axes: Vec<cinoc_pde::Axis>,
    gradient: Vec<Sparse>,
    mobile: bool,
}

/// A density and its gradient times the width, at the agents.
struct Read<'t> {
    density: Var<'t>,
    towards: Var<'t>,
}

impl Density {
    fn new(config: &Config, width: f64) -> Density {
        let axes: Vec<cinoc_pde::Axis> = config.domain().axes().map(|axis| lattice(axis, width)).collect();
        Density {
            gradient: axes.iter().map(|axis| gradient(axis.n, axis.period().is_some())).collect(),
            width,
            axes,
            mobile: config.mobile(),
        }
    }

    /// The density of agents at `xi` on its lattice.
    fn of<'t>(&self, xi: Var<'t>, alive: Var<'t>) -> Var<'t> {
        let bumps = self.axes.iter().map(|axis| Bump {
            points: axis.points(),
            sigma: self.width,
            period: axis.period(),
            height: 1.0,
        });
        match &bumps.collect::<Vec<_>>()[..] {
            // the kernels of agents that stay where they are are the same in every step
            [x] if self.mobile => xi.gaussian_sum(alive, x.clone()),
            [x] => xi.gaussian(x.clone()).contract(alive),
            [x, y] => {
                let factor = |axis: usize, bump: &Bump| xi.slice(axis..axis + 1).gaussian(bump.clone());
                (factor(0, x) * alive).outer(factor(1, y))
            }
            _ => unreachable!("a checked task has 1 or 2 axes"),
        }
    }

    /// A density on its lattice, read at agents at `xi`.
    fn read<'t>(&self, xi: Var<'t>, density: Var<'t>) -> Read<'t> {
        let read = match &self.gradient[..] {
            [along_x] => xi.windows(&[density, density.linear(along_x)], self.lattice()),
            [along_x, along_y] => {
                let maps = density.stack(density.linear(along_x)).stack(density.linear_cols(along_y));
                xi.patches(maps, self.patch_lattice())
            }
            _ => unreachable!("a checked task has 1 or 2 axes"),
        };
        // differences are per cell of the lattice
        let scales = self.axes.iter().map(|axis| self.width / axis.spacing()).collect();
        let scales = xi.tracer().constant(self.axes.len(), 1, scales);
        Read {
            density: read.slice(0..1).clamp(FLOOR, f64::MAX),
            towards: read.slice(1..read.rows()) * scales,
        }
    }

    fn lattice(&self) -> Lattice {
        let axis = &self.axes[0];
        Lattice {
            width: 1,
            n: axis.n,
            density: axis.cells() as f64 / axis.length,
            periodic: axis.period().is_some(),
            sampling: Interpolation::Linear,
        }
    }

    fn patch_lattice(&self) -> PatchLattice {
        let [x, y] = [&self.axes[0], &self.axes[1]];
        PatchLattice {
            patch: 1,
            n: [x, y].map(|axis| axis.n),
            density: [x, y].map(|axis| axis.cells() as f64 / axis.length),
            periodic: x.period().is_some(),
            sampling: Interpolation::Linear,
        }
    }
}

/// The lattice along an axis for kernels of a width.
pub fn lattice(axis: cinoc_pde::Axis, width: f64) -> cinoc_pde::Axis {
    let cells = (RESOLUTION * axis.length / width).ceil().max(4.0) as usize;
    cinoc_pde::Axis { n: cells + usize::from(axis.period().is_none()), ..axis }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_adjoint::{Inputs, Program, Threads, Tracer};

    /// Features of agents at `xi` (`[dims][agents]`), `[features][agents]`, and the shares.
    fn sensed(task: &str, xi: &[f64], alive: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let config = Config::preset(task).unwrap();
        let (tracer, agents) = (Tracer::new(), alive.len());
        let places = tracer.sequence("xi", config.task.dims, agents);
        let living = tracer.sequence("alive", 1, agents);
        let sensed = Crowd::new(&config).neighbours(places, Some(living));
        let features = tracer.record("features", sensed.features);
        let share = tracer.record("share", sensed.share + 0.0 * living);
        let inputs = Inputs::new(1, 1, &[]).with(places.input(), xi).with(living.input(), alive);
        let outcome = Program::<f64>::new(&tracer.finish(), 1).forward(&inputs, &Threads::one());
        (outcome.record(features).to_vec(), outcome.record(share).to_vec())
    }

    /// Density and mean offset of the neighbours of agent `i`, by pairs.
    fn by_pairs(config: &Config, xi: &[f64], alive: &[f64], i: usize, width: f64) -> (f64, Vec<f64>) {
        let (m, axes) = (alive.len(), config.domain().axes().collect::<Vec<_>>());
        let (mut density, mut offset) = (0.0, vec![0.0; axes.len()]);
        for j in (0..m).filter(|&j| alive[j] > 0.0) {
            let way: Vec<f64> = (axes.iter().enumerate())
                .map(|(a, axis)| {
                    let d = xi[a * m + j] - xi[a * m + i];
                    axis.period().map_or(d, |period| d - period * (d / period).round())
                })
                .collect();
            let b = (-0.5 * way.iter().map(|d| d * d).sum::<f64>() / (width * width)).exp();
            density += b;
            offset.iter_mut().zip(&way).for_each(|(sum, d)| *sum += b * d / width);
        }
        (density, offset.into_iter().map(|sum| sum / density).collect())
    }

    #[test]
    fn the_grid_says_what_all_pairs_say() {
        for (task, xi) in [
            ("fkpp1d", vec![0.2, 0.24, 0.3, 0.31, 0.5, 0.72]),
            ("ks1d", vec![0.4, 3.0, 4.1, 10.0, 17.0, 21.6]),
            ("heat2d", vec![0.2, 0.35, 0.5, 0.55, 0.8, 0.62, 0.3, 0.35, 0.4, 0.6, 0.45, 0.8]),
            ("turb2d", vec![0.01, 0.98, 0.5, 0.52, 0.61, 0.2, 0.99, 0.03, 0.5, 0.53, 0.5, 0.2]),
        ] {
            let config = Config::preset(task).unwrap();
            let alive = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0];
            let (features, share) = sensed(task, &xi, &alive);
            let (m, dims, reference) = (6, config.task.dims, config.observe.crowd_ref);
            for i in [0, 1, 2, 3, 5] {
                let widths = [1.0, 2.0].map(|k| k * config.actuation.sigma);
                let [near, wide] = widths.map(|width| by_pairs(&config, &xi, &alive, i, width));
                assert!((share[i] * near.0 / reference - 1.0).abs() < 0.04, "{task} agent {i}");
                let limit = config.observe.crowd_limit;
                let most = |density: f64, limit: f64| if limit > 0.0 { density.min(limit) } else { density };
                let full = f64::from(1 << dims) * limit;
                let expected = [1.0 / most(near.0, limit), 1.0 / most(wide.0, full)];
                for (k, expected) in expected.into_iter().enumerate() {
                    let error = features[k * m + i] / expected - 1.0;
                    assert!(error.abs() < 0.04, "{task} agent {i} feature {k}: {error}");
                }
                for (k, expected) in near.1.iter().chain(&wide.1).enumerate() {
                    let found = features[(2 + k) * m + i];
                    assert!((found - expected).abs() < 0.03, "{task} agent {i}: {found} for {expected}");
                }
            }
        }
    }

    #[test]
    fn a_failed_agent_far_from_all_others_has_finite_features() {
        let (features, share) = sensed("fkpp1d", &[0.1, 0.9], &[1.0, 0.0]);
        assert!(features.iter().chain(&share).all(|x| x.is_finite()));
        // the living one is alone
        let reference = Config::preset("fkpp1d").unwrap().observe.crowd_ref;
        assert!((share[0] / reference - 1.0).abs() < 0.01, "{share:?}");
    }
}
