//! A task of two fields for tests: the first is seen, the second is driven to a target.

use cinoc_adjoint::Var;
use cinoc_control::{Field, Task};
use cinoc_pde::{Axis, Boundary, Dynamics, Grid};

/// Two fields that stay as they are but for the forcing of the second.
struct Pair {
    x: Axis,
    dt: f64,
}

impl Dynamics for Pair {
    fn grid(&self) -> Grid {
        Grid::line(self.x)
    }
    fn dt(&self) -> f64 {
        self.dt
    }
    fn order(&self) -> u32 {
        1
    }
    fn fields(&self) -> usize {
        2
    }
    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let n = self.x.n;
        z.slice(0..n).stack(z.slice(n..2 * n) + response)
    }
}

/// The task. It draws no cases.
pub fn pair() -> Task {
    let task = Task::new(
        "pair",
        Boundary::Dirichlet,
        "",
        |config| Pair { x: config.domain().x, dt: config.time.dt },
        |_, _| unreachable!("no case is drawn"),
    );
    task.with_fields([Field::new("p").untracked(), Field::new("q")])
}
