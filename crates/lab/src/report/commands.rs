//! Shell commands that make a policy and its report again.

use std::path::Path;

use cinoc_control::Config;
use cinoc_control::config::Preset;
use cinoc_learn::inputs::Inputs;

use crate::settings::changed_settings;

/// The command of a training with this config: the preset that needs fewer settings, then the settings.
/// `program` is the name of the command line, `inputs` are the files it was given, `out` is the run
/// directory.
pub fn training_command(program: &str, config: &Config, inputs: &Inputs, out: Option<&Path>) -> String {
    let (task, method, seed) = (&config.task, config.method_name(), config.train.seed);
    let settings = |preset: Preset| {
        let mut base = task.resolve(preset, method, None, &[]).ok()?;
        base.train.seed = seed;
        Some(changed_settings(&base.regardless_of_speed(), &config.regardless_of_speed()))
    };
    let presets = [("", Preset::Default), (" --preset paper", Preset::Paper)];
    let shortest = presets
        .into_iter()
        .filter_map(|(option, preset)| Some((option, settings(preset)?)))
        .min_by_key(|(_, settings)| settings.len());
    let (preset, settings) = shortest.unwrap_or_default();
    let method = config.method.as_ref().map_or_else(String::new, |_| format!(" --method {method}"));
    let sets: String = settings.iter().map(|setting| format!(" --set {}", shell_word(setting))).collect();
    let path = |option: &str, path: &Path| format!(" {option} {}", shell_word(&path.to_string_lossy()));
    let files: String =
        inputs.options().into_iter().filter_map(|(option, file)| Some(path(option, &file?.file))).collect();
    let out = out.map_or_else(String::new, |out| path("--out", out));
    format!("{program} train {task}{method}{preset} --seed {seed}{sets}{files}{out}")
}

/// A text as one word of a shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_learn::inputs::InputFile;

    #[test]
    fn a_training_is_the_preset_with_fewer_changes() {
        let command = |preset: Preset, method: &str, sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
            let config = Config::resolve_method("fkpp1d", preset, method, None, &sets).unwrap();
            training_command("cinoc", &config, &Inputs::default(), None)
        };
        assert_eq!(
            command(Preset::Default, "cinoc", &["train.seed=3", "agents=5"]),
            "cinoc train fkpp1d --seed 3 --set agents=5"
        );
        assert_eq!(
            command(Preset::Paper, "cinoc", &["train.failure=[0.1, 0.2]"]),
            "cinoc train fkpp1d --preset paper --seed 0 --set 'train.failure=[0.1, 0.2]'"
        );
        assert_eq!(command(Preset::Default, "ppo", &[]), "cinoc train fkpp1d --method ppo --seed 0");
        let config = Config::preset("ks1d").unwrap();
        let file = |name: &str| Some(InputFile { file: name.into(), hash: "0123".to_string() });
        let inputs = Inputs { init: file("old.safetensors"), cases: None, validation: file("my cases") };
        let out = training_command("mine", &config, &inputs, Some(Path::new("my run")));
        assert_eq!(
            out,
            "mine train ks1d --seed 0 --init old.safetensors --validation 'my cases' --out 'my run'"
        );
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(shell_word("noise.sensor=0.05"), "noise.sensor=0.05");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
