//! Reports of small, untrained policies: every table, every link, every picture.

use std::fs;
use std::path::{Path, PathBuf};

use cinoc_adjoint::Threads;
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, Config, Pool};
use cinoc_figure::Figure;
use cinoc_lab::Evaluated;
use cinoc_lab::evaluated::Control;
use cinoc_lab::figures::{Format, space_time};
use cinoc_lab::report::{Parameters, Report, ReportError};
use cinoc_learn::evaluate::{Evaluation, Rollouts, evaluate, roll_out};
use cinoc_learn::inputs::{InputFile, Inputs};
use cinoc_learn::policy_file::PolicyFile;

struct Small {
    policy: PolicyFile,
    cases: Cases,
    rollouts: Rollouts,
    evaluation: Evaluation,
}

impl Small {
    /// Two cases, twelve steps.
    fn new(task: &str) -> Small {
        Small::with(task, |_| {})
    }

    /// The same with other cases.
    fn with(task: &str, change: impl Fn(&mut Cases)) -> Small {
        let mut sets = vec!["time.steps=12".to_string()];
        if task == "ks1d" {
            sets.push("data.spin_up=20".to_string());
        }
        let config = Config::resolve(task, None, &sets).unwrap();
        let params = initial_params(&config, &mut stream(1, Purpose::Parameters, 0));
        let params: Vec<f32> = params.iter().map(|&p| p as f32).collect();
        let mut cases = Cases::draw(&config, 1, Pool::Validation, 2, &Threads::one(), &|_, _| {});
        change(&mut cases);
        let rollouts = roll_out(&config, &params, &cases, &Threads::one()).unwrap();
        let evaluation = evaluate(&config, &cases, &rollouts);
        Small { policy: PolicyFile { config, params }, cases, rollouts, evaluation }
    }

    fn try_write(&self, folder: &Path, metrics: Option<&Path>) -> Result<PathBuf, ReportError> {
        let Small { policy, cases, rollouts, evaluation } = self;
        let report = Report {
            policy,
            config: &policy.config,
            evaluation,
            rollouts,
            cases,
            cases_label: "2 validation cases",
            metrics,
            format: Format { width: 510.0, dpi: 72.0 },
            commands: &["cinoc train it".to_string(), "cinoc plot it --out there".to_string()],
            parameters: Parameters::Last,
            inputs: &Inputs::default(),
        };
        report.write(folder)
    }

    fn write(&self, folder: &Path, metrics: Option<&Path>) -> String {
        let path = self.try_write(folder, metrics).unwrap();
        assert_eq!(path, folder.join("report.md"));
        fs::read_to_string(path).unwrap()
    }
}

/// Targets of all links and images.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).map(|rest| rest.split_once(')').unwrap().0).collect()
}

/// How many colours a picture has; it is as wide as asked for.
fn colours(path: &Path) -> usize {
    let bytes = fs::read(path).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!(info.width, 510);
    let mut colours: Vec<&[u8]> = rgb.chunks_exact(3).collect();
    colours.sort_unstable();
    colours.dedup();
    colours.len()
}

fn metrics_line(update: usize) -> String {
    format!(
        "{{\"update\":{update},\"loss\":{},\"terms\":{{\"track\":0.5,\"effort_u\":0.25}},\"gradient_norm\":1.5,\
         \"parameter_norm\":9.0,\"lr\":0.001,\"updates_per_s\":0.5,\
         \"validation\":{{\"loss\":{},\"final\":0.1,\"time_mean\":0.2,\"seconds\":0.1}}}}\n",
        1.0 / update as f64,
        2.0 / update as f64
    )
}

#[test]
fn every_task_gets_a_report_with_its_figures() {
    for task in ["fkpp1d", "heat1d", "ks1d"] {
        let folder = tempfile::tempdir().unwrap();
        let metrics = folder.path().join("metrics.jsonl");
        fs::write(&metrics, (1..=3).map(metrics_line).collect::<String>()).unwrap();
        let text = Small::new(task).write(folder.path(), Some(&metrics));

        for part in [
            "| final, uncontrolled |",
            "| final, **controlled** |",
            "| time mean, **controlled** |",
            "The published numbers are left out: they are for other settings (here `time.steps=12`).",
            "| training time | 6.0 s |",
            "| lowest validation loss | 0.667, after 3 updates |",
            "Effort of ",
            "of 2, the one with the median final error",
            "<details>",
        ] {
            assert!(text.contains(part), "{task}: {part:?} is missing in\n{text}");
        }
        assert!(text.contains("```sh\ncinoc train it\ncinoc plot it --out there\n```"), "{text}");
        assert!(!text.contains("| CINOC, published |"), "{text}");
        assert!(!text.contains("NaN") && !text.contains(folder.path().to_str().unwrap()), "{text}");

        let links = links(&text);
        assert_eq!(links.len(), 3 * 4, "four figures in three formats");
        for link in links {
            let path = folder.path().join(link);
            assert!(path.is_file(), "{task}: no {link}");
            if link.ends_with("png") {
                assert!(colours(&path) > 20, "{task}: {link} is blank");
            }
        }
    }
}

#[test]
fn figures_show_the_target_of_the_moment() {
    // a target per step, each higher than the one before
    let moving = |cases: &mut Cases| {
        let higher = |k: usize| cases.zt(k / 12).iter().map(move |z| (1.0 + (k % 12) as f64) * z);
        cases.zt = (0..2 * 12).flat_map(higher).collect();
    };
    let small = Small::with("heat1d", moving);
    let (config, cases, rollouts) = (&small.policy.config, &small.cases, &small.rollouts);
    let evaluated = Evaluated { config, cases, rollouts };
    assert!(evaluated.targets_move());
    let seen = [0, 1, 2, 12].map(|state| evaluated.target(1, state));
    assert_eq!(seen, [0, 0, 1, 11].map(|step| cases.target(1, step)), "a step leads to its target");
    let error = evaluated.error(Control::On, 1);
    let first = cases.z0(1).iter().zip(cases.target(1, 0)).map(|(z, t)| (z - t).powi(2)).sum::<f64>();
    assert_eq!((error.len(), error[0]), (13, first / 100.0));

    let count = |figure: Figure, what: &str| figure.to_svg().matches(what).count();
    assert_eq!(count(space_time(&evaluated, 1, 760.0), " target z*<"), 1);
    let fixed = Small::new("heat1d");
    let still = Evaluated { config, cases: &fixed.cases, rollouts: &fixed.rollouts };
    assert_eq!(count(space_time(&still, 1, 760.0), " target z*<"), 0);

    let folder = tempfile::tempdir().unwrap();
    let text = small.write(folder.path(), None);
    assert!(text.contains("and the target (c), in the same colours, and the remaining error (d)"), "{text}");
    assert!(!text.contains("published"), "the published targets are fixed: {text}");
    let plane = Small::with("heat2d", moving);
    let text = plane.write(folder.path(), None);
    assert!(text.contains("the target moves"), "{text}");
}

#[test]
fn the_same_run_gives_the_same_report() {
    let small = Small::new("heat1d");
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = folders.each_ref().map(|folder| small.write(folder.path(), None));
    assert_eq!(first, second);
}

#[test]
fn half_a_line_of_metrics_is_no_obstacle() {
    let small = Small::new("heat1d");
    let folder = tempfile::tempdir().unwrap();
    let metrics = folder.path().join("metrics.jsonl");
    let whole = metrics_line(1) + &metrics_line(2);
    fs::write(&metrics, &whole[..whole.len() - 40]).unwrap();
    let text = small.write(folder.path(), Some(&metrics));
    assert!(text.contains("| training time | 2.0 s |"), "{text}");

    // not even one whole line: a report without its learning curve
    fs::write(&metrics, &whole[..20]).unwrap();
    let text = small.write(folder.path(), Some(&metrics));
    assert!(!text.contains("learning_curve") && text.contains("space_time"), "{text}");
}

#[test]
fn a_missing_metrics_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = folder.path().join("none.jsonl");
    let error = Small::new("heat1d").try_write(folder.path(), Some(&metrics)).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot read {}: ", metrics.display())), "{error}");
    assert!(!folder.path().join("report.md").exists());
}

#[test]
fn other_circumstances_than_in_training_are_told() {
    let Small { policy, cases, .. } = &Small::new("fkpp1d");
    let config = &policy.config.with_sets(&["agents=5".to_string()]).unwrap();
    let rollouts = &roll_out(config, &policy.params, cases, &Threads::one()).unwrap();
    let evaluation = &evaluate(config, cases, rollouts);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| Some(InputFile { file: name.into(), hash: "0123".to_string() });
    let report = Report {
        policy,
        config,
        evaluation,
        rollouts,
        cases,
        cases_label: "2 cases of mine.safetensors",
        metrics: None,
        format: Format::default(),
        commands: &[],
        parameters: Parameters::Checkpoint(7),
        inputs: &Inputs {
            init: file("old.safetensors"),
            cases: None,
            validation: file("data/mine.safetensors"),
        },
    };
    let text = fs::read_to_string(report.write(folder.path()).unwrap()).unwrap();
    for part in [
        "| agents | 20 mobile |",
        "| parameters of | the checkpoint after 7 of 500 updates: the run is not finished |",
        "| --init | `old.safetensors` (hash 0123) |",
        "On 2 cases of mine.safetensors, with settings other than in training: `agents=5`.",
        "Effort of 5 agents",
        "The published numbers are left out: they are for other settings (here `agents=5`).",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn published_numbers_stand_beside_the_settings_of_the_task() {
    // of heat1d, whose preset is short enough for a test
    let config = Config::preset("heat1d").unwrap();
    let params = initial_params(&config, &mut stream(1, Purpose::Parameters, 0));
    let params: Vec<f32> = params.iter().map(|&p| p as f32).collect();
    let cases = Cases::draw(&config, 1, Pool::Validation, 1, &Threads::one(), &|_, _| {});
    let rollouts = roll_out(&config, &params, &cases, &Threads::one()).unwrap();
    let evaluation = evaluate(&config, &cases, &rollouts);
    let small = Small { policy: PolicyFile { config, params }, cases, rollouts, evaluation };
    let folder = tempfile::tempdir().unwrap();
    let text = small.write(folder.path(), None);
    assert!(text.contains("| CINOC, published | 0.390 ± 1.144 | 2.9e-4 ± 4.3e-4 |"), "{text}");
    assert!(!text.contains("left out"), "{text}");
}
