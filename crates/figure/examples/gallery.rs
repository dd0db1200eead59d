//! Renders figures into the folder given as argument: every kind of panel (`gallery.svg`, `gallery.png`),
//! rows of pictures of a 2D field (`plane_signed`, `plane_density`), and the second of them as an animation
//! (`plane.gif`, `plane_animated.png`).

use std::f64::consts::{PI, TAU};
use std::path::{Path, PathBuf};

use cinoc_figure::{
    Animation, AnimationFormat, Colour, ColourBar, ColourMap, Figure, FigureError, Lines, Map, Marker, Series,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: gallery FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    save(&every_panel(), &folder, "gallery")?;
    save(&plane_signed(), &folder, "plane_signed")?;
    save(&plane_density(), &folder, "plane_density")?;
    let animation = Animation::new(50, moving_blob).scale(1.5).frame_time(6, 150);
    std::fs::write(folder.join("plane.gif"), animation.to_bytes(AnimationFormat::Gif)?)?;
    std::fs::write(folder.join("plane_animated.png"), animation.to_bytes(AnimationFormat::Apng)?)?;
    Ok(())
}

fn save(figure: &Figure, folder: &Path, name: &str) -> Result<(), FigureError> {
    figure.save_svg(folder.join(name).with_extension("svg"))?;
    figure.save_png(folder.join(name).with_extension("png"), 2.0)
}

fn every_panel() -> Figure {
    Figure::new(3, 3)
        .size(900.0, 700.0)
        .title("Every kind of panel")
        .panel(0, 0, travelling_front())
        .panel(0, 1, vorticity())
        .panel(0, 2, missing_and_clipped())
        .panel(1, 0, training())
        .panel(1, 1, tracking_error())
        .panel(1, 2, busy_curves())
        .panel(2, 0, small_numbers())
        .panel(2, 1, gaps())
        .panel(2, 2, Lines::new().title("no data yet").labels("epoch", "reward").log_y())
}

fn grid(count: usize, low: f64, high: f64) -> Vec<f64> {
    (0..count).map(|i| low + (high - low) * i as f64 / (count - 1) as f64).collect()
}

fn on(xs: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    xs.iter().map(|&x| f(x)).collect()
}

fn field(rows: &[f64], columns: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    rows.iter().flat_map(|&y| columns.iter().map(|&x| f(x, y)).collect::<Vec<_>>()).collect()
}

/// A sequential map over time and space with the paths of moving agents.
fn travelling_front() -> Map {
    let (times, places) = (grid(240, 0.0, 0.3), grid(160, 0.0, 1.0));
    let front = |t: f64, x: f64| 1.0 / (1.0 + (40.0 * (x - 0.2 - 2.0 * t)).exp());
    let map = Map::new(&field(&places, &times, front), places.len(), times.len())
        .extent([0.0, 0.3], [0.0, 1.0])
        .labels("time", "x")
        .title("sequential map with paths")
        .limits(0.0, 1.0)
        .colour_bar("z");
    (0..4).fold(map, |map, agent| {
        let start = 0.2 + 0.2 * f64::from(agent);
        map.path(&times, &on(&times, |t| start + 0.08 * (20.0 * t + f64::from(agent)).sin() * (t / 0.3)))
    })
}

/// A diverging map of a 2D field, with markers.
fn vorticity() -> Map {
    let places = grid(96, 0.0, TAU);
    let omega = |x: f64, y: f64| 3.0 * (x.sin() * y.cos() + 0.5 * (2.0 * x + y).sin());
    let angles = grid(6, 0.0, 5.0 / 6.0 * TAU);
    let (xs, ys) = (on(&angles, |a| PI + 2.0 * a.cos()), on(&angles, |a| PI + 2.0 * a.sin()));
    Map::new(&field(&places, &places, omega), places.len(), places.len())
        .extent([0.0, TAU], [0.0, TAU])
        .equal_aspect()
        .labels("x₁", "x₂")
        .title("diverging map with markers")
        .colour_map(ColourMap::Diverging)
        .points(&xs[..2], &ys[..2], Marker::Circle)
        .points(&xs[2..4], &ys[2..4], Marker::Cross)
        .points(&xs[4..5], &ys[4..5], Marker::Triangle)
        .points(&xs[5..], &ys[5..], Marker::Square)
        .colour_bar("vorticity ω")
}

/// NaN values, and values beyond the limits.
fn missing_and_clipped() -> Map {
    let (columns, rows) = (grid(24, -1.0, 1.0), grid(12, -1.0, 1.0));
    let hill = |x: f64, y: f64| if x * x + y * y < 0.1 { f64::NAN } else { 2e6 * (x + 0.4 * y) };
    Map::new(&field(&rows, &columns, hill), rows.len(), columns.len())
        .labels("column", "row")
        .title("missing and clipped values")
        .limits(0.0, 1.5e6)
        .colour_bar("energy")
}

/// Mean and spread over seeds.
fn training() -> Lines {
    let epochs = grid(300, 0.0, 300.0);
    let reward = |rate: f64| on(&epochs, |e| -1.0 + (1.0 - (-rate * e).exp()) + 0.02 * (0.9 * e).sin());
    let (fast, slow) = (reward(0.03), reward(0.008));
    let spread = on(&epochs, |e| 0.04 + 0.16 * (-0.01 * e).exp());
    let (worst, best) = (on(&slow, |r| r - 0.08), on(&slow, |r| r + 0.12));
    Lines::new()
        .title("mean ± std and min–max")
        .labels("epoch", "reward")
        .series(Series::new("shared policy", &epochs, &fast).deviation(&spread))
        .series(Series::new("independent", &epochs, &slow).band(&worst, &best).dashed())
}

/// A logarithmic axis with a reference line.
fn tracking_error() -> Lines {
    let times = grid(200, 0.0, 0.3);
    Lines::new()
        .title("logarithmic axis")
        .labels("time", "mean (z − z*)²")
        .log_y()
        .series(
            Series::new("uncontrolled", &times, &on(&times, |t| 0.3 + 0.2 * (9.0 * t).sin()))
                .colour(Colour::GREY),
        )
        .series(Series::new("controlled", &times, &on(&times, |t| 0.3 * (-38.0 * t).exp() + 2e-5)))
        .series(
            Series::new("target < 10⁻³ & less", &times, &on(&times, |t| 0.2 * (-18.0 * t).exp())).dashed(),
        )
        .reference(1e-3, "tolerance")
}

/// Curves that leave no room inside for a legend.
fn busy_curves() -> Lines {
    let xs = grid(600, 0.0, 10.0);
    (0..6).fold(Lines::new().title("legend below when inside is full").labels("t", "u(t)"), |lines, mode| {
        let shift = f64::from(mode);
        lines.series(Series::new(
            format!("mode {mode}"),
            &xs,
            &on(&xs, |x| (x * (2.0 + 0.3 * shift) + shift).sin()),
        ))
    })
}

/// Numbers that share a power of ten on both axes.
fn small_numbers() -> Lines {
    let xs = grid(50, 0.0, 4e6);
    Lines::new()
        .title("common powers of ten")
        .labels("steps", "step size")
        .series(Series::new("schedule", &xs, &on(&xs, |x| 5e-5 * (1.0 + (x / 4e6 * PI).cos()))))
        .reference(2e-5, "final")
}

/// NaN values leave gaps; a lone point stays visible.
fn gaps() -> Lines {
    let xs = grid(80, -2.0, 2.0);
    let broken = |x: f64| if (0.3..0.8).contains(&(x * 1.5).fract().abs()) { f64::NAN } else { x.powi(3) };
    let mut ys = on(&xs, broken);
    ys[40] = f64::INFINITY;
    Lines::new()
        .title("gaps where values are missing")
        .labels("x", "x³")
        .series(Series::new("broken sensor", &xs, &ys))
        .series(Series::new("lone points", &[-1.0, f64::NAN, 1.0], &[4.0, 0.0, -4.0]))
}

/// A map of `f` on [0, 1] x [0, height], with square cells.
fn plane(cells: usize, height: f64, f: impl Fn(f64, f64) -> f64) -> Map {
    let (xs, ys) = plane_axes(cells, height);
    Map::new(&field(&ys, &xs, f), ys.len(), xs.len())
        .extent([0.0, 1.0], [0.0, height])
        .equal_aspect()
        .ticks(false, false)
        .smooth()
}

fn plane_axes(cells: usize, height: f64) -> (Vec<f64>, Vec<f64>) {
    let half = 0.5 / cells as f64;
    (grid(cells, half, 1.0 - half), grid((cells as f64 * height) as usize, half, height - half))
}

/// Two rows that share colours and a colour bar: contour lines of a target, obstacles, agents shaded by their
/// action.
fn plane_signed() -> Figure {
    let target = |x: f64, y: f64| (PI * x).sin() * (TAU * y).sin() * 1.2;
    let start = |x: f64, y: f64| (TAU * x).sin() * (PI * y).sin() + 0.3 * (3.0 * PI * x * y).sin();
    let (xs, ys) = plane_axes(96, 1.0);
    let levels = [-0.8, -0.4, 0.4, 0.8];
    let lines = field(&ys, &xs, target);
    let signed = |share: f64, row: &str| {
        plane(96, 1.0, |x, y| (1.0 - share) * start(x, y) + share * target(x, y))
            .colour_map(ColourMap::Diverging)
            .limits(-1.2, 1.2)
            .contours(&lines, ys.len(), xs.len(), &levels)
            .labels("", row)
    };
    let spots: Vec<[f64; 2]> =
        (0..16).map(|i| [0.2 + 0.2 * f64::from(i / 4), 0.2 + 0.2 * f64::from(i % 4)]).collect();
    let shades: Vec<f64> = spots.iter().map(|[x, y]| (7.0 * x + 5.0 * y).sin()).collect();
    let figure = Figure::new(2, 4).size(560.0, 300.0);
    let figure = (0..4).fold(figure, |figure, column| {
        let share = column as f64 / 3.0;
        let [above, below] = if column == 0 { ["uncontrolled", "controlled"] } else { ["", ""] };
        let free = signed(0.0, above).title(format!("t = 0.{column}"));
        let held = signed(share, below)
            .disc([0.15, 0.5], 0.08, 0.04)
            .disc([0.85, 0.5], 0.08, 0.04)
            .disc([0.5, 0.15], 0.08, 0.04)
            .dots(&spots, 2.2, Some(&shades));
        figure.panel(0, column, free).panel(1, column, held)
    });
    figure.colour_bar(0..2, ColourBar::new("z", ColourMap::Diverging, -1.2, 1.2)).fit_height()
}

/// The centre of a moving blob, and the position of an agent that pushes it.
fn blob(time: f64) -> ([f64; 2], [f64; 2]) {
    let centre = [0.3 + 0.35 * time, 0.3 + 0.55 * time];
    (centre, [centre[0] - 0.12 * (3.0 * time).cos(), centre[1] - 0.12])
}

/// A density at a time from 0 to 1, with the agent's trail and the contour lines of the target.
fn density(time: f64) -> Map {
    let bump = |[cx, cy]: [f64; 2]| {
        move |x: f64, y: f64| 0.9 * (-((x - cx).powi(2) + (y - cy).powi(2)) / 0.02).exp()
    };
    let (xs, ys) = plane_axes(96, 1.25);
    let lines = field(&ys, &xs, bump([0.65, 0.85]));
    let tail: Vec<[f64; 2]> = grid(12, (time - 0.2).max(0.0), time).into_iter().map(|t| blob(t).1).collect();
    plane(96, 1.25, bump(blob(time).0))
        .limits(0.0, 0.9)
        .contours(&lines, ys.len(), xs.len(), &[0.2, 0.45, 0.7])
        .tail(&tail)
        .dots(&tail[tail.len() - 1..], 2.4, None)
}

/// A rectangle higher than wide, one row.
fn plane_density() -> Figure {
    let panel = |column: usize| density(column as f64 / 4.0).title(format!("t = {}", 30 * column));
    let figure = Figure::new(1, 5).size(560.0, 200.0);
    let figure = (0..5).fold(figure, |figure, column| figure.panel(0, column, panel(column)));
    figure.colour_bar(0..1, ColourBar::new("density ρ", ColourMap::Sequential, 0.0, 0.9)).fit_height()
}

/// A frame of the animation.
fn moving_blob(frame: usize) -> Figure {
    let time = frame as f64 / 49.0;
    Figure::new(1, 1)
        .size(220.0, 300.0)
        .panel(0, 0, density(time).title("controlled"))
        .colour_bar(0..1, ColourBar::new("density ρ", ColourMap::Sequential, 0.0, 0.9))
        .progress(time, format!("t = {:.0}", 120.0 * time))
        .fit_height()
}
