//! `cinoc plot`: report and figures of a policy, or an animation of one case.

use super::{given_command, resolved};
use crate::arguments::Plot;
use crate::failure::Failure;
use crate::terminal::{Terminal, say};
use crate::work::subject::{Loaded, Resolved};
use crate::work::training::REPORT_CASES;
use cinoc_control::Tasks;
use cinoc_lab::Evaluated;
use cinoc_lab::figures::{Format, save_animation};
use cinoc_lab::report::{Parameters, Report, training_command};
use cinoc_lab::run_2d::Run2d;
use cinoc_lab::settings::changed_settings;
use cinoc_learn::evaluate::{Rollouts, evaluate, roll_out};
use cinoc_learn::files::fnv1a;
use cinoc_learn::inputs::Inputs;
use cinoc_learn::memory::Needs;
use cinoc_learn::run::{BEST, CHECKPOINT, CONFIG, LATEST, METRICS, POLICY};
use std::path::{Path, PathBuf};

/// Points of an inch and of a millimetre.
const INCH: f64 = 72.0;
const MILLIMETRE: f64 = INCH / 25.4;
/// Widths of figures, in millimetres. A narrower figure has no room for its texts.
const WIDTHS: std::ops::RangeInclusive<f64> = 80.0..=500.0;
/// Pixels per inch.
const RESOLUTIONS: std::ops::RangeInclusive<f64> = 36.0..=600.0;
/// A longer name of a folder is cut.
const LONGEST_NAME: usize = 120;

pub fn run(request: &Plot, tasks: &Tasks) -> Result<(), Failure> {
    let format = format(request)?;
    let (loaded, subject) = resolved(&request.subject, tasks, &Terminal::default())?;
    let (config, cases, threads) = (&subject.config, &subject.cases, &subject.threads);
    // figures need the rollouts of all cases at once
    let needs = Needs::evaluation(config, cases.count, cases.count, threads.count());
    needs.with_targets(config, cases.targets(), cases.count).check()?;
    let rollouts = roll_out(config, &loaded.policy.params, cases, threads)?;
    let animated = request.animate.then(|| chosen_case(request, &subject, &rollouts)).transpose()?;
    let folder = request.out.clone().unwrap_or_else(|| default_folder(request, &loaded, &subject));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::Request(format!("cannot create {}: {error}; choose another --out", folder.display()))
    })?;
    let written = match animated {
        Some(run) => save_animation(&run, &folder, request.format.into())
            .map_err(|error| Failure::Run(error.to_string()))?,
        None => write_report(&loaded, &subject, &rollouts, &folder, format)?,
    };
    say!("{}", written.display());
    Ok(())
}

fn write_report(
    loaded: &Loaded,
    subject: &Resolved,
    rollouts: &Rollouts,
    folder: &Path,
    format: Format,
) -> Result<PathBuf, Failure> {
    let evaluation = evaluate(&subject.config, &subject.cases, rollouts);
    let metrics = loaded.path.with_file_name(METRICS);
    let metrics = metrics.exists().then_some(metrics);
    let (program, trained) = (super::program(), &loaded.policy.config);
    let run = loaded.path.parent().unwrap_or(Path::new("."));
    let inputs = Inputs::read(run).map_err(|error| Failure::Request(error.to_string()))?;
    let training = training_command(&program, trained, &inputs, run_directory(&loaded.path).as_deref());
    let report = Report {
        policy: &loaded.policy,
        config: &subject.config,
        evaluation: &evaluation,
        rollouts,
        cases: &subject.cases,
        cases_label: &subject.cases_label,
        metrics: metrics.as_deref(),
        format,
        commands: &[training, given_command()],
        parameters: loaded.parameters,
        inputs: &inputs,
    };
    report.write(folder).map_err(|error| Failure::Run(error.to_string()))
}

/// Size and resolution of the figures.
fn format(request: &Plot) -> Result<Format, Failure> {
    let mut format = Format::default();
    if let Some(size) = &request.size {
        format.width = width(size)?;
    }
    if let Some(dpi) = request.dpi {
        let (least, most) = (RESOLUTIONS.start(), RESOLUTIONS.end());
        if !RESOLUTIONS.contains(&dpi) {
            return Err(Failure::Request(format!("--dpi {dpi}: must be from {least} to {most}")));
        }
        format.dpi = dpi;
    }
    Ok(format)
}

/// A width such as `180mm` or `7in`, in points.
fn width(size: &str) -> Result<f64, Failure> {
    let units = [("mm", MILLIMETRE), ("in", INCH)];
    let given = units.iter().find_map(|(unit, points)| {
        let number: f64 = size.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * points)
    });
    // up to rounding, the ends are allowed in both units
    given.filter(|points| WIDTHS.contains(&((100.0 * points / MILLIMETRE).round() / 100.0))).ok_or_else(|| {
        let (least, most) = (WIDTHS.start(), WIDTHS.end());
        Failure::Request(format!(
            "--size {size}: must be a width with its unit, such as 180mm or 7in, from {least}mm to {most}mm"
        ))
    })
}

/// The case to animate.
fn chosen_case(request: &Plot, subject: &Resolved, rollouts: &Rollouts) -> Result<Run2d, Failure> {
    let evaluated = Evaluated { config: &subject.config, cases: &subject.cases, rollouts };
    let (case, count) = (request.case.unwrap_or_else(|| evaluated.median_case()), subject.cases.count);
    if case >= count {
        return Err(Failure::Request(format!("--case {case}: there are {count} cases, counted from 0")));
    }
    Run2d::of_case(&evaluated, case).map_err(|error| Failure::Request(error.to_string()))
}

/// The run directory, where everything is as in the report of the training. Anything else goes into a folder
/// of its own, named after what differs: of a run `RUN/plots/NAME`, of a policy file `plots/POLICY/NAME`.
fn default_folder(request: &Plot, loaded: &Loaded, subject: &Resolved) -> PathBuf {
    let name = folder_name(&differences(request, loaded, subject));
    match run_directory(&loaded.path) {
        Some(run) if name.is_empty() => run,
        Some(run) => run.join("plots").join(name),
        None => Path::new("plots").join(loaded.path.file_stem().unwrap_or_default()).join(name),
    }
}

/// The directory of the run that a policy file belongs to.
fn run_directory(policy: &Path) -> Option<PathBuf> {
    let of_run = [POLICY, BEST, CHECKPOINT, LATEST].iter().any(|name| policy.ends_with(name))
        && policy.with_file_name(CONFIG).exists();
    let folder = policy.parent().filter(|_| of_run)?;
    Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() })
}

/// What differs from the report of the training, as `key=value`.
fn differences(request: &Plot, loaded: &Loaded, subject: &Resolved) -> Vec<String> {
    let cases = Path::new(&request.subject.cases);
    let cases = cases.file_name().unwrap_or(cases.as_os_str()).to_string_lossy();
    let mut all = changed_settings(&loaded.policy.config, &subject.config);
    all.extend((loaded.parameters == Parameters::Best).then(|| "best".to_string()));
    all.extend((cases != REPORT_CASES.to_string()).then(|| format!("cases={cases}")));
    all.extend(request.case.map(|case| format!("case={case}")));
    all.extend(request.size.as_ref().map(|size| format!("size={size}")));
    all.extend(request.dpi.map(|dpi| format!("dpi={dpi}")));
    all
}

/// Settings as a name that needs no quotes; of a long list the beginning and a hash.
fn folder_name(settings: &[String]) -> String {
    let all = settings.join(",");
    let plain = |c: char| c.is_ascii_alphanumeric() || ".,=_-".contains(c);
    let name: String = all.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    match name.len() {
        0..=LONGEST_NAME => name,
        _ => format!("{}-{:016x}", &name[..LONGEST_NAME - 17], fnv1a(all.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_have_a_unit() {
        assert_eq!(width("7in").unwrap(), 504.0);
        assert!((width("180mm").unwrap() - 510.24).abs() < 0.01);
        assert!(["80mm", "500 mm", "3.5in"].iter().all(|size| width(size).is_ok()));
        for wrong in ["180", "mm", "180cm", "79mm", "501mm", "-180mm", "nanmm", "infin", ""] {
            assert!(width(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn folders_are_named_after_settings() {
        let name = |settings: &[&str]| {
            folder_name(&settings.iter().map(|setting| setting.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(name(&[]), "");
        assert_eq!(name(&["agents=16", "cases=test:200"]), "agents=16,cases=test_200");
        let long = name(&["train.failure=[0.1, 0.2]"; 20]);
        assert_eq!(long.len(), LONGEST_NAME);
        assert_ne!(long, name(&["train.failure=[0.1, 0.2]"; 21]));
    }
}
