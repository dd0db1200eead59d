//! Short trainings and rollouts of every task give the bits they gave when the results were made.
//!
//! `numerics.toml` holds a hash of each. As long as they agree, results and cached measurements are of this
//! code. If a change is meant to change numbers, accept it:
//!
//! ```text
//! CINOC_ACCEPT=1 cargo test -p cinoc-lab --test numerics
//! ```
//!
//! That writes the new hashes under a new identity, and everything measured before counts as stale. If a
//! preset changed and the code did not, say `CINOC_ACCEPT=presets`: the identity stays, because every
//! measurement is known by all its settings.

use cinoc_adjoint::{Isa, Threads};
use cinoc_control::Tasks;
use cinoc_control::config::{Preset, methods};
use cinoc_control::{Cases, Config, Pool};
use cinoc_learn::evaluate::controlled;
use cinoc_learn::files::fnv1a;
use cinoc_learn::learner::learner;
use cinoc_learn::team::Team;
use toml::{Table, Value};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/numerics.toml");

/// Two updates of a small training, with all that may happen to its agents, then rollouts of its policy under
/// noise and failures.
fn bits(task: &str, preset: Preset, method: &str) -> String {
    let sets = ["time.steps=6", "train.updates=2", "train.batch=4", "data.pool=8"].map(String::from);
    let config = Config::resolve_method(task, preset, method, None, &sets).unwrap();
    let threads = Threads::new(2).unwrap();
    let draw = |pool, count| Cases::draw(&config, 0, pool, count, &threads, &|_, _| {});
    let mut learner =
        learner(&config, None, draw(Pool::Training, config.data.pool), &threads, &Team::alone());
    let mut seen = Vec::new();
    while learner.updates() < config.train.updates {
        let update = learner.update().unwrap();
        seen.extend([update.loss, update.gradient_norm].map(f64::to_bits));
    }
    seen.extend(learner.params().iter().map(|p| u64::from(p.to_bits())));
    let disturbed = ["noise.sensor=0.01", "noise.actuator=0.01", "failure.share=0.3", "failure.step=2"];
    let harder = config.with_sets(&disturbed.map(String::from)).unwrap();
    let test = draw(Pool::Test, 2);
    for circumstances in [&config, &harder] {
        let rollouts = controlled(circumstances, learner.params(), &test, &threads).unwrap();
        seen.extend((0..test.count).flat_map(|case| rollouts.error(case)).map(f64::to_bits));
    }
    let bytes: Vec<u8> = seen.into_iter().flat_map(u64::to_le_bytes).collect();
    format!("{:016x}", fnv1a(&bytes))
}

fn now() -> Table {
    let mut found = Table::new();
    let mut note = |name: String, bits: String| found.insert(name, Value::String(bits));
    for task in Tasks::built_in().iter() {
        note(format!("{} default", task.name), bits(&task.name, Preset::Default, "cinoc"));
        note(format!("{} paper", task.name), bits(&task.name, Preset::Paper, "cinoc"));
    }
    for method in methods().iter().filter(|method| method.name != "cinoc") {
        note(format!("heat1d {}", method.name), bits("heat1d", Preset::Default, method.name));
    }
    found
}

#[test]
fn short_trainings_and_rollouts_give_the_bits_behind_the_results() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let mut kept: Table = text.parse().unwrap();
    let (isa, found) = (Isa::best().name(), now());
    let known = kept.get(isa).and_then(Value::as_table).cloned();
    if known.as_ref() == Some(&found) {
        return;
    }
    let accepted = std::env::var_os("CINOC_ACCEPT");
    if accepted.is_none() {
        // the last digits differ between instruction sets; without hashes for this one there is nothing to
        // compare
        let Some(known) = known else { return };
        let differs = found.iter().filter(|(name, bits)| known.get(*name) != Some(bits));
        let differs: Vec<&str> = differs.map(|(name, _)| name.as_str()).collect();
        panic!("other bits than before: {}; the head of this file says what to do", differs.join(", "));
    }
    if known.is_some() && accepted.is_none_or(|what| what != "presets") {
        let identity = fnv1a(found.to_string().as_bytes());
        kept = Table::from_iter([("identity".to_string(), Value::String(format!("{identity:016x}")))]);
    }
    kept.insert(isa.to_string(), Value::Table(found));
    let head: String =
        text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    std::fs::write(FILE, format!("{head}{kept}")).unwrap();
}
