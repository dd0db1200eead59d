//! A config as text for people: TOML with the meaning and the range of every key beside it.

use toml::{Table, Value};

use super::keys::{self, shown};
use super::{Config, Key, Range};

/// Column of the comments.
const COLUMN: usize = 33;

impl Config {
    /// The complete config as TOML, with a comment for every key.
    ///
    /// # Panics
    /// If an integer was set above `i64::MAX`, which [`Config::validate`] refuses.
    pub fn listing(&self) -> String {
        let mut text = format!("# {}\n", self.task.title);
        section(&self.written(), "", &self.task.keys, &mut text);
        text
    }

    /// What another config of the task has otherwise, in the same form.
    ///
    /// # Panics
    /// As [`Config::listing`].
    pub fn changes(&self, other: &Config) -> String {
        let mut text = String::new();
        let changed = differing(&self.written(), &other.written());
        section(&changed, "", &self.task.keys, &mut text);
        text
    }

    fn written(&self) -> Table {
        self.complete_table().expect("every integer of a checked config fits in an i64")
    }
}

/// The values of `b` that `a` has otherwise.
fn differing(a: &Table, b: &Table) -> Table {
    let mut changed = Table::new();
    for (name, value) in b {
        match (a.get(name), value) {
            (Some(Value::Table(a)), Value::Table(b)) => {
                let inner = differing(a, b);
                if !inner.is_empty() {
                    changed.insert(name.clone(), Value::Table(inner));
                }
            }
            (before, value) if before != Some(value) => {
                changed.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
    changed
}

fn section(table: &Table, path: &str, own: &[Key], text: &mut String) {
    let full = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
    for (name, value) in table.iter().filter(|(_, value)| !value.is_table()) {
        let line = format!("{name} = {}", shown(value).0);
        let comment = keys::key(own, &full(name)).map(comment);
        text.push_str(&match comment {
            Some(comment) => format!("{line:COLUMN$}# {comment}\n"),
            None => format!("{line}\n"),
        });
    }
    for (name, inner) in table.iter().filter_map(|(name, value)| Some((name, value.as_table()?))) {
        text.push_str(&format!("\n[{}]\n", full(name)));
        section(inner, &full(name), own, text);
    }
}

fn comment(key: &Key) -> String {
    let unit = if key.unit.is_empty() { String::new() } else { format!(" [{}]", key.unit) };
    let range = match key.range {
        Range::Any => String::new(),
        range => format!("; {range}"),
    };
    format!("{}{unit}{range}", key.meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tasks;

    #[test]
    fn a_listing_is_a_config_and_says_what_every_key_means() {
        for task in Tasks::built_in().iter() {
            let config = task.config().unwrap();
            let text = config.listing();
            assert_eq!(Config::from_toml(&text).unwrap(), config, "{task}");
            let keys = text.lines().filter(|line| line.contains(" = "));
            for line in keys {
                assert!(line.contains("# "), "{task}: no meaning in {line:?}");
            }
        }
    }

    #[test]
    fn changes_are_laid_over_the_default() {
        let (best, paper) = (Config::preset("ks2d").unwrap(), Config::paper("ks2d").unwrap());
        let changes = best.changes(&paper);
        assert_eq!(Config::resolve("ks2d", Some(&changes), &[]).unwrap(), paper);
        assert!(changes.lines().count() < best.listing().lines().count() / 2, "{changes}");
        assert_eq!(best.changes(&best), "");
    }
}
