//! Every range, at its edge and just outside.

use super::*;

fn with(task: &str, list: &[&str]) -> Result<Config, ConfigError> {
    Config::resolve(task, None, &list.iter().map(|set| set.to_string()).collect::<Vec<_>>())
}

/// The settings are refused with a message about `key` that contains `range`.
fn refused(task: &str, list: &[&str], key: &str, range: &str) {
    let message = with(task, list).expect_err(&format!("{list:?} must be refused")).to_string();
    assert!(message.starts_with(&format!("{key} = ")) && message.contains(range), "{list:?}: {message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn counts_have_a_least_value() {
    for (key, least) in [
        ("agents", 1),
        ("grid.n", 8),
        ("observe.n_ref", 8),
        ("observe.points", 2),
        ("time.steps", 1),
        ("time.substeps", 1),
        ("data.pool", 1),
        ("train.batch", 1),
        ("train.updates", 1),
        ("train.checkpoint_every", 1),
    ] {
        let set = format!("{key}={}", least - 1);
        refused("fkpp1d", &[&set], key, &format!("must be {least} or more"));
    }
    let smallest = [
        "agents=1",
        "grid.n=8",
        "observe.n_ref=8",
        "observe.window=8",
        "observe.points=2",
        "time.steps=1",
        "data.pool=1",
        "train.batch=1",
        "train.updates=1",
        "train.checkpoint_every=1",
        "actuation.sigma=0.1",
        "train.memory_mb=0",
        "train.validate_every=0",
        "train.validation_cases=0",
    ];
    with("fkpp1d", &smallest).unwrap();
}

#[test]
fn a_training_is_extended_at_increasing_totals_below_its_updates() {
    with("heat1d", &["train.updates=30", "train.extended_at=[10, 20]"]).unwrap();
    for (list, range) in [
        ("[20, 10]", "increasing"),
        ("[0]", "increasing"),
        ("[10, 10]", "increasing"),
        ("[10, 30]", "below 30"),
    ] {
        let set = format!("train.extended_at={list}");
        refused("heat1d", &["train.updates=30", &set], "train.extended_at", range);
    }
}

#[test]
fn no_float_may_be_nan_infinite_or_negative() {
    for task in Tasks::built_in().iter() {
        let preset = task.table().unwrap();
        let sections = preset.iter().filter_map(|(name, value)| Some((name, value.as_table()?)));
        let mut floats = 0;
        for (section, values) in sections {
            for (name, _) in values.iter().filter(|(_, value)| value.is_float()) {
                let key = format!("{section}.{name}");
                for bad in ["nan", "inf", "-inf", "-0.5"] {
                    refused(&task.name, &[&format!("{key}={bad}")], &key, "must be ");
                }
                floats += 1;
            }
        }
        assert!(floats > 15, "{} has {floats} floats", task.name);
    }
}

#[test]
fn some_floats_may_not_be_zero() {
    for key in [
        "grid.length",
        "time.dt",
        "actuation.sigma",
        "data.std",
        "data.length_start",
        "data.length_target",
        "train.lr",
        "train.half_life",
        "train.clip",
        "observe.crowd_ref",
    ] {
        refused("fkpp1d", &[&format!("{key}=0")], key, "must be above 0 and finite");
    }
    refused("ks1d", &["data.amplitude=0"], "data.amplitude", "must be above 0 and finite");
    for key in
        ["physics.nu", "physics.rho", "actuation.u_max", "actuation.v_max", "loss.track", "safety.margin"]
    {
        with("fkpp1d", &[&format!("{key}=0")]).unwrap();
    }
    with("ks1d", &["data.spin_up=0"]).unwrap();
}

#[test]
fn grids_resolve_the_reference_lattice() {
    refused("fkpp1d", &["grid.n=64"], "grid.n", "at least 100, the points of the reference lattice");
    refused("ks1d", &["grid.n=63"], "grid.n", "at least 64,");
    refused("density2d", &["grid.n_y=24"], "grid.n_y", "set observe.n_ref_y too");
    for grid in ["grid.n=150", "grid.n=199", "grid.n=200"] {
        with("fkpp1d", &[grid]).unwrap();
    }
    with("ks1d", &["grid.n=384"]).unwrap();
    with("fkpp1d", &["grid.n=64", "observe.n_ref=64"]).unwrap();
    with("density2d", &["observe.n_ref=24", "observe.n_ref_y=30"]).unwrap();
}

#[test]
fn windows_are_even_and_fit_the_lattice() {
    for window in ["0", "1", "7", "102"] {
        refused(
            "fkpp1d",
            &[&format!("observe.window={window}")],
            "observe.window",
            "an even number from 2 to 100",
        );
    }
    with("fkpp1d", &["observe.window=2"]).unwrap();
    with("fkpp1d", &["observe.window=100"]).unwrap();
}

#[test]
fn kernels_are_visible_on_the_grid() {
    refused("fkpp1d", &["actuation.sigma=0.005"], "actuation.sigma", "at least 0.00505050505");
    with("fkpp1d", &["actuation.sigma=0.0051"]).unwrap();
    with("fkpp1d", &["actuation.sigma=0.005", "grid.n=199"]).unwrap();
}

#[test]
fn time_steps_are_stable() {
    refused("fkpp1d", &["time.dt=0.2"], "time.dt", "at most 0.16666666666666666 (0.5 / physics.rho)");
    with("fkpp1d", &["time.dt=0.0625", "physics.rho=8"]).unwrap();
    with("heat1d", &["time.dt=0.2"]).unwrap();
    refused("ks1d", &["time.dt=8"], "time.dt", "below 8");
}

#[test]
fn shares_margins_and_failure_steps_are_bounded() {
    refused("fkpp1d", &["failure.share=1.5"], "failure.share", "from 0 to 1");
    for range in ["[0, 1]", "[-0.1, 0.5]", "[0.5, 0.2]"] {
        refused("fkpp1d", &[&format!("train.failure={range}")], "train.failure", "0 <= low <= high < 1");
    }
    with("fkpp1d", &["train.failure=[0.2, 0.9]"]).unwrap();
    refused("fkpp1d", &["failure.step=301"], "failure.step", "from 0 to 300 (time.steps)");
    refused("fkpp1d", &["safety.margin=0.5"], "safety.margin", "from 0 to below 0.5");
    with("fkpp1d", &["failure.share=1", "failure.step=300", "safety.margin=0.49"]).unwrap();
}

#[test]
fn a_short_run_or_a_low_rate_needs_no_other_setting() {
    with("fkpp1d", &["train.updates=10"]).unwrap();
    with("fkpp1d", &["train.lr=0.00001"]).unwrap();
    with("fkpp1d", &["train.schedule=exponential"]).unwrap();
    refused("fkpp1d", &["train.lr_end=-0.002"], "train.lr_end", "0 or more");
}
