//! Animation of one 2D case.

use std::path::{Path, PathBuf};

use cinoc_figure::{Animation, AnimationFormat, Figure};
use cinoc_learn::files::write_atomically;

use super::picture::Pictures;
use crate::figures::SaveError;
use crate::run_2d::Run2d;

/// Largest number of frames; longer runs leave out states.
const FRAMES: usize = 100;
/// Width of a frame in points.
const WIDTH: f64 = 460.0;
/// Pixels per point.
const SCALE: f64 = 1.5;
/// Duration of a frame and of the last frame, in hundredths of a second.
const FRAME_TIME: [u16; 2] = [5, 150];

/// The field without control on the left and with control on the right, in the same colours, with contour
/// lines of the target, agents and their trails, obstacles, and a bar that shows the time.
///
/// # Panics
///
/// If lists of the run do not have the documented lengths.
pub fn animation(run: &Run2d) -> Animation<impl Fn(usize) -> Figure> {
    run.assert_consistent();
    let steps = shown(run.steps());
    let pictures = Pictures::new(run, &steps, WIDTH / 2.0);
    let end = run.times[run.steps()];
    let decimals = decimals(&run.times);
    // all frames have the size of the first: no element changes its size later
    let (count, [each, last]) = (steps.len(), FRAME_TIME);
    let frame = move |frame: usize| {
        let step = steps[frame];
        let time = run.times[step];
        let figure = Figure::new(1, 2)
            .size(WIDTH, 260.0)
            .panel(0, 0, pictures.uncontrolled(step).labels("x", "y").title("uncontrolled"))
            .panel(0, 1, pictures.controlled(step).labels("x", "").ticks(true, false).title("controlled"))
            .colour_bar(0..1, pictures.colour_bar())
            .progress(time / end, format!("t = {time:.decimals$}"));
        pictures.with_legend(figure).fit_height()
    };
    Animation::new(count, frame).scale(SCALE).frame_time(each, last)
}

/// Writes `animation.gif` or `animation.png` into a folder and returns its path.
pub fn save_animation(run: &Run2d, folder: &Path, format: AnimationFormat) -> Result<PathBuf, SaveError> {
    let bytes = animation(run).to_bytes(format)?;
    let path = folder.join("animation").with_extension(format.extension());
    write_atomically(&path, |file| file.write_all(&bytes))?;
    Ok(path)
}

/// Evenly spread steps, including the first and the last.
fn shown(steps: usize) -> Vec<usize> {
    let frames = (steps + 1).min(FRAMES);
    let gaps = frames.saturating_sub(1).max(1);
    (0..frames).map(|frame| (frame * steps + gaps / 2) / gaps).collect()
}

/// Enough decimals to distinguish neighbouring times, up to a limit.
fn decimals(times: &[f64]) -> usize {
    let step = times.get(1).map_or(1.0, |second| second - times[0]);
    let whole = (0..4).find(|&decimals| {
        let scaled = step * 10f64.powi(decimals);
        (scaled - scaled.round()).abs() < 1e-9 && scaled.round() > 0.0
    });
    whole.unwrap_or(4) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_spread_from_start_to_end() {
        assert_eq!(shown(3), [0, 1, 2, 3]);
        assert_eq!(shown(0), [0]);
        let long = shown(1000);
        assert_eq!((long.len(), long[0], long[FRAMES - 1]), (FRAMES, 0, 1000));
        assert!(long.windows(2).all(|pair| (10..=11).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn times_are_told_apart() {
        assert_eq!([1.0, 0.1, 0.01, 0.0005, 1.0 / 3.0].map(|dt| decimals(&[0.0, dt])), [0, 1, 2, 4, 4]);
        assert_eq!(decimals(&[0.0]), 0);
    }
}
