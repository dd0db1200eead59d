//! One state of a 2D run: the field with agents, obstacles and contour lines of the target.

use cinoc_figure::{ColourBar, ColourMap, Map};

use super::resample::{Resampled, resample};
use crate::run_2d::{FieldKind, Run2d};

/// Contour levels of the target, as fractions of its largest magnitude.
const LEVELS: [f64; 2] = [0.3, 0.7];
/// Length of an agent's trail, as a fraction of the run.
const TAIL: f64 = 0.15;

/// Draws states of a run, all with the same colours.
pub(super) struct Pictures<'a> {
    run: &'a Run2d,
    limits: [f64; 2],
    target: Option<Resampled>,
    /// Largest `|u|` of the run.
    loudest: f64,
    /// Radius of an agent, in points.
    radius: f64,
}

impl<'a> Pictures<'a> {
    /// Colours span the states at these steps; panels are about `width` points wide.
    pub fn new(run: &'a Run2d, steps: &[usize], width: f64) -> Self {
        let shown = steps.iter().flat_map(|&step| [&run.uncontrolled[step], &run.controlled[step]]);
        let values = shown.chain(&run.target).flatten().copied().filter(|value| value.is_finite());
        let (low, high) =
            values.fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        let limits = match run.kind {
            FieldKind::Signed => [-high.max(-low), high.max(-low)],
            FieldKind::Density => [0.0, high],
        };
        let loudest = run.u.iter().flatten().flatten().fold(0.0, |most: f64, u| most.max(u.abs()));
        // a sixth of the distance between evenly spread agents, but neither invisible nor too large
        let radius = (0.16 * width / (run.agents().max(1) as f64).sqrt()).clamp(1.1, 0.014 * width + 0.5);
        let target = run.target.as_ref().map(|target| resample(target, run.n, run.periodic));
        Pictures { run, limits, target, loudest, radius }
    }

    /// The colour bar.
    pub fn colour_bar(&self) -> ColourBar {
        ColourBar::new(&self.run.field, self.colours(), self.limits[0], self.limits[1])
    }

    /// The field without agents.
    pub fn uncontrolled(&self, step: usize) -> Map {
        self.with_target(self.field(&self.run.uncontrolled[step]))
    }

    /// The field with agents.
    pub fn controlled(&self, step: usize) -> Map {
        let map = self.with_target(self.field(&self.run.controlled[step]));
        let map = self.run.obstacles.iter().fold(map, |map, o| map.disc(o.centre, o.radius, o.margin));
        self.with_agents(map, step)
    }

    /// The target, if there is one.
    pub fn target(&self) -> Option<Map> {
        let target = self.target.as_ref()?;
        Some(self.with_target(self.map(target)))
    }

    fn colours(&self) -> ColourMap {
        match self.run.kind {
            FieldKind::Signed => ColourMap::Diverging,
            FieldKind::Density => ColourMap::Sequential,
        }
    }

    fn field(&self, values: &[f64]) -> Map {
        self.map(&resample(values, self.run.n, self.run.periodic))
    }

    fn map(&self, field: &Resampled) -> Map {
        let [width, height] = self.run.lengths;
        Map::new(&field.values, field.rows, field.columns)
            .extent([0.0, width], [0.0, height])
            .equal_aspect()
            .no_ticks()
            .smooth()
            .colour_map(self.colours())
            .limits(self.limits[0], self.limits[1])
    }

    fn with_target(&self, map: Map) -> Map {
        let Some(target) = &self.target else { return map };
        let finite = target.values.iter().filter(|value| value.is_finite());
        let largest = finite.fold(0.0, |most: f64, value| most.max(value.abs()));
        let mut levels: Vec<f64> = LEVELS.map(|level| level * largest).to_vec();
        if self.run.kind == FieldKind::Signed {
            levels.extend(LEVELS.map(|level| -level * largest));
        }
        map.contours(&target.values, target.rows, target.columns, &levels)
    }

    fn with_agents(&self, map: Map, step: usize) -> Map {
        let run = self.run;
        let map = if run.mobile() { self.with_tails(map, step) } else { map };
        // an action leads to the next state: the last state shows the previous action
        let shades = run.u.as_ref().filter(|u| !u.is_empty()).map(|u| -> Vec<f64> {
            let now = &u[step.min(u.len() - 1)];
            now.iter().map(|u| if self.loudest > 0.0 { u / self.loudest } else { 0.0 }).collect()
        });
        map.dots(&run.positions[step], self.radius, shades.as_deref())
    }

    fn with_tails(&self, map: Map, step: usize) -> Map {
        let length = (TAIL * self.run.steps() as f64).ceil() as usize;
        let past = &self.run.positions[step.saturating_sub(length)..=step];
        (0..self.run.agents()).fold(map, |map, agent| {
            let tail: Vec<[f64; 2]> = past.iter().map(|now| now[agent]).collect();
            map.tail(&tail)
        })
    }
}
