//! One state of a 2D run: the field with agents, obstacles and contour lines of the target.

use cinoc_figure::{ColourBar, ColourMap, Figure, Map, Symbol};

use super::resample::resample;
use crate::numbers::number;
use crate::over_cases::quantile;
use crate::run_2d::{FieldKind, Run2d};

/// Contour levels of the target, as fractions of its largest magnitude.
const LEVELS: [f64; 2] = [0.3, 0.7];
/// Length of an agent's trail, as a fraction of the run.
const TAIL: f64 = 0.15;
/// Fraction of the error magnitudes inside the colour limits.
const ERRORS_SHOWN: f64 = 0.99;

/// Draws states of a run, all with the same colours.
pub(super) struct Pictures<'a> {
    run: &'a Run2d,
    limits: [f64; 2],
    /// Largest magnitude of the target at the steps, if there is one.
    largest_target: Option<f64>,
    /// Largest `|u|` of the run.
    loudest: f64,
    /// Radius of an agent, in points.
    radius: f64,
}

impl<'a> Pictures<'a> {
    /// Colours span the states at these steps; panels are about `width` points wide.
    pub fn new(run: &'a Run2d, steps: &[usize], width: f64) -> Self {
        let shown = steps.iter().flat_map(|&step| [&run.uncontrolled[step], &run.controlled[step]]);
        let targets = || steps.iter().filter_map(|&step| run.target(step));
        let values = shown.flatten().chain(targets().flatten()).copied().filter(|value| value.is_finite());
        let (low, high) =
            values.fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        let limits = match run.kind {
            FieldKind::Signed => [-high.max(-low), high.max(-low)],
            FieldKind::Density => [0.0, high],
        };
        let loudest = run.u.iter().flatten().flatten().fold(0.0, |most: f64, u| most.max(u.abs()));
        // a sixth of the distance between evenly spread agents, but neither invisible nor too large
        let radius = (0.16 * width / (run.agents().max(1) as f64).sqrt()).clamp(1.1, 0.014 * width + 0.5);
        let largest = |target| {
            let drawn = resample(target, run.n, run.periodic).values;
            drawn.iter().filter(|value| value.is_finite()).fold(0.0, |most: f64, value| most.max(value.abs()))
        };
        let largest_target = targets().map(largest).reduce(f64::max);
        Pictures { run, limits, largest_target, loudest, radius }
    }

    /// The colour bar.
    pub fn colour_bar(&self) -> ColourBar {
        ColourBar::new(&self.run.field, self.colours(), self.limits[0], self.limits[1])
    }

    /// The field without agents.
    pub fn uncontrolled(&self, step: usize) -> Map {
        self.with_obstacles(self.with_target(self.field(&self.run.uncontrolled[step]), step))
    }

    /// The field with agents.
    pub fn controlled(&self, step: usize) -> Map {
        let map = self.with_target(self.field(&self.run.controlled[step]), step);
        self.with_agents(self.with_obstacles(map), step)
    }

    /// The target at a step, if there is one.
    pub fn target(&self, step: usize) -> Option<Map> {
        Some(self.with_target(self.field(self.run.target(step)?), step))
    }

    /// What remains of the error at a step, in colours of its own, if there is a target.
    pub fn error(&self, step: usize) -> Option<Map> {
        let target = self.run.target(step)?;
        let error: Vec<f64> = self.run.controlled[step].iter().zip(target).map(|(z, t)| z - t).collect();
        let finite = error.iter().map(|e| e.abs()).filter(|e| e.is_finite());
        let limit = quantile(finite, ERRORS_SHOWN);
        Some(self.field(&error).colour_map(ColourMap::Diverging).limits(-limit, limit))
    }

    /// Explains what is drawn over the fields.
    pub fn with_legend(&self, figure: Figure) -> Figure {
        let (run, colours) = (self.run, self.colours());
        let mut entries: Vec<(Symbol, String)> = Vec::new();
        let mut entry = |symbol: Symbol, label: &str| entries.push((symbol, label.to_string()));
        if run.agents() > 0 && run.u.is_some() {
            let loudest = number(self.loudest);
            entry(Symbol::Dot(Some(-1.0)), &format!("agent with u = −{loudest}"));
            entry(Symbol::Dot(Some(0.0)), "u = 0");
            entry(Symbol::Dot(Some(1.0)), &format!("u = {loudest}"));
        } else if run.agents() > 0 {
            entry(Symbol::Dot(None), "agent");
        }
        if run.mobile() {
            entry(Symbol::Tail, &format!("its path, last {} % of the run", 100.0 * TAIL));
        }
        if let Some(largest) = self.largest_target {
            let [low, high] = LEVELS.map(|level| number(level * largest));
            let field = &run.field;
            entry(Symbol::Contour(1.0), &format!("target {field}* = {low} and {high}"));
            if run.kind == FieldKind::Signed {
                entry(Symbol::Contour(-1.0), &format!("{field}* = −{low} and −{high}"));
            }
        }
        match run.obstacles.first().map(|disc| disc.margin > 0.0) {
            Some(true) => entry(Symbol::DiscWithMargin, "obstacle and its margin"),
            Some(false) => entry(Symbol::Disc, "obstacle"),
            None => {}
        }
        entries.into_iter().fold(figure, |figure, (symbol, label)| figure.symbol(symbol, colours, label))
    }

    fn colours(&self) -> ColourMap {
        match self.run.kind {
            FieldKind::Signed => ColourMap::Diverging,
            FieldKind::Density => ColourMap::Sequential,
        }
    }

    fn field(&self, values: &[f64]) -> Map {
        let field = resample(values, self.run.n, self.run.periodic);
        let [width, height] = self.run.lengths;
        Map::new(&field.values, field.rows, field.columns)
            .extent([0.0, width], [0.0, height])
            .equal_aspect()
            .smooth()
            .colour_map(self.colours())
            .limits(self.limits[0], self.limits[1])
    }

    fn with_obstacles(&self, map: Map) -> Map {
        self.run.obstacles.iter().fold(map, |map, o| map.disc(o.centre, o.radius, o.margin))
    }

    fn with_target(&self, map: Map, step: usize) -> Map {
        let (Some(target), Some(largest)) = (self.run.target(step), self.largest_target) else { return map };
        let target = resample(target, self.run.n, self.run.periodic);
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
