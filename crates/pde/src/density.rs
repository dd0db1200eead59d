//! A density transported by a flow and spread by diffusion on a closed rectangle:
//! `rho_t + q . grad rho = D lap rho` (advective) or `rho_t + div(q rho) = D lap rho` (conservative).
//!
//! The density is driven by the velocity `q = (q_x, q_y)`, two stacked fields. One step does the following:
//!
//! 1. A constant drift is added to `q`. The sum gives a displacement in cells, `dt q_x / h_x` and
//!    `dt q_y / h_y`. Displacements longer than `limit` cells are shortened to `limit`.
//! 2. The density is transported. *Advective*: its value is read at the departure point of the flow
//!    (bilinear, clamped to the grid). *Conservative*: a fraction of every cell moves to its neighbour, first
//!    along x, then along y. The displacement of a face is the mean of its two cells, the fraction is taken
//!    from the upstream cell (donor cell), and nothing passes the walls.
//! 3. The density diffuses to its four neighbours by `diffusion` per step, in cell units. A missing neighbour
//!    of a border point has the value of the point itself.
//!
//! The conservative form conserves mass to rounding. A cell loses at most the fraction `limit` per axis, so a
//! density never becomes negative. The advective form keeps values within their range but does not conserve
//! mass.
//!
//! Differentiable with respect to the density and the velocity.

use crate::dynamics::Dynamics;
use crate::grid::{Axis, Boundary, Grid};
use crate::operators::{Faces, five_point, on_plane};
use cinoc_adjoint::{Sparse, Var};

/// How a flow transports a density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Transports values: `rho_t + q . grad rho`.
    Advective,
    /// Transports mass: `rho_t + div(q rho)`.
    Conservative,
}

/// Effects on a density other than the driving velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// Velocity added everywhere.
    pub drift: [f64; 2],
    /// Longest displacement in one step, in cells; at most 1.
    pub limit: f64,
    /// Fraction that moves to each neighbour in one step.
    pub diffusion: f64,
}

/// A density, ready to step.
pub struct Density {
    x: Axis,
    y: Axis,
    dt: f64,
    medium: Medium,
    /// Empty for advective transport.
    remaps: Vec<Remap>,
    spread: Sparse,
}

impl Density {
    /// Time step `dt`.
    ///
    /// # Panics
    /// If an axis does not have zero flux at its ends, or the limit is not between 0 and 1.
    pub fn new(x: Axis, y: Axis, dt: f64, transport: Transport, medium: Medium) -> Density {
        for axis in [x, y] {
            assert_eq!(axis.boundary, Boundary::ZeroFlux, "nothing leaves the rectangle");
        }
        assert!(medium.limit > 0.0 && medium.limit <= 1.0, "a limit of {} cells", medium.limit);
        let remaps = match transport {
            Transport::Advective => Vec::new(),
            Transport::Conservative => {
                [Faces::along_x(x.n, y.n), Faces::along_y(x.n, y.n)].map(Remap::new).into()
            }
        };
        Density { x, y, dt, medium, remaps, spread: five_point(x.n, y.n, medium.diffusion) }
    }

    /// A constant for each of the two stacked fields.
    fn stacked<'t>(&self, like: Var<'t>, values: [f64; 2]) -> Var<'t> {
        let size = self.x.n * self.y.n;
        let data = values.iter().flat_map(|&value| std::iter::repeat_n(value, size)).collect();
        like.tracer().constant(2 * self.x.n, self.y.n, data)
    }

    /// Cells per step of a unit velocity.
    fn cells(&self) -> [f64; 2] {
        [self.x, self.y].map(|axis| self.dt * axis.cells() as f64 / axis.length)
    }

    fn carried<'t>(&self, rho: Var<'t>, displacement: Var<'t>) -> Var<'t> {
        let nx = self.x.n;
        if self.remaps.is_empty() {
            return rho.advect(displacement);
        }
        let components = [displacement.slice(0..nx), displacement.slice(nx..2 * nx)];
        self.remaps.iter().zip(components).fold(rho, |rho, (remap, along)| remap.apply(rho, along))
    }
}

impl Dynamics for Density {
    fn grid(&self) -> Grid {
        Grid::rectangle(self.x, self.y)
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    /// Holds for a flow below the limit. The diffusion is a fraction per step and does not depend on `dt`.
    fn order(&self) -> u32 {
        1
    }

    fn forcing_fields(&self) -> usize {
        2
    }

    /// The displacement in cells, before drift and limit.
    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        f * self.stacked(f, self.cells())
    }

    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let ([cx, cy], [dx, dy]) = (self.cells(), self.medium.drift);
        let wanted = response + self.stacked(z, [cx * dx, cy * dy]);
        let points = self.x.n * self.y.n;
        let displacement =
            wanted.reshape(2, points).limit_length(self.medium.limit).reshape(2 * self.x.n, self.y.n);
        let carried = self.carried(z, displacement);
        // added to the density, not merged into one matrix: rounded weights may not sum to 1, and mass would
        // leak
        carried + on_plane(carried, &self.spread)
    }
}

/// Donor-cell transport along one axis.
struct Remap {
    mean: Sparse,
    before: Sparse,
    after: Sparse,
    gain: Sparse,
}

impl Remap {
    fn new(faces: Faces) -> Remap {
        Remap {
            mean: faces.across(0.5, 0.5),
            before: faces.before(),
            after: faces.after(),
            gain: faces.gain(),
        }
    }

    /// The density after mass has moved by `displacement` cells along the axis.
    fn apply<'t>(&self, rho: Var<'t>, displacement: Var<'t>) -> Var<'t> {
        let face = on_plane(displacement, &self.mean);
        let flux = face.relu() * on_plane(rho, &self.before) - (-face).relu() * on_plane(rho, &self.after);
        rho + flux.linear(&self.gain).reshape(rho.rows(), rho.cols())
    }
}
