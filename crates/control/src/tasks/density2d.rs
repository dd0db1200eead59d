//! `density2d`: a density in a closed box; mobile agents stir it to a target.

use cinoc_pde::{BlobPairs, Boundary, Density, Medium, Transport};

use super::presets;
use crate::config::ConfigError;
use crate::data::families::rectangle;
use crate::task::{Field, Task};

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("density2d");
    let task = Task::new(
        "density2d",
        Boundary::ZeroFlux,
        "",
        |config| {
            let ([x, y], physics) = (rectangle(config), &config.physics);
            let transport = match physics.word("transport") {
                "conservative" => Transport::Conservative,
                _ => Transport::Advective,
            };
            let medium = Medium {
                drift: [0.0, physics.number("drift")],
                limit: physics.number("limit"),
                diffusion: physics.number("diffusion"),
            };
            Density::new(x, y, config.time.dt, transport, medium)
        },
        |config, draw| {
            let ([x, y], data) = (rectangle(config), &config.data.values);
            let family = BlobPairs {
                amplitude: data.range("height"),
                width: data.range("width"),
                start: [data.range("start"); 2],
                target: [data.range("target_x"), data.range("target_y")],
                apart: data.number("distance"),
            };
            draw.each(|draw| {
                let (start, target) = family.draw(&x, &y, draw.rng);
                [start, target]
            })
        },
    )
    .titled("density in a box: mobile agents stir it to a target")
    .with_fields([Field::new("z").positive()])
    .checked(|config| {
        let (data, distance) = (&config.data.values, config.data.values.number("distance"));
        let farthest = ["target_x", "target_y"].map(|target| {
            let ([start, start_end], [low, high]) = (data.range("start"), data.range(target));
            (high - start).abs().max((start_end - low).abs())
        });
        let farthest = farthest[0].hypot(farthest[1]);
        ConfigError::unless(distance < 0.9 * farthest, "data.distance", distance, || {
            format!("below {:?}, or starts and targets are hardly ever so far apart", 0.9 * farthest)
        })
    });
    Task { preset, paper, density: true, starts: vec![(0.15, 0.85), (0.12, 0.8)], ..task.in_2d() }
}
