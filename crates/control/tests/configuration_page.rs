//! docs/configuration.md says what the table of keys and the presets say.
//!
//! `CINOC_ACCEPT=1 cargo test -p cinoc-control --test configuration_page` writes its tables again.

use cinoc_control::Tasks;
use cinoc_control::config::{KEYS, Key, Range};
use toml::{Table, Value};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
const BEGIN: &str = "<!-- tables made from the keys: CINOC_ACCEPT=1 cargo test -p cinoc-control --test configuration_page -->\n";
const END: &str = "<!-- end of the tables -->\n";

/// Tasks in the order people meet them.
const TASKS: [&str; 8] =
    ["fkpp1d", "heat1d", "ks1d", "heat2d", "heat2d-obstacles", "ks2d", "turb2d", "density2d"];

/// Sections of a config with their titles.
const SECTIONS: [(&str, &str); 12] = [
    ("", "Top level"),
    ("grid", "`[grid]`: space"),
    ("time", "`[time]`"),
    ("physics", "`[physics]`: coefficients of the equation"),
    ("actuation", "`[actuation]`: what an agent does"),
    ("observe", "`[observe]`: what an agent sees"),
    ("policy", "`[policy]`: the network"),
    ("noise", "`[noise]`: fresh in every control step"),
    ("failure", "`[failure]`: agents that stop working"),
    ("data", "`[data]`: cases"),
    ("loss", "`[loss]`: weights; a term of weight 0 is not computed"),
    ("safety", "`[safety]`: distances of mobile agents"),
];
const LATER: [(&str, &str); 3] = [
    ("obstacles", "`[obstacles]`: discs that agents may not enter"),
    ("train", "`[train]`: the optimisation"),
    (
        "method",
        "`[method]`: baselines; keys of `on_policy` are of PPO and MAPPO, of `off_policy` of TD3 and MATD3",
    ),
];

fn value<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "-".to_string(),
        Some(Value::String(word)) => format!("`{word}`"),
        Some(Value::Float(number)) if number.fract() == 0.0 && number.abs() < 1e6 => format!("{number:.0}"),
        Some(Value::Float(number)) if number.abs() < 1e-3 => format!("{number:e}"),
        Some(Value::Array(list)) => {
            let list: Vec<String> = list.iter().map(|value| shown(Some(value))).collect();
            format!("[{}]", list.join(", "))
        }
        Some(other) => other.to_string(),
    }
}

fn kind(key: &Key, value: Option<&Value>) -> &'static str {
    match (key.range, value) {
        (Range::Words(_), _) | (_, Some(Value::String(_))) => "word",
        (Range::Counts(_) | Range::Increasing, _) => "list of counts",
        (Range::Interval, _) | (_, Some(Value::Array(_))) => "two numbers",
        (Range::AtLeast(_), _) | (_, Some(Value::Integer(_))) => "count",
        (_, Some(Value::Boolean(_))) => "true/false",
        _ => "number",
    }
}

fn range(key: &Key) -> String {
    match key.range {
        Range::Any => String::new(),
        Range::Positive => "above 0".to_string(),
        Range::NonNegative => "0 or more".to_string(),
        Range::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn tables() -> String {
    let presets: Vec<Table> = TASKS
        .iter()
        .map(|name| Tasks::built_in().find(name).unwrap().config().unwrap().listing().parse().unwrap())
        .collect();
    let mut text = String::from(BEGIN);
    for (section, title) in SECTIONS.into_iter().chain(LATER) {
        let of_section = |key: &&Key| key.name.split_once('.').map_or("", |(section, _)| section) == section;
        let keys: Vec<&Key> = KEYS.iter().filter(of_section).collect();
        text.push_str(&format!(
            "\n## {title}\n\n| key | type | unit | range | meaning |\n|---|---|---|---|---|\n"
        ));
        for key in &keys {
            let known = presets.iter().find_map(|preset| value(preset, key.name));
            let meaning = key.meaning.replace('|', "\\|");
            let (kind, range) = (kind(key, known), range(key));
            text.push_str(&format!("| `{}` | {kind} | {} | {range} | {meaning} |\n", key.name, key.unit));
        }
        if section == "method" {
            continue;
        }
        text.push_str(&format!(
            "\nDefaults:\n\n| key | {} |\n|---{}|\n",
            TASKS.join(" | "),
            "|---".repeat(8)
        ));
        for key in keys {
            let row: Vec<String> = presets.iter().map(|preset| shown(value(preset, key.name))).collect();
            text.push_str(&format!("| `{}` | {} |\n", key.name, row.join(" | ")));
        }
    }
    text + "\n" + END
}

#[test]
fn the_page_of_settings_is_what_the_keys_say() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (begin, end) = (page.find(BEGIN).expect("a begin mark"), page.find(END).expect("an end mark"));
    let expected = format!("{}{}{}", &page[..begin], tables(), &page[end + END.len()..]);
    if std::env::var_os("CINOC_ACCEPT").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
    } else {
        assert!(
            page == expected,
            "docs/configuration.md is out of date; the head of this test says what to do"
        );
    }
}

#[test]
fn every_key_of_every_preset_is_in_the_table_and_the_other_way_round() {
    let mut used = std::collections::BTreeSet::new();
    for task in Tasks::built_in().iter() {
        let listing = task.config().unwrap().listing();
        assert!(
            listing.lines().filter(|line| line.contains(" = ")).all(|line| line.contains('#')),
            "{listing}"
        );
        let table: Table = listing.parse().unwrap();
        used.extend(KEYS.iter().filter(|key| value(&table, key.name).is_some()).map(|key| key.name));
    }
    for key in KEYS.iter().filter(|key| !key.name.starts_with("method.")) {
        assert!(used.contains(key.name), "no task has {}", key.name);
    }
    let mut names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KEYS.len(), "a key stands twice in the table");
}
