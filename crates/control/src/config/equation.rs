//! What a task's name says about its physics, and no setting can change.

use cinoc_pde::Boundary;

/// The equation a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equation {
    /// Heat on a line.
    Heat1d,
    /// Fisher-KPP reaction and diffusion on a line.
    Fkpp,
    /// Kuramoto-Sivashinsky on a ring.
    KuramotoSivashinsky1d,
    /// Heat in a rectangle.
    Heat2d,
    /// Kuramoto-Sivashinsky on a torus.
    KuramotoSivashinsky2d,
    /// Vorticity of a plane flow on a torus.
    Vorticity,
    /// A density carried by a flow in a closed box.
    Density,
}

impl Equation {
    /// The equation of a task.
    ///
    /// # Panics
    /// If the task is not one of [`super::tasks`].
    pub(super) fn of(task: &str) -> Equation {
        match task {
            "heat1d" => Equation::Heat1d,
            "fkpp1d" => Equation::Fkpp,
            "ks1d" => Equation::KuramotoSivashinsky1d,
            "heat2d" | "heat2d-obstacles" => Equation::Heat2d,
            "ks2d" => Equation::KuramotoSivashinsky2d,
            "turb2d" => Equation::Vorticity,
            "density2d" => Equation::Density,
            task => panic!("no equation for task {task:?}"),
        }
    }

    /// Axes of its domain.
    pub fn dims(self) -> usize {
        match self {
            Equation::Heat1d | Equation::Fkpp | Equation::KuramotoSivashinsky1d => 1,
            _ => 2,
        }
    }

    /// How its domain ends.
    pub fn boundary(self) -> Boundary {
        match self {
            Equation::Heat1d | Equation::Fkpp | Equation::Heat2d => Boundary::Dirichlet,
            Equation::Density => Boundary::ZeroFlux,
            _ => Boundary::Periodic,
        }
    }

    /// Whether there is a target to track; the others are driven to rest.
    pub fn tracks(self) -> bool {
        matches!(self, Equation::Heat1d | Equation::Fkpp | Equation::Heat2d | Equation::Density)
    }
}
