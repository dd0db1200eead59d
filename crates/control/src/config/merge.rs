//! Overriding a preset: same keys, same types, new values.
//!
//! The preset's table is the schema. An override may name only keys that are in it, and takes the type of the
//! value it replaces; a whole number is accepted for a float, never the reverse.

use toml::{Table, Value};

use super::error::ConfigError;
use super::keys::shown as shown_value;
use crate::task::Tasks;

/// Parses a TOML document; an error is one line with its place.
pub(crate) fn parse(text: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>().map_err(|error| {
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        ConfigError::Syntax {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: error.message().trim().replace('\n', ", "),
        }
    })
}

/// Parses `a.b=c` into the table `{a = {b = c}}`. What is not a TOML value is a number or a bare word.
pub(super) fn parse_set(set: &str) -> Result<Table, ConfigError> {
    let malformed = || ConfigError::NotASetting(set.to_string());
    let (key, value) = set.split_once('=').ok_or_else(malformed)?;
    let (parts, value) = (key.split('.').map(str::trim), value.trim());
    if value.is_empty() || parts.clone().any(str::is_empty) {
        return Err(malformed());
    }
    // Rust reads `5.` and `.5`, which TOML does not.
    let value = (value.parse::<Value>().ok())
        .or_else(|| value.parse().ok().map(Value::Float))
        .unwrap_or_else(|| Value::String(value.to_string()));
    let nested =
        parts.rev().fold(value, |inner, part| Value::Table(Table::from_iter([(part.to_string(), inner)])));
    match nested {
        Value::Table(table) => Ok(table),
        _ => Err(malformed()),
    }
}

/// The task a complete config names.
pub(super) fn task_of<'a>(table: &'a Table, tasks: &Tasks) -> Result<&'a str, ConfigError> {
    match table.get("task") {
        None => Err(ConfigError::MissingTask(tasks.names())),
        Some(Value::String(task)) => Ok(task),
        Some(other) => Err(ConfigError::Type {
            key: "task".to_string(),
            value: shown(other),
            wanted: "a string",
            example: tasks.iter().next().map_or_else(String::new, |task| format!("{:?}", task.name)),
        }),
    }
}

/// The method a complete config names, if it names one.
pub(super) fn method_of(table: &Table) -> Option<&str> {
    table.get("method")?.get("name")?.as_str()
}

/// Keys of `train` that configs of earlier versions have.
const FORMER: [&str; 3] = ["crowd", "swarms", "balance"];

/// Gives a config that was written before a key existed the value that says the same, and drops settings of
/// training that are no more: they do not matter to a policy that is trained.
pub(super) fn add_later_keys(given: &mut Table, preset: &Table) {
    if let Some(Value::Table(train)) = given.get_mut("train") {
        FORMER.iter().for_each(|key| drop(train.remove(*key)));
    }
    let one = || Value::Float(1.0);
    // these two are keys of some tasks only
    let has =
        |section: &str, key: &str| preset.get(section).is_some_and(|section| section.get(key).is_some());
    let target = has("observe", "target").then_some(("observe", "target", Value::Boolean(false)));
    let starts = has("actuation", "starts");
    let starts = starts.then(|| ("actuation", "starts", Value::String("square".to_string())));
    for (section, key, value) in [
        ("train", "step_clip", Value::Float(0.0)),
        ("train", "scatter", Value::Float(0.0)),
        ("train", "fewer", Value::Float(0.0)),
        ("train", "hold", Value::Float(0.0)),
        ("train", "hold_weight", one()),
        ("train", "failure", Value::Array(vec![Value::Float(0.0), Value::Float(0.0)])),
        ("policy", "head_scale", one()),
        ("policy", "share", Value::String("none".to_string())),
        ("observe", "gradient", Value::Boolean(true)),
        ("observe", "crowd", Value::Boolean(false)),
        ("observe", "crowd_ref", one()),
        ("observe", "crowd_limit", Value::Float(0.0)),
        ("failure", "seen", Value::Boolean(true)),
    ]
    .into_iter()
    .chain(target)
    .chain(starts)
    {
        if let Some(Value::Table(section)) = given.get_mut(section) {
            section.entry(key).or_insert(value);
        }
    }
    *given = with_unwritten(std::mem::take(given));
}

/// Adds the keys that are not written down where they have their default: some of baselines, some of
/// training.
pub(super) fn with_unwritten(mut given: Table) -> Table {
    if let Some(Value::Table(train)) = given.get_mut("train") {
        train.entry("validate_every").or_insert(Value::Integer(0));
        train.entry("validation_cases").or_insert(Value::Integer(0));
        train.entry("extended_at").or_insert(Value::Array(Vec::new()));
        train.entry("more").or_insert(Value::Float(0.0));
        train.entry("failure_from").or_insert(Value::String("random".to_string()));
    }
    if let Some(Value::Table(policy)) = given.get_mut("policy") {
        policy.entry("rest").or_insert(Value::Boolean(false));
    }
    if let Some(Value::Table(method)) = given.get_mut("method")
        && (method.contains_key("on_policy") || method.contains_key("off_policy"))
    {
        method.entry("critic_energy").or_insert(Value::Boolean(false));
        if let Some(Value::Table(off_policy)) = method.get_mut("off_policy") {
            off_policy.entry("together").or_insert(Value::Float(0.0));
        }
    }
    given
}

/// Checks that `given` has every key of `preset`.
pub(super) fn require_all_keys(preset: &Table, given: &Table) -> Result<(), ConfigError> {
    for (key, default) in leaves(preset) {
        if find(given, &key).is_none() {
            let task = preset.get("task").and_then(Value::as_str).unwrap_or_default().to_string();
            return Err(ConfigError::MissingKey { key, task, default: shown(default) });
        }
    }
    Ok(())
}

/// Replaces values of `base` by those of `over`.
pub(crate) fn overlay(base: &mut Table, over: Table) -> Result<(), ConfigError> {
    let schema = base.clone();
    overlay_section(base, over, "", &schema)
}

fn overlay_section(base: &mut Table, over: Table, section: &str, schema: &Table) -> Result<(), ConfigError> {
    for (name, new) in over {
        let key = join(section, &name);
        match (base.get_mut(&name), new) {
            (None, new) => return Err(unknown_key(schema, first_leaf(&key, &new))),
            (Some(Value::Table(old)), Value::Table(new)) => overlay_section(old, new, &key, schema)?,
            (Some(Value::Table(old)), new) => {
                return Err(ConfigError::Section {
                    section: key,
                    value: shown(&new),
                    example: old.keys().next().cloned().unwrap_or_default(),
                });
            }
            (Some(old), new) => *old = coerce(&key, old, new)?,
        }
    }
    Ok(())
}

/// `new` as a value of the type of `old`.
fn coerce(key: &str, old: &Value, new: Value) -> Result<Value, ConfigError> {
    match (old, new) {
        (Value::Float(_), Value::Integer(new)) => Ok(Value::Float(new as f64)),
        (Value::Integer(_), Value::Integer(new)) if new < 0 => Err(ConfigError::Range {
            key: key.to_string(),
            value: new.to_string(),
            allowed: "0 or more".to_string(),
        }),
        (Value::String(asked), Value::String(found)) if key == "task" && *asked != found => {
            Err(ConfigError::OtherTask { found, asked: asked.clone() })
        }
        (Value::String(asked), Value::String(found)) if key == "method.name" && *asked != found => {
            Err(ConfigError::Choice { key: key.to_string(), value: found, allowed: format!("{asked:?}") })
        }
        // a list of floats is a range, which has two ends; a list of integers may have any length
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() || !is_range(old) => {
            let first = old.first().unwrap_or(&Value::Integer(1));
            new.into_iter().map(|new| coerce(key, first, new)).collect::<Result<_, _>>().map(Value::Array)
        }
        (old, new) if old.same_type(&new) && !old.is_array() => Ok(new),
        (old, new) => Err(ConfigError::Type {
            key: key.to_string(),
            value: shown(&new),
            wanted: match old {
                Value::Integer(_) => "a whole number",
                Value::Float(_) => "a number",
                Value::Boolean(_) => "true or false",
                Value::Array(old) if is_range(old) => "a list of two numbers",
                Value::Array(_) => "a list of whole numbers",
                _ => "a string",
            },
            example: shown(old),
        }),
    }
}

/// An empty list is one of whole numbers.
fn is_range(list: &[Value]) -> bool {
    list.first().is_some_and(Value::is_float)
}

fn unknown_key(schema: &Table, key: String) -> ConfigError {
    let task = schema.get("task").and_then(Value::as_str).unwrap_or_default();
    let nearest =
        leaves(schema).into_iter().map(|(valid, _)| valid).min_by_key(|valid| unlikeness(&key, valid));
    let others: Vec<&str> = Tasks::built_in()
        .iter()
        .filter(|other| other.table().is_ok_and(|preset| find(&preset, &key).is_some()))
        .map(|other| other.name.as_str())
        .collect();
    let elsewhere = match others.as_slice() {
        [] => String::new(),
        others => format!(" (it is a key of {})", others.join(", ")),
    };
    ConfigError::UnknownKey {
        task: task.to_string(),
        nearest: nearest.expect("every preset has the keys that all tasks have"),
        elsewhere,
        key,
    }
}

/// How far `given` is from the key `valid`, in half edits. A forgotten section costs nothing, and a wrong
/// section less than two edits, because people remember the name of a key better than its place.
fn unlikeness(given: &str, valid: &str) -> usize {
    let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_string();
    let edits = 2 * strsim::damerau_levenshtein(given, valid);
    if !given.contains('.') {
        edits.min(2 * strsim::damerau_levenshtein(given, &name(valid)))
    } else if name(given) == name(valid) {
        edits.min(3)
    } else {
        edits
    }
}

/// All keys with their values, in order.
pub(super) fn leaves(table: &Table) -> Vec<(String, &Value)> {
    fn collect<'a>(table: &'a Table, section: &str, found: &mut Vec<(String, &'a Value)>) {
        for (name, value) in table {
            match value {
                Value::Table(inner) => collect(inner, &join(section, name), found),
                _ => found.push((join(section, name), value)),
            }
        }
    }
    let mut found = Vec::new();
    collect(table, "", &mut found);
    found
}

/// The value of a dotted key.
fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// The full key of the first value inside `value`.
fn first_leaf(key: &str, value: &Value) -> String {
    match value.as_table().and_then(|table| table.iter().next()) {
        Some((name, inner)) => first_leaf(&join(key, name), inner),
        None => key.to_string(),
    }
}

fn join(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_string() } else { format!("{section}.{name}") }
}

fn shown(value: &Value) -> String {
    shown_value(value).0
}
