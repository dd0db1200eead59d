//! The Gray-Scott reaction in a square: two fields, of which agents feed one, to turn one pattern of spots
//! into another.
//!
//! ```text
//! a_t = D_a lap a - a b^2 + feed (1 - a)
//! b_t = D_b lap b + a b^2 - (feed + kill) b + f          nothing passes the walls
//! ```
//!
//! Agents see both fields; only `b` is forced, and only `b` has a target. Every command of `cinoc` works:
//!
//! ```sh
//! cargo run --release -- train gray-scott
//! cargo run --release -- eval runs/gray-scott-0 --agents 25
//! cargo run --release -- check-gradients gray-scott
//! ```

use cinoc::pde::blobs::blob;
use cinoc::pde::evolve;
use cinoc::pde::operators::{five_point, on_plane};
use cinoc::prelude::*;
use std::process::ExitCode;

/// The equation, by explicit Euler steps and the five-point Laplacian.
struct GrayScott {
    x: Axis,
    y: Axis,
    dt: f64,
    feed: f64,
    kill: f64,
    /// `dt D lap` of both fields.
    diffusion: [Sparse; 2],
}

impl GrayScott {
    fn new(config: &Config) -> GrayScott {
        let (domain, physics, dt) = (config.domain(), &config.physics, config.time.dt);
        let (x, y) = (domain.x, domain.y.expect("a task in 2D"));
        let share = |key: &str| dt * physics.number(key) / x.spacing().powi(2);
        GrayScott {
            diffusion: ["diffusion_a", "diffusion_b"].map(|key| five_point(x.n, y.n, share(key))),
            feed: dt * physics.number("feed"),
            kill: dt * physics.number("kill"),
            x,
            y,
            dt,
        }
    }
}

impl Dynamics for GrayScott {
    fn grid(&self) -> Grid {
        Grid::rectangle(self.x, self.y)
    }
    fn dt(&self) -> f64 {
        self.dt
    }
    fn order(&self) -> u32 {
        1
    }
    /// `a` above `b`, along the rows.
    fn fields(&self) -> usize {
        2
    }
    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let (a, b) = (z.slice(0..self.x.n), z.slice(self.x.n..2 * self.x.n));
        let reaction = self.dt * a * b.square();
        let next_a = a + on_plane(a, &self.diffusion[0]) - reaction + self.feed * (1.0 - a);
        let next_b = b + on_plane(b, &self.diffusion[1]) + reaction - (self.feed + self.kill) * b + response;
        next_a.stack(next_b)
    }
}

/// What differs from the settings that 2D tasks have in common, and the keys of this one.
const PRESET: &str = "
agents = 16
[grid]
n = 32
[time]
dt = 1.0
steps = 60
substeps = 2
[physics]
diffusion_a = 1.6e-4
diffusion_b = 0.8e-4
feed = 0.04
kill = 0.06
[actuation]
sigma = 0.08
u_max = 0.05
v_max = 0.05
[observe]
crowd_ref = 1.4
[data]
pool = 100
spots = 4
spin_up = 300.0
[loss]
effort_u = 0.0
effort_v = 0.0
accel = 0.0
[train]
updates = 100
batch = 8
";

/// Spots of `b` at random places that have grown for a while: a pattern.
fn pattern(config: &Config, draw: &mut Draw<'_>) -> Vec<f64> {
    let (domain, data) = (config.domain(), &config.data.values);
    let (x, y) = (domain.x, domain.y.expect("a task in 2D"));
    let mut b = vec![0.0; config.points()];
    for _ in 0..data.number("spots") as usize {
        let centre = [draw.uniform([0.2, 0.8]), draw.uniform([0.2, 0.8])];
        let spot = blob(&x, &y, centre, 0.5, 0.05);
        b.iter_mut().zip(spot).for_each(|(b, spot)| *b = spot.max(*b));
    }
    let state: Vec<f64> = b.iter().map(|b| 1.0 - b).chain(b.iter().copied()).collect();
    let steps = (data.number("spin_up") / config.time.dt).round() as usize;
    evolve(config.dynamics().as_ref(), &state, None, steps, draw.threads)
}

fn gray_scott() -> Task {
    Task::new("gray-scott", Boundary::ZeroFlux, PRESET, GrayScott::new, |config, draw| {
        draw.each(|draw| {
            let (start, mut target) = (pattern(config, draw), pattern(config, draw));
            // a field without a target has 0 there
            target[..config.points()].fill(0.0);
            [start, target]
        })
    })
    .in_2d()
    .titled("Gray-Scott: mobile agents turn one pattern of spots into another")
    .with_fields([Field::new("a").untracked().positive(), Field::new("b").positive()])
    .with_keys([
        Key::new("physics.feed", "1/T", Range::NonNegative, "rate at which a is fed"),
        Key::new("physics.kill", "1/T", Range::NonNegative, "rate at which b decays, beside the feed"),
        Key::new("data.spots", "", Range::AtLeast(1), "spots a pattern grows from"),
    ])
}

fn main() -> ExitCode {
    cinoc::command_line([gray_scott()])
}
