//! `cinoc plot`: where the files go, what the report repeats, size and resolution of the figures.

mod common;

use common::{cinoc, text, train};
use std::fs;
use std::path::Path;

/// Plots and returns the path that the command prints.
fn plotted(folder: &Path, arguments: &[&str]) -> String {
    let output = cinoc(folder, &[&["plot"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).trim_end().to_string()
}

#[test]
fn figures_of_other_settings_go_into_a_folder_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let of_training = fs::read_to_string(at.join("run/report.md")).unwrap();
    assert!(of_training.contains("```sh\ncinoc train heat1d --out run --updates 6 "), "{of_training}");

    let report = plotted(at, &["run", "--agents", "16", "--cases", "3"]);
    assert_eq!(report, "run/plots/agents=16,cases=3/report.md");
    for figure in ["space_time", "snapshots", "time_courses", "learning_curve"] {
        for ending in ["svg", "pdf", "png"] {
            let path = at.join(format!("run/plots/agents=16,cases=3/figures/{figure}.{ending}"));
            assert!(path.exists(), "{}", path.display());
        }
    }
    let written = fs::read_to_string(at.join(report)).unwrap();
    assert!(written.contains("\ncinoc plot run --agents 16 --cases 3\n```"), "{written}");
    assert!(written.contains("```sh\ncinoc train heat1d --seed 0 --set time.steps=20 "), "{written}");
    assert!(written.contains(" --out run\n"), "the training that the plot is of: {written}");
    assert!(!written.contains("CINOC, published") && written.contains("left out"), "{written}");
    let now = fs::read_to_string(at.join("run/report.md")).unwrap();
    assert!(now == of_training, "the report of the training was overwritten");

    // a setting that is already so changes nothing: this is the report of the training again
    assert_eq!(plotted(at, &["run", "--agents", "8"]), "run/report.md");
    assert_eq!(plotted(at, &["run/policy.safetensors"]), "run/report.md");
}

#[test]
fn a_policy_file_and_out_have_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    fs::create_dir(at.join("kept")).unwrap();
    fs::copy(at.join("run/policy.safetensors"), at.join("kept/mine.safetensors")).unwrap();
    let policy = "kept/mine.safetensors";
    assert_eq!(plotted(at, &[policy]), "plots/mine/report.md");
    assert_eq!(
        plotted(at, &[policy, "--fail", "0.5@3"]),
        "plots/mine/failure.share=0.5,failure.step=3/report.md"
    );
    assert_eq!(fs::read_dir(at.join("kept")).unwrap().count(), 1, "nothing is written beside the policy");

    let report = plotted(at, &["run", "--cases", "2", "--out", "my pictures"]);
    assert_eq!(report, "my pictures/report.md");
    let written = fs::read_to_string(at.join(report)).unwrap();
    assert!(written.contains("\ncinoc plot run --cases 2 --out 'my pictures'\n```"), "{written}");
    let help = text(&cinoc(at, &["plot", "--help"]).stdout);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for rule in ["runs/heat1d-0/plots/agents=16", "plots/POLICY/WHAT", "180mm or 7in", "from 36 to 600"] {
        assert!(help.contains(rule), "{rule} in {help}");
    }
}

#[test]
fn size_and_resolution_are_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let report = plotted(at, &["run", "--cases", "1", "--size", "4in", "--dpi", "100"]);
    assert_eq!(report, "run/plots/cases=1,size=4in,dpi=100/report.md");
    let figure = at.join("run/plots/cases=1,size=4in,dpi=100/figures/time_courses");
    let png = fs::read(figure.with_extension("png")).unwrap();
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 400, "pixels across");
    let pdf = fs::read(figure.with_extension("pdf")).unwrap();
    let media_box = b"/MediaBox [0 0 288 ";
    assert!(pdf.windows(media_box.len()).any(|window| window == media_box));
    assert!(fs::read_to_string(figure.with_extension("svg")).unwrap().contains("width=\"288pt\""));

    for (option, value, part) in [
        ("--size", "180", "a width with its unit"),
        ("--size", "10mm", "from 80mm to 500mm"),
        ("--size", "2m", "such as 180mm or 7in"),
        ("--dpi", "5", "from 36 to 600"),
        ("--dpi", "NaN", "from 36 to 600"),
    ] {
        let output = cinoc(at, &["plot", "run", "--cases", "1", option, value, "--out", "refused"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.lines().count() == 1 && message.contains(part), "{message}");
    }
    assert!(!at.join("refused").exists());
}
