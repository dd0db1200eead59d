//! The keys of a section that belong to the task itself: coefficients of its equation, settings of its cases.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Settings by name. Which names there are, and of which type, is what the task's preset says: settings of a
/// user can only replace values of the preset by others of the same type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Values(Table);

impl Values {
    /// Whether the task has this key.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number.
    ///
    /// # Panics
    /// If the preset of the task has no number of this name.
    pub fn number(&self, key: &str) -> f64 {
        self.get(key)
            .unwrap_or_else(|| panic!("the preset of the task has no number {key:?}: add it to the preset"))
    }

    /// A number, if the preset has one of this name.
    pub fn get(&self, key: &str) -> Option<f64> {
        number(self.0.get(key)?)
    }

    /// A range of two numbers, the smaller one first.
    ///
    /// # Panics
    /// If the preset of the task has no list of two numbers of this name.
    pub fn range(&self, key: &str) -> [f64; 2] {
        let list = self.0.get(key).and_then(Value::as_array).map(Vec::as_slice);
        match list {
            Some([low, high]) => number(low).zip(number(high)).map(|(low, high)| [low, high]),
            _ => None,
        }
        .unwrap_or_else(|| panic!("the preset of the task has no range {key:?}: add it to the preset"))
    }

    /// A word.
    ///
    /// # Panics
    /// If the preset of the task has no word of this name.
    pub fn word(&self, key: &str) -> &str {
        let word = self.0.get(key).and_then(Value::as_str);
        word.unwrap_or_else(|| panic!("the preset of the task has no word {key:?}: add it to the preset"))
    }

    /// Sets a number.
    pub fn set(&mut self, key: &str, value: f64) {
        self.0.insert(key.to_string(), Value::Float(value));
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_by_name_and_type() {
        let values = Values("nu = 0.5\nwaves = 3\nheight = [0.1, 2]\nkind = \"a\"".parse().unwrap());
        assert_eq!((values.number("nu"), values.number("waves")), (0.5, 3.0));
        assert_eq!((values.range("height"), values.word("kind")), ([0.1, 2.0], "a"));
        assert_eq!((values.get("rho"), values.has("rho"), values.has("nu")), (None, false, true));
    }

    #[test]
    #[should_panic(expected = "the preset of the task has no number \"rho\"")]
    fn a_task_that_asks_for_what_it_does_not_have_is_told() {
        Values::default().number("rho");
    }
}
