//! 2D: a square patch of the error, of its two gradients (`observe.gradient`) and of the target
//! (`observe.target`): `p x p` points of the reference lattice around the agent's cell.
//!
//! No resampling. Beyond the walls the end values are repeated; on a torus the patch is wrapped.

use super::{fields_with, gradient, restriction, sampling, targets};
use crate::config::Config;
use cinoc_adjoint::{Interpolation, PatchLattice, Sparse, Var};

/// Channels of a patch: of every observed field `e` and, where they are seen, `d_x e`, `d_y e` and the
/// target.
pub fn channels(config: &Config) -> usize {
    super::channels(config, 2)
}

/// The sensors of a 2D task.
pub struct Patches {
    lattice: PatchLattice,
    /// From the grid to the reference lattice, along each axis.
    restriction: [Option<Sparse>; 2],
    gradient: Option<[Sparse; 2]>,
    config: Config,
}

impl Patches {
    /// Patches of `size` points along a side, otherwise as `config.observe` describes them.
    ///
    /// # Panics
    /// If the task is not two-dimensional.
    pub fn new(config: &Config, size: usize) -> Patches {
        let axes: [_; 2] = config.axes().try_into().expect("patches are cut out of 2D fields");
        Patches {
            lattice: PatchLattice {
                patch: size,
                n: axes.map(|axis| axis.n_ref),
                density: axes.map(|axis| axis.cells_per_length()),
                periodic: config.periodic(),
                sampling: sampling(config.observe.sampling),
            },
            restriction: [restriction(&axes[0]), restriction(&axes[1])],
            gradient: config.observe.gradient.then(|| axes.map(|axis| gradient(axis.n_ref, axis.periodic()))),
            config: config.clone(),
        }
    }

    /// Points of the reference lattice.
    pub fn n(&self) -> [usize; 2] {
        self.lattice.n
    }

    /// Points along a side of a patch.
    pub fn size(&self) -> usize {
        self.lattice.patch
    }

    /// Whether the lattice wraps around.
    pub fn periodic(&self) -> bool {
        self.lattice.periodic
    }

    /// All channels on the whole lattice, one above the other: `[channels n_x][n_y]`.
    pub fn channels<'t>(&self, e: Var<'t>, target: Var<'t>) -> Var<'t> {
        let on_lattice =
            |fields: Vec<Var<'t>>| fields.into_iter().map(|field| self.on_lattice(field)).collect::<Vec<_>>();
        let errors = on_lattice(fields_with(&self.config, e, |field| field.observed));
        let mut channels = errors.clone();
        if let Some([x, y]) = &self.gradient {
            channels.extend(errors.iter().map(|e| e.linear(x)));
            channels.extend(errors.iter().map(|e| e.linear_cols(y)));
        }
        if targets(&self.config) > 0 {
            channels.extend(on_lattice(fields_with(&self.config, target, |field| {
                field.observed && field.tracked
            })));
        }
        channels.into_iter().reduce(Var::stack).expect("agents of a checked task observe a field")
    }

    fn on_lattice<'t>(&self, field: Var<'t>) -> Var<'t> {
        let [x, y] = &self.restriction;
        let field = x.as_ref().map_or(field, |matrix| field.linear(matrix));
        y.as_ref().map_or(field, |matrix| field.linear_cols(matrix))
    }

    /// Patches of some maps `[c n_x][n_y]` around agents at `xi` (`[2][agents]`): `[p p c][agents]`, by row,
    /// column, channel.
    pub fn cut<'t>(&self, maps: Var<'t>, xi: Var<'t>) -> Var<'t> {
        xi.patches(maps, self.lattice)
    }

    /// Where patches are cut out, if that depends on cells alone.
    pub fn cells(&self) -> Option<PatchLattice> {
        (self.lattice.sampling == Interpolation::Cell).then_some(self.lattice)
    }
}
