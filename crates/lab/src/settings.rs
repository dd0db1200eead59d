//! The settings by which one config differs from another, as the command line takes them.

use cinoc_control::Config;
use toml::{Table, Value};

/// `key=value` for every setting of `config` that `base` has otherwise, in the order of the preset.
pub fn changed_settings(base: &Config, config: &Config) -> Vec<String> {
    let mut changed = Vec::new();
    differences(&table(base), &table(config), "", &mut changed);
    changed
}

fn table(config: &Config) -> Table {
    config.to_toml().parse().expect("a config writes valid TOML")
}

fn differences(base: &Table, given: &Table, section: &str, changed: &mut Vec<String>) {
    for (name, value) in given {
        let key = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
        match (base.get(name), value) {
            (Some(Value::Table(base)), Value::Table(given)) => differences(base, given, &key, changed),
            (Some(default), value) if default == value => {}
            (_, Value::String(word)) => changed.push(format!("{key}={word}")),
            (_, value) => changed.push(format!("{key}={value}")),
        }
    }
    // some keys are not written where they say nothing
    for (name, value) in base.iter().filter(|(name, _)| !given.contains_key(*name)) {
        let nothing = match value {
            Value::Integer(_) => "0",
            Value::Float(_) => "0.0",
            Value::Boolean(_) => "false",
            Value::Array(_) => "[]",
            _ => continue,
        };
        changed.push(format!("{section}.{name}={nothing}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(task: &str, sets: &[&str]) -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::resolve(task, None, &sets).unwrap();
        let changed = changed_settings(&Config::preset(task).unwrap(), &config);
        assert_eq!(Config::resolve(task, None, &changed).unwrap(), config);
        changed
    }

    #[test]
    fn a_preset_changes_nothing() {
        for task in cinoc_control::Tasks::built_in().iter() {
            assert!(round_trip(&task.name, &[]).is_empty());
        }
    }

    #[test]
    fn changes_of_every_type_are_found() {
        let sets = [
            "policy.trunk_base=2pi",
            "agents=30",
            "train.lr_end=0.0000001",
            "policy.softnorm=false",
            "time.steps=10",
        ];
        let changed = [
            "agents=30",
            "time.steps=10",
            "policy.softnorm=false",
            "policy.trunk_base=2pi",
            "train.lr_end=0.0000001",
        ];
        assert_eq!(round_trip("fkpp1d", &sets), changed);
    }

    #[test]
    fn what_is_turned_off_is_a_change() {
        assert_eq!(round_trip("heat1d", &["train.validate_every=0"]), ["train.validate_every=0"]);
        assert_eq!(round_trip("heat1d", &["train.extended_at=[300]"]), ["train.extended_at=[300]"]);
    }

    #[test]
    fn a_setting_to_its_default_is_no_change() {
        assert!(round_trip("ks1d", &["agents=8", "data.spin_up=1000"]).is_empty());
    }
}
