//! The gradient of M agents against its mean-field limit, as JSON lines: one per size, then the fitted powers.
//!
//! `cargo run --release -p cinoc-learn --example mean_field -- [policies/heat1d.safetensors] [key=value ...]` takes the policy of a
//! file, or fresh parameters, and settings of the task (`observe.sampling=linear`). Besides those: `cases=2`, `largest=512`, `draws=24`,
//! `order=64` (quadrature nodes per cell) and `smallest=16`, from where on powers are fitted: fewer agents stand too far apart for the
//! shortest wave that the policy knows, a quarter of the domain. It takes some minutes.

use adjoint::Threads;
use control::policy::initial_params;
use control::random::{Purpose, stream};
use control::{Cases, Config, Pool};
use learn::mean_field::{MeanField, Placement};
use learn::policy_file::PolicyFile;
use learn::slope::log_log;
use serde_json::json;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut file, mut sets) = (None, Vec::new());
    let (mut count, mut largest, mut draws, mut order, mut smallest) = (2, 512, 24, 64, 16);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None => file = Some(argument),
            Some(("cases", value)) => count = value.parse()?,
            Some(("largest", value)) => largest = value.parse()?,
            Some(("draws", value)) => draws = value.parse()?,
            Some(("order", value)) => order = value.parse()?,
            Some(("smallest", value)) => smallest = value.parse()?,
            Some(_) => sets.push(argument),
        }
    }
    let trained = file.map(|path| PolicyFile::read(Path::new(&path))).transpose()?;
    let config =
        trained.as_ref().map_or_else(|| Config::preset("heat1d"), |policy| Ok(policy.config.clone()))?;
    let config = config.with_sets(&sets)?;
    let params = match trained {
        Some(policy) => policy.params.iter().map(|&p| f64::from(p)).collect(),
        None => initial_params(&config, &mut stream(0, Purpose::Parameters, 0)),
    };
    let threads = Threads::new(std::thread::available_parallelism()?.get());
    let cases = Cases::draw(&config, 0, Pool::HeldOut, count, &threads, &|_, _| {});
    let mean_field = MeanField::new(&config, params, cases, threads);

    let limit = mean_field.limit(order);
    let change = mean_field.limit(order / 2).distance(&limit);
    println!("{}", json!({ "loss": limit.loss, "order": order, "change_from_half_the_order": change }));
    let sizes: Vec<usize> = (2..).map(|k| 1 << k).take_while(|&m| m <= largest).collect();
    let mut errors = [Vec::new(), Vec::new(), Vec::new()];
    for &m in &sizes {
        let placed = |placement| mean_field.finite(placement, m).distance(&limit);
        let found = [
            placed(Placement::Regular),
            placed(Placement::Preset),
            mean_field.random_distance(&limit, m, draws),
        ];
        println!("{}", json!({ "m": m, "regular": found[0], "preset": found[1], "random": found[2] }));
        errors.iter_mut().zip(found).for_each(|(errors, found)| errors.push(found));
    }
    let first =
        sizes.iter().position(|&m| m >= smallest && 2 * m <= largest).ok_or("sizes: fewer than two")?;
    let sizes: Vec<f64> = sizes[first..].iter().map(|&m| m as f64).collect();
    for (name, errors) in ["regular", "preset", "random"].iter().zip(&errors) {
        println!("{}", json!({ "placement": name, "power": log_log(&sizes, &errors[first..]) }));
    }
    Ok(())
}
