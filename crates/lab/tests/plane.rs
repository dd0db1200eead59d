//! Figures and animations of synthetic runs on a rectangle: what they show, and that nothing in a run makes
//! them fail.

use std::f64::consts::{PI, TAU};
use std::io::Cursor;

use cinoc_figure::{AnimationFormat, ColourMap, Figure};
use cinoc_lab::figures::{animation, save_animation, snapshots_2d};
use cinoc_lab::run_2d::{Disc, FieldKind, Run2d};

const STEPS: usize = 20;

/// Heat on the unit square that follows its target, with obstacles and agents that circle.
fn heat() -> Run2d {
    let n = [16, 16];
    let at = |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        (0..n[0] * n[1]).map(|i| f((i / n[1]) as f64 / 15.0, (i % n[1]) as f64 / 15.0)).collect()
    };
    let times: Vec<f64> = (0..=STEPS).map(|step| step as f64 * 0.01).collect();
    let start = at(&|x, y| (TAU * x).sin() * (PI * y).sin());
    let target = at(&|x, y| (PI * x).sin() * (TAU * y).sin());
    let mix = |share: f64| start.iter().zip(&target).map(|(a, b)| (1.0 - share) * a + share * b).collect();
    let agent = |i: usize, step: usize| {
        let angle = TAU * i as f64 / 9.0 + 0.05 * step as f64;
        [0.5 + 0.3 * angle.cos(), 0.5 + 0.3 * angle.sin()]
    };
    Run2d {
        n,
        lengths: [1.0, 1.0],
        periodic: false,
        kind: FieldKind::Signed,
        field: "z".into(),
        uncontrolled: times.iter().map(|t| start.iter().map(|z| z * (-3.0 * t).exp()).collect()).collect(),
        controlled: (0..=STEPS).map(|step| mix(step as f64 / STEPS as f64)).collect(),
        targets: vec![target],
        positions: (0..=STEPS).map(|step| (0..9).map(|i| agent(i, step)).collect()).collect(),
        u: Some((0..STEPS).map(|step| (0..9).map(|i| ((i + step) as f64).sin()).collect()).collect()),
        obstacles: vec![Disc { centre: [0.15, 0.5], radius: 0.08, margin: 0.04 }],
        times,
    }
}

/// A density on 1 x 1.25 in cells that tell corners apart: 1 at the lower right, nothing elsewhere.
fn density() -> Run2d {
    let (n, states) = ([4, 5], 3);
    let mut corner = vec![0.0; 20];
    corner[3 * 5] = 1.0; // x last, y first
    Run2d {
        n,
        lengths: [1.0, 1.25],
        periodic: false,
        kind: FieldKind::Density,
        field: "ρ".into(),
        times: vec![0.0, 1.0, 2.0],
        uncontrolled: vec![corner.clone(); states],
        controlled: vec![corner; states],
        targets: vec![],
        positions: vec![vec![]; states],
        u: None,
        obstacles: vec![],
    }
}

/// Width, height and pixels.
fn decoded(figure: &Figure, scale: f64) -> (usize, usize, Vec<[u8; 3]>) {
    let bytes = figure.to_png(scale).unwrap();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    (info.width as usize, info.height as usize, rgb.as_chunks::<3>().0.to_vec())
}

fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

#[test]
fn snapshots_have_a_panel_per_moment_and_the_target() {
    let svg = snapshots_2d(&heat(), 760.0).to_svg();
    assert_eq!(count(&svg, "<image"), 2 * 6 + 2, "two full rows, and colour bars of fields and of the error");
    for text in ["uncontrolled", "controlled", "(a) t = 0", "(b) t = 0.03", "(e) t = 0.2", "(f) target z*"] {
        assert_eq!(count(&svg, &format!(">{text}<")), 1, "{text}");
    }
    assert_eq!(count(&svg, ">(k) t = 0.2<") + count(&svg, ">(l) error<"), 2);
    // an obstacle and its ring in every panel, nine agents in those of the lower row; the legend has three
    // dots and an obstacle
    assert_eq!(count(&svg, "<circle"), 5 * 2 + 5 * (9 + 2) + 3 + 2);
    assert!(count(&svg, "stroke-dasharray") > 5, "rings and negative levels are dashed");
    for label in [
        ">agent with u = −1",
        ">u = 0<",
        ">u = 1",
        ">its path, last 15 % of the run<",
        ">target z* = 0.29",
        ">z* = −0.29",
        ">obstacle and its margin<",
    ] {
        assert_eq!(count(&svg, label), 1, "{label} in the legend");
    }
    assert_eq!((count(&svg, ">x<"), count(&svg, ">y<")), (6, 2), "axes have names");
    // every panel of the lower row has ticks on x, the first of every row on y
    assert!(count(&svg, ">1<") >= 6 && count(&svg, ">0.5<") >= 2, "axes have ticks");
}

#[test]
fn contours_are_those_of_the_target_of_the_moment() {
    let fixed = heat();
    let growing = |step: usize| fixed.targets[0].iter().map(|z| z * (step as f64 / STEPS as f64)).collect();
    let moving = Run2d { targets: (0..=STEPS).map(growing).collect(), ..fixed.clone() };
    assert_eq!(fixed.target(3), Some(&fixed.targets[0][..]));
    assert_eq!(moving.target(STEPS), fixed.target(STEPS));
    assert!(moving.target(0).unwrap().iter().all(|z| *z == 0.0) && density().target(0).is_none());
    let [still, moved] = [&fixed, &moving].map(|run| snapshots_2d(run, 760.0).to_svg());
    assert!(count(&moved, "stroke-dasharray") < count(&still, "stroke-dasharray"), "none at the start");
    assert_eq!((count(&still, ">(f) target z*<"), count(&moved, ">(f) target z* at the end<")), (1, 1));
}

#[test]
fn a_narrow_figure_shows_fewer_times_in_full_rows() {
    for (width, columns) in [(760.0, 6), (510.0, 4), (240.0, 2)] {
        let svg = snapshots_2d(&heat(), width).to_svg();
        assert_eq!(count(&svg, "<image"), 2 * columns + 2, "{width}");
        assert_eq!(count(&svg, " t = 0.2<"), 2, "the end is always shown");
    }
}

#[test]
fn a_run_without_target_and_agents_has_fewer_things() {
    let svg = snapshots_2d(&density(), 760.0).to_svg();
    assert_eq!(count(&svg, "<image"), 2 * 3 + 1);
    assert_eq!(count(&svg, "<circle") + count(&svg, ">target<") + count(&svg, "dasharray"), 0);
}

#[test]
fn x_is_to_the_right_and_y_up_and_panels_keep_their_shape() {
    let run = density();
    let (width, height, pixels) = decoded(&snapshots_2d(&run, 760.0), 1.0);
    assert_eq!(width, 760);
    let rgb = |t: f64| {
        let colour = ColourMap::Sequential.colour(t);
        [colour.red, colour.green, colour.blue]
    };
    // the lowest density fills most of a panel: its bounding box in the first of three panels gives the panel
    let dark: Vec<(usize, usize)> = (0..height * (width / 3))
        .map(|i| (i % (width / 3), i / (width / 3)))
        .filter(|&(x, y)| y < height / 2 && pixels[y * width + x] == rgb(0.0))
        .collect();
    let (left, right) = (dark.iter().map(|p| p.0).min().unwrap(), dark.iter().map(|p| p.0).max().unwrap());
    let (top, bottom) = (dark.iter().map(|p| p.1).min().unwrap(), dark.iter().map(|p| p.1).max().unwrap());
    let shape = (bottom - top + 1) as f64 / (right - left + 1) as f64;
    assert!((shape - 1.25).abs() < 0.03, "height over width {shape}");
    let bright = |x: usize, y: usize| {
        let [_, green, _] = pixels[y * width + x];
        i32::from(green) - i32::from(rgb(0.0)[1])
    };
    assert!(bright(right - 3, bottom - 3) > 100, "the lower right corner is full");
    for (x, y) in [(left + 3, bottom - 3), (left + 3, top + 3), (right - 3, top + 3)] {
        assert_eq!(bright(x, y), 0, "({x}, {y})");
    }
}

#[test]
fn a_field_that_is_not_a_number_is_grey() {
    let mut run = heat();
    run.controlled[STEPS] = vec![f64::NAN; 256];
    run.uncontrolled[STEPS][7] = f64::INFINITY;
    run.positions[STEPS][0] = [f64::NAN; 2];
    run.u.as_mut().unwrap()[STEPS - 1][1] = f64::NAN;
    let grey = |run: &Run2d| {
        decoded(&snapshots_2d(run, 760.0), 1.0).2.iter().filter(|&&pixel| pixel == [0xb0; 3]).count()
    };
    assert!(grey(&run) > 3000, "{} grey pixels", grey(&run));
    assert!(grey(&heat()) < 100);
    animation(&run).to_bytes(AnimationFormat::Gif).unwrap();
}

#[test]
fn animations_have_a_frame_per_state_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    let gif = save_animation(&heat(), folder.path(), AnimationFormat::Gif).unwrap();
    assert!(gif.ends_with("animation.gif"));
    let bytes = std::fs::read(gif).unwrap();
    let mut reader = gif::DecodeOptions::new().read_info(&bytes[..]).unwrap();
    let width = usize::from(reader.width());
    assert_eq!(width, 690);
    let mut delays = Vec::new();
    while let Some(frame) = reader.read_next_frame().unwrap() {
        delays.push(frame.delay);
    }
    assert_eq!(delays.len(), STEPS + 1);
    assert!(delays[STEPS] > 10 * delays[0], "the end is shown for longer");

    let apng = save_animation(&heat(), folder.path(), AnimationFormat::Apng).unwrap();
    assert!(apng.ends_with("animation.png"));
    let bytes = std::fs::read(apng).unwrap();
    let reader = png::Decoder::new(Cursor::new(&bytes)).read_info().unwrap();
    assert_eq!(reader.info().width as usize, width);
    assert_eq!(reader.info().animation_control.unwrap().num_frames as usize, STEPS + 1);
    let again = animation(&heat()).to_bytes(AnimationFormat::Apng).unwrap();
    assert!(bytes == again, "the same run gives the same bytes");
}
