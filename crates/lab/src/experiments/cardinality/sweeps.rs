//! The required range of agents of every task, and the paper's sweeps.

/// A task and its required range of agents.
pub(super) struct Sweep {
    pub task: &'static str,
    /// Range in which the shipped policy must be stable, in multiples of the trained number of agents.
    pub required: [f64; 2],
    /// The paper's own sweep, if it has one.
    pub published: Option<PublishedSweep>,
}

/// A sweep of the paper.
pub(super) struct PublishedSweep {
    /// Agents in training.
    pub trained: usize,
    /// The stable range.
    pub stable: [usize; 2],
    /// Loss at some numbers of agents, in per cent of that with the trained number.
    pub curve: &'static [(usize, f64)],
}

pub(super) const SWEEPS: [Sweep; 8] = [
    Sweep {
        task: "fkpp1d",
        required: [0.6, 50.0],
        published: Some(PublishedSweep {
            trained: 30,
            stable: [20, 150],
            curve: &[
                (15, 377.0),
                (20, 115.0),
                (30, 100.0),
                (40, 69.0),
                (60, 55.0),
                (100, 43.0),
                (120, 43.0),
                (150, 129.0),
                (180, 290.0),
                (200, 439.0),
                (300, 1261.0),
            ],
        }),
    },
    Sweep {
        task: "heat1d",
        required: [0.5, 50.0],
        published: Some(PublishedSweep {
            trained: 30,
            stable: [15, 120],
            curve: &[(15, 146.0), (30, 100.0), (120, 208.0)],
        }),
    },
    Sweep {
        task: "heat2d",
        required: [0.56, 32.0],
        published: Some(PublishedSweep {
            trained: 16,
            stable: [16, 256],
            curve: &[
                (9, 566.0),
                (16, 100.0),
                (25, 38.0),
                (64, 19.0),
                (144, 16.0),
                (256, 54.0),
                (324, 2138.0),
            ],
        }),
    },
    Sweep { task: "heat2d-obstacles", required: [0.56, 16.0], published: None },
    Sweep {
        task: "ks1d",
        required: [0.75, 20.0],
        published: Some(PublishedSweep {
            trained: 30,
            stable: [15, 90],
            curve: &[(15, 100.0), (30, 100.0), (90, 114.0)],
        }),
    },
    Sweep {
        task: "ks2d",
        required: [0.6, 4.0],
        published: Some(PublishedSweep {
            trained: 196,
            stable: [144, 256],
            curve: &[(144, 45.0), (196, 100.0), (256, 230.0), (324, 270.0), (400, 434.0), (1024, 3472.0)],
        }),
    },
    Sweep {
        task: "turb2d",
        required: [0.56, 32.0],
        published: Some(PublishedSweep {
            trained: 64,
            stable: [36, 1024],
            curve: &[(36, 200.0), (64, 100.0), (100, 43.0), (144, 22.0), (256, 36.0), (1024, 76.0)],
        }),
    },
    Sweep {
        task: "density2d",
        required: [0.25, 64.0],
        published: Some(PublishedSweep {
            trained: 16,
            stable: [4, 1024],
            curve: &[(4, 142.0), (16, 100.0), (25, 68.0), (256, 82.0), (1024, 84.0)],
        }),
    },
];

impl PublishedSweep {
    /// The published percentage at a multiple of the trained number, if the paper has that multiple to within
    /// 3 %.
    pub fn percent(&self, multiple: f64) -> Option<f64> {
        let distance = |agents: usize| (agents as f64 / self.trained as f64 / multiple - 1.0).abs();
        let nearest = self.curve.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))?;
        Some(nearest.1).filter(|_| distance(nearest.0) < 0.03)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_stand_beside_the_same_multiple_only() {
        let fkpp = SWEEPS[0].published.as_ref().unwrap();
        assert_eq!(fkpp.percent(1.0), Some(100.0));
        // 40 agents (trained with 20) correspond to 60 (trained with 30)
        assert_eq!(fkpp.percent(2.0), Some(55.0));
        assert_eq!(fkpp.percent(2.5), None);
    }

    #[test]
    fn published_ranges_are_stable_on_the_published_curves() {
        for sweep in SWEEPS.iter().filter_map(|sweep| sweep.published.as_ref()) {
            assert!(sweep.curve.contains(&(sweep.trained, 100.0)) && sweep.curve.is_sorted());
            let inside = sweep.curve.iter().filter(|(m, _)| (sweep.stable[0]..=sweep.stable[1]).contains(m));
            assert!(inside.into_iter().all(|(_, percent)| *percent <= 250.0));
        }
    }
}
