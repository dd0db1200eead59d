//! The path from text to a checked config, from outside.

use cinoc_pde::{Axis, Heat};
use toml::Value;

use super::*;
use crate::task::{Field, Fields};

fn sets(list: &[&str]) -> Vec<String> {
    list.iter().map(|set| set.to_string()).collect()
}

fn with(task: &str, list: &[&str]) -> Result<Config, ConfigError> {
    Config::resolve(task, None, &sets(list))
}

/// The message of a config that must be refused: one line, no capital, no full stop.
fn refusal(result: Result<Config, ConfigError>) -> String {
    let message = result.expect_err("must be refused").to_string();
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
    assert!(!message.ends_with('.') && !message.starts_with(char::is_uppercase), "{message:?}");
    message
}

#[test]
fn published_presets_hold_the_numbers_of_the_task_definitions() {
    let fkpp = Config::paper("fkpp1d").unwrap();
    assert_eq!((fkpp.agents, fkpp.grid.n, fkpp.grid.length), (20, 100, 1.0));
    assert_eq!((fkpp.time.dt, fkpp.time.steps, fkpp.time.substeps), (0.001, 300, 1));
    assert_eq!((fkpp.physics.get("nu"), fkpp.physics.get("rho")), (Some(0.005), Some(3.0)));
    assert_eq!(
        (fkpp.actuation.sigma, fkpp.actuation.u_max, fkpp.actuation.v_max),
        (0.05, Some(40.0), Some(2.0))
    );
    assert_eq!((fkpp.observe.around, fkpp.observe.n_ref), (Around::Window { window: 8, points: 20 }, 100));
    let data = &fkpp.data.values;
    assert_eq!((fkpp.data.pool, data.number("std"), data.word("pairs")), (5000, 2.0, "independent"));
    assert_eq!((data.number("length_start"), data.number("length_target")), (0.2, 0.4));
    assert_eq!((fkpp.loss.track, fkpp.loss.effort_u, fkpp.loss.effort_v), (5.0, Some(0.001), Some(0.0001)));
    assert_eq!((fkpp.loss.bound, fkpp.loss.coll, fkpp.loss.accel), (Some(100.0), Some(1.0), Some(0.1)));
    assert_eq!(fkpp.safety, Some(Safety { margin: 0.02, radius: 0.05, wall: None }));
    assert_eq!((fkpp.train.batch, fkpp.train.updates, fkpp.train.lr), (32, 500, 0.001));
    assert_eq!((fkpp.train.schedule, fkpp.train.half_life), (Decay::Exponential, 2000.0));

    let heat = Config::paper("heat1d").unwrap();
    let mut expected = fkpp.clone();
    expected.task = heat.task.clone();
    expected.agents = 8;
    expected.physics = Values::default();
    expected.physics.set("nu", 0.2);
    expected.actuation.sigma = 0.1;
    (expected.observe.crowd_ref, expected.observe.crowd_limit) =
        (heat.observe.crowd_ref, heat.observe.crowd_limit);
    expected.data.values.set("std", 1.0);
    // means nothing here
    expected.train.hold_weight = heat.train.hold_weight;
    assert_eq!(heat, expected);

    let ks = Config::paper("ks1d").unwrap();
    assert_eq!((ks.agents, ks.grid.n, ks.grid.length), (8, 128, 22.0));
    assert_eq!((ks.time.dt, ks.time.steps), (0.05, 200));
    assert_eq!(ks.observe.around, Around::Window { window: 4, points: 20 });
    assert_eq!((ks.actuation.sigma, ks.actuation.u_max, ks.actuation.v_max), (1.0, Some(1.0), None));
    let data = &ks.data.values;
    assert_eq!((ks.data.pool, data.number("spin_up"), data.number("amplitude")), (1024, 1000.0, 0.01));
    assert_eq!(
        (ks.loss.track, ks.loss.effort_u, ks.loss.effort_v, ks.loss.coll),
        (10.0, Some(0.001), None, None)
    );
    assert_eq!((ks.physics, ks.safety), (Values::default(), None));
}

#[test]
fn the_published_form_has_no_sense_for_others_and_no_extra_terms() {
    for task in Tasks::built_in().iter() {
        let (paper, best) = (Config::paper(&task.name).unwrap(), Config::preset(&task.name).unwrap());
        assert_eq!((paper.observe.crowd, paper.policy.share), (false, Share::None), "{}", task.name);
        assert!(paper.observe.target != Some(true) && paper.loss.terminal == 0.0, "{}", task.name);
        assert_eq!(paper.plain(), paper, "{}", task.name);
        // the same physics, agents and cases, of which training may have more
        assert_eq!((paper.grid, paper.time, paper.physics), (best.grid, best.time, best.physics));
        assert_eq!((paper.agents, paper.data.values), (best.agents, best.data.values));
    }
    let ks = Config::paper("ks2d").unwrap();
    assert_eq!((ks.train.updates, ks.policy.padding), (500, Some(Padding::Zero)));
    let sets = sets(&["train.updates=3"]);
    let dpc = Config::resolve_method("heat1d", Preset::Paper, "dpc", None, &sets).unwrap();
    assert_eq!((dpc.train.updates, dpc.method_name()), (3, "dpc"));
}

#[test]
fn baselines_do_not_share_and_know_no_others() {
    for (task, method) in
        Tasks::built_in().iter().flat_map(|task| methods().iter().map(move |m| (task.name.as_str(), m.name)))
    {
        let config = Config::resolve_method(task, Preset::Default, method, None, &[]).unwrap();
        let ours = method == "cinoc";
        assert_eq!(
            (config.observe.crowd, config.policy.share == Share::Crowd),
            (ours, ours),
            "{task} {method}"
        );
    }
}

#[test]
fn every_task_round_trips_through_toml() {
    for task in Tasks::built_in().iter() {
        let config = with(&task.name, &["train.lr=0.1", "noise.sensor=0.30000000000000004"]).unwrap();
        let text = config.to_toml();
        assert_eq!(Config::from_toml(&text).unwrap(), config);
        assert_eq!(Config::from_toml(&text).unwrap().to_toml(), text);
        assert_eq!(Config::resolve(&task.name, Some(&text), &[]).unwrap(), config);
        assert!(!task.title.is_empty());
    }
}

#[test]
fn every_choice_is_a_word_that_is_written_and_read_back() {
    for task in Tasks::built_in().iter() {
        let preset = task.table().unwrap();
        for (section, values) in preset.iter().filter_map(|(name, value)| Some((name, value.as_table()?))) {
            for name in
                values.iter().filter(|(_, value)| matches!(value, Value::String(_))).map(|(name, _)| name)
            {
                let key = format!("{section}.{name}");
                let Some(Key { range: Range::Words(words), .. }) = keys::key(&[], &key) else {
                    panic!("{key} has no list of choices")
                };
                for word in *words {
                    // a trunk that is told no places needs a sense for others
                    let sets = [&format!("{key}={word}"), "observe.crowd=true"];
                    let text = with(&task.name, &sets).unwrap().to_toml();
                    let saved = Tasks::built_in().read_config(&text).unwrap();
                    let saved = saved.complete_table().unwrap();
                    assert_eq!(saved[section][name].as_str(), Some(*word));
                }
            }
        }
    }
}

#[test]
fn later_sources_override_earlier_ones() {
    let file = "agents = 30\n[loss]\ntrack = 7\n[train]\nseed = 3\n";
    let config = Config::resolve("fkpp1d", Some(file), &sets(&["loss.track=5.5", "loss.track = 6"])).unwrap();
    assert_eq!((config.agents, config.loss.track, config.train.seed), (30, 6.0, 3));
    assert_eq!(config.loss.effort_u, Some(0.001));

    let again = config.with_sets(&sets(&["agents=40", "policy.fusion=product"])).unwrap();
    assert_eq!((again.agents, again.loss.track, again.policy.fusion), (40, 6.0, Fusion::Product));
    assert!(refusal(config.with_sets(&sets(&["agents=0"]))).starts_with("agents = 0: must be 1 or more"));
}

#[test]
fn settings_are_toml_values_or_bare_words() {
    let list = [
        "train.lr=1e-4",
        "loss.coll=5.",
        "policy.trunk_base=2pi",
        "data.pairs=\"shared\"",
        "policy.softnorm=false",
    ];
    let config = with("fkpp1d", &list).unwrap();
    assert_eq!((config.train.lr, config.loss.coll, config.policy.softnorm), (1e-4, Some(5.0), false));
    assert_eq!((config.policy.trunk_base, config.data.values.word("pairs")), (TrunkBase::TwoPi, "shared"));
    assert_eq!(with("fkpp1d", &["loss={track=2, bound=3}"]).unwrap().loss.bound, Some(3.0));
    for malformed in ["loss.track", "=3", "loss.=3", "loss.track=", ""] {
        assert!(
            refusal(with("fkpp1d", &[malformed]))
                .starts_with(&format!("setting {malformed:?}: must be key=value"))
        );
    }
}

#[test]
fn types_are_checked_by_name() {
    for (set, message) in [
        ("train.batch=2.5", "train.batch = 2.5: must be a whole number, such as 32"),
        ("train.batch=many", "train.batch = \"many\": must be a whole number, such as 32"),
        ("train.batch=-3", "train.batch = -3: must be 0 or more"),
        ("loss.track=high", "loss.track = \"high\": must be a number, such as 5.0"),
        ("loss.track=[1,\n2]", "loss.track = [1, 2]: must be a number, such as 5.0"),
        ("policy.softnorm=1", "policy.softnorm = 1: must be true or false, such as true"),
        ("policy.fusion=1", "policy.fusion = 1: must be a string, such as \"concat\""),
        ("policy.fusion=sum", "policy.fusion = \"sum\": must be one of \"concat\", \"product\""),
        ("policy.fusion='''a\nb'''", "policy.fusion = \"a\\nb\": must be one of \"concat\", \"product\""),
        ("loss=5", "loss = 5: loss is a section; set its keys, such as loss.track"),
        ("agents.n=5", "agents = { n = 5 }: must be a whole number, such as 20"),
    ] {
        assert_eq!(refusal(with("fkpp1d", &[set])), message);
    }
}

#[test]
fn networks_for_one_number_of_agents_know_neither_rest_nor_more() {
    let dpc = |set: &str| Config::resolve_method("ks1d", Preset::Default, "dpc", None, &[set.to_string()]);
    assert!(dpc("train.batch=8").is_ok());
    for (config, message) in [
        (
            dpc("policy.rest=true"),
            "policy.rest = true: must be false: only the operator network can be at rest",
        ),
        (dpc("train.more=1"), "train.more = 1.0: must be 0: this network is made for one number of agents"),
        (
            with("fkpp1d", &["train.more=1"]),
            "train.more = 1.0: must be 0 unless loss.coll is 0: agents that a case does not have would count \
             as collisions",
        ),
    ] {
        assert_eq!(refusal(config), message);
    }
}

#[test]
fn unknown_keys_name_the_nearest_valid_one() {
    for (set, nearest) in [
        ("loss.trak=5", "loss.track"),
        ("los.track=5", "loss.track"),
        ("lr=0.1", "train.lr"),
        ("n=200", "grid.n"),
        ("batchs=3", "train.batch"),
        ("grid.dt=0.1", "time.dt"),
        ("time.step=5", "time.steps"),
        ("kernel.normalization=mass", "actuation.normalization"),
        ("agent=5", "agents"),
    ] {
        let message = refusal(with("fkpp1d", &[set]));
        let key = set.split('=').next().unwrap();
        assert_eq!(message, format!("unknown key {key:?} for fkpp1d; nearest valid key: {nearest}"));
    }
    assert!(refusal(with("fkpp1d", &["a\nb=5"])).starts_with("unknown key \"a\\nb\" for fkpp1d"));
    assert!(
        refusal(Config::resolve("fkpp1d", Some("[lose]\n"), &[]))
            .starts_with("unknown key \"lose\" for fkpp1d")
    );
}

#[test]
fn keys_of_other_tasks_are_unknown_and_say_whose_they_are() {
    assert_eq!(
        refusal(with("heat1d", &["physics.rho=3"])),
        "unknown key \"physics.rho\" for heat1d (it is a key of fkpp1d); nearest valid key: physics.nu"
    );
    for set in ["actuation.v_max=1", "physics.nu=1", "loss.coll=1", "safety.margin=0.1", "data.std=1"] {
        let message = refusal(with("ks1d", &[set]));
        assert!(message.contains("for ks1d (it is a key of ") && message.contains("heat1d"), "{message}");
    }
    assert!(refusal(with("fkpp1d", &["data.spin_up=1"])).contains("(it is a key of ks1d, ks2d, turb2d)"));
}

#[test]
fn unknown_tasks_name_the_nearest_and_list_all() {
    let message = "unknown task \"fkp1d\"; did you mean \"fkpp1d\"? tasks: density2d, fkpp1d, heat1d, \
                   heat2d, heat2d-obstacles, ks1d, ks2d, turb2d";
    assert_eq!(refusal(Config::preset("fkp1d")), message);
    assert_eq!(refusal(Config::from_toml("task = \"fkp1d\"")), message);
    assert!(refusal(Config::preset("")).starts_with("unknown task \"\""));
}

#[test]
fn every_method_round_trips_through_toml() {
    for (task, method) in
        Tasks::built_in().iter().flat_map(|task| methods().iter().map(move |m| (task.name.as_str(), m.name)))
    {
        let config = Config::resolve_method(task, Preset::Default, method, None, &[]).unwrap();
        let text = config.to_toml();
        assert_eq!(Config::from_toml(&text).unwrap(), config, "{task} {method}");
        assert_eq!(config.with_sets(&[]).unwrap(), config, "{task} {method}");
        if config.method.as_ref().is_some_and(|m| m.name != Algorithm::Dpc) {
            let told = config.with_sets(&["method.critic_energy=true".to_string()]).unwrap();
            assert_eq!(Config::from_toml(&told.to_toml()).unwrap(), told);
            assert!(told.method.unwrap().critic_energy, "{task} {method}");
        }
    }
}

#[test]
fn memory_decides_nothing_but_speed() {
    let (some, more) = (with("heat1d", &["train.memory_mb=1"]), with("heat1d", &["train.memory_mb=2"]));
    let (some, more) = (some.unwrap(), more.unwrap());
    assert_ne!(some, more);
    assert_eq!(some.regardless_of_speed(), more.regardless_of_speed());
    assert_ne!(some.regardless_of_speed(), with("heat1d", &["train.lr=0.5"]).unwrap().regardless_of_speed());
}

#[test]
fn settings_of_one_task_are_refused_for_another() {
    let text = Config::preset("heat1d").unwrap().to_toml();
    assert!(
        refusal(Config::resolve("fkpp1d", Some(&text), &[]))
            .starts_with("task = \"heat1d\": these settings are")
    );
    assert!(refusal(with("fkpp1d", &["task=ks1d"])).starts_with("task = \"ks1d\""));
    assert!(with("fkpp1d", &["task=fkpp1d"]).is_ok());
}

#[test]
fn a_complete_config_lacks_nothing() {
    for task in Tasks::built_in().iter() {
        let text = Config::preset(&task.name).unwrap().to_toml();
        // files that were written before these existed can be read
        let later = |line: &str| {
            let keys =
                ["step_clip", "crowd", "scatter", "head_scale", "hold", "failure", "fewer", "gradient"];
            let newer = ["rest", "more", "starts", "target = ", "share = \"", "seen", "validat"];
            keys.iter().chain(&newer).any(|key| line.starts_with(key))
        };
        let required = |line: &str| line.contains('=') && !later(line);
        for (number, line) in text.lines().enumerate().filter(|(_, line)| required(line)) {
            let rest: Vec<_> =
                text.lines().enumerate().filter(|(i, _)| *i != number).map(|(_, line)| line).collect();
            let message = refusal(Config::from_toml(&rest.join("\n")));
            let name = line.split(" =").next().unwrap();
            assert!(message.starts_with("missing key ") && message.contains(name), "{message}");
        }
    }
    assert_eq!(refusal(Config::from_toml("task = 1")), "task = 1: must be a string, such as \"density2d\"");
}

#[test]
fn broken_toml_names_the_place() {
    for (text, place) in [
        ("agents = 3\n[loss\n", "line 2, column 6: not valid TOML: "),
        ("agents = 3\nagents = 4\n", "line 2, column 1: not valid TOML: "),
        ("[loss]\ntrack = \"5\n", "line 2, column 11: not valid TOML: "),
        ("\u{e9} = 3", "line 1, column 1: not valid TOML: "),
    ] {
        for result in [Config::resolve("fkpp1d", Some(text), &[]), Config::from_toml(text)] {
            let message = refusal(result);
            assert!(message.starts_with(place) && message.len() > place.len(), "{message}");
        }
    }
}

#[test]
fn geometry_follows_the_boundary() {
    let fkpp = with("fkpp1d", &["grid.n=298", "time.substeps=4", "grid.length=2"]).unwrap();
    let [axis] = fkpp.axes()[..] else { panic!("one axis") };
    assert_eq!((fkpp.periodic(), fkpp.mobile(), axis.stride()), (false, true, Some(3)));
    assert_eq!((axis.h(), axis.cells_per_length(), fkpp.control_dt()), (2.0 / 297.0, 49.5, 0.004));
    let ks = with("ks1d", &["grid.n=256", "observe.n_ref=128"]).unwrap();
    let axis = ks.axes()[0];
    assert_eq!((ks.periodic(), ks.mobile(), axis.stride()), (true, false, Some(2)));
    assert_eq!((axis.h(), axis.cells_per_length()), (22.0 / 256.0, 128.0 / 22.0));
}

#[test]
fn a_second_axis_is_as_long_as_the_first_unless_it_has_keys_of_its_own() {
    let heat = with("heat2d", &["grid.n=63", "grid.length=2"]).unwrap();
    let axes = heat.axes();
    assert_eq!((heat.shape(), heat.points(), axes.len()), ((63, 63), 3969, 2));
    assert_eq!(axes[0], axes[1]);
    let density = with("density2d", &[]).unwrap();
    assert_eq!((density.shape(), density.axes()[1].length), ((64, 80), 1.25));
    assert_eq!((with("ks1d", &[]).unwrap().shape(), density.axes()[1].n_ref), ((128, 1), 25));
}

#[test]
fn lists_keep_their_kind_and_ranges_their_two_ends() {
    let conv = |list: &str| with("heat2d", &[&format!("policy.conv={list}")]);
    assert_eq!(conv("[4, 8, 16]").unwrap().policy.conv, [4, 8, 16]);
    for (list, part) in [
        ("[]", "whole numbers from 1"),
        ("[0]", "whole numbers from 1"),
        ("[1.5]", "whole number"),
        ("16", "list of whole numbers"),
    ] {
        let message = refusal(conv(list));
        assert!(message.starts_with("policy.conv") && message.contains(part), "{message}");
    }
    let start = |list: &str| with("density2d", &[&format!("data.start={list}")]);
    assert_eq!(start("[0.25, 1]").unwrap().data.values.range("start"), [0.25, 1.0]);
    for (list, part) in
        [("[0.25]", "two numbers"), ("[0.5, 0.2]", "smaller one first"), ("[true, false]", "a number")]
    {
        let message = refusal(start(list));
        assert!(message.starts_with("data.start") && message.contains(part), "{message}");
    }
}

#[test]
fn configs_of_earlier_versions_mean_what_they_meant() {
    let mut text = Config::paper("heat2d").unwrap().to_toml();
    for key in ["starts", "target = ", "crowd", "share = \"", "seen", "failure", "hold"] {
        text = text.lines().filter(|line| !line.starts_with(key)).collect::<Vec<_>>().join("\n");
    }
    // settings of training that are no more
    text = text.replace("[train]", "[train]\ncrowd = [1.0, 8.0]\nswarms = [50]\nbalance = true");
    let mut expected = Config::paper("heat2d").unwrap();
    // what they could not say means nothing without a sense for others and without rollouts that go on
    (expected.observe.crowd_ref, expected.train.hold_weight) = (1.0, 1.0);
    expected.observe.crowd_limit = 0.0;
    assert_eq!(Config::from_toml(&text).unwrap(), expected);
}

/// The heat equation as a task of a user would have it.
fn rod() -> Task {
    let preset = "[physics]\nnu = 0.1";
    let heat = |config: &Config| Heat::new(config.domain().x, config.physics.number("nu"), config.time.dt);
    Task::new("rod", Boundary::Dirichlet, preset, heat, |_, _| Fields::default())
}

#[test]
fn tasks_of_users_start_with_a_narrow_view_and_a_short_training() {
    let (own, heat) = (rod().config().unwrap(), Config::preset("heat1d").unwrap());
    assert_eq!(own.observe.around, Around::Window { window: 8, points: 20 });
    assert_eq!((own.train.batch, own.train.updates, own.policy.softnorm), (32, 600, true));
    // the rest is that of heat1d
    assert_eq!((&own.grid, &own.time, &own.actuation), (&heat.grid, &heat.time, &heat.actuation));
    assert_eq!((own.observe.crowd_ref, own.policy.share), (heat.observe.crowd_ref, heat.policy.share));
}

#[test]
fn tasks_that_nothing_can_be_run_with_are_refused() {
    assert!(rod().config().is_ok());
    let refused = |task: Task, part: &str| {
        let message = refusal(task.config());
        assert!(message.starts_with("the task rod is wrong") && message.contains(part), "{message}");
    };
    refused(Task { dims: 3, ..rod() }, "3 dimensions");
    refused(Task { dims: 0, ..rod() }, "0 dimensions");
    refused(Task { starts: vec![], ..rod() }, "0 axes");
    refused(rod().with_fields([]), "tracks no field");
    refused(rod().with_fields([Field::new("z").untracked()]), "tracks no field");
    refused(rod().with_fields([Field::new("z").hidden()]), "observe no field");
    refused(rod().with_fields([Field::new("z"), Field::new("y")]), "1 fields, the task has 2");
    let with =
        |heat: fn(&Config) -> Heat| Task::new("rod", Boundary::Dirichlet, "", heat, |_, _| Fields::default());
    refused(with(|config| Heat::new(config.domain().x, 0.1, 0.5)), "time step 0.5");
    refused(with(|config| Heat::new(Axis { n: 7, ..config.domain().x }, 0.1, config.time.dt)), "n: 7");
}

#[test]
fn settings_that_only_code_can_make_are_refused() {
    let refused = |change: fn(&mut Config), part: &str| {
        let mut config = Config::preset("heat1d").unwrap();
        change(&mut config);
        let message = refusal(config.validate().map(|()| config));
        assert!(message.contains(part), "{message}");
    };
    refused(|config| config.actuation.u_max = None, "actuation.u_max");
    refused(|config| config.train.seed = u64::MAX, "too large");
}
