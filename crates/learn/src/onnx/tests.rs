//! Whether files are graphs: read back, for every task, preset and part. Numbers are compared in other
//! runtimes, by `python/tests/test_onnx.py` and `scripts/test-tract`.

use std::collections::{BTreeMap, HashSet};

use cinoc_control::config::{Fusion, Preset, View};
use cinoc_control::policy::param_count;
use cinoc_control::{Config, Tasks};

use super::*;

/// A field of a message.
enum Field<'a> {
    Number,
    Bytes(&'a [u8]),
}

/// The fields of a message, with their numbers.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        all.push(match key & 7 {
            0 => (key >> 3, Field::Number),
            2 => {
                let (inside, rest) = bytes.split_at(value as usize);
                bytes = rest;
                (key >> 3, Field::Bytes(inside))
            }
            other => panic!("wire type {other}"),
        });
    }
    all
}

/// The bytes of a field that may be repeated.
fn all<'a>(message: &'a [u8], number: u64) -> Vec<&'a [u8]> {
    let inside = |(n, field): (u64, Field<'a>)| match field {
        Field::Bytes(bytes) if n == number => Some(bytes),
        _ => None,
    };
    fields(message).into_iter().filter_map(inside).collect()
}

fn texts(message: &[u8], number: u64) -> Vec<String> {
    all(message, number).into_iter().map(|text| String::from_utf8(text.to_vec()).unwrap()).collect()
}

fn numbered(config: Config) -> PolicyFile {
    let params = (0..param_count(&config)).map(|i| i as f32).collect();
    PolicyFile { config, params }
}

fn exported(policy: &PolicyFile, part: Part) -> Model {
    Model::new(policy, &policy.config, part).unwrap()
}

/// Every policy the library knows, and settings that no preset has.
fn policies() -> Vec<PolicyFile> {
    let mut all = Vec::new();
    for task in Tasks::built_in().iter() {
        for preset in [Preset::Default, Preset::Paper] {
            all.push(task.resolve(preset, "cinoc", None, &[]).unwrap());
        }
    }
    let mut unusual = Config::preset("heat2d").unwrap();
    unusual.observe.around = Around::Patch { patch: 12, view: View::Field };
    unusual.policy.softnorm = false;
    all.push(unusual);
    let mut unusual = Config::preset("heat1d").unwrap();
    unusual.policy.fusion = Fusion::Product;
    all.push(unusual);
    for task in ["heat1d", "heat2d", "ks2d"] {
        let mut unusual = Config::preset(task).unwrap();
        unusual.policy.rest = true;
        all.push(unusual);
    }
    all.into_iter().map(numbered).collect()
}

#[test]
fn every_value_is_there_before_it_is_used() {
    for policy in policies() {
        for part in [Part::Decision, Part::Network] {
            let model = exported(&policy, part);
            let graph = all(&model.bytes, 7)[0];
            let mut known: HashSet<String> = HashSet::new();
            for port in all(graph, 5).iter().flat_map(|tensor| texts(tensor, 8)) {
                assert!(known.insert(port.clone()), "{port} twice");
            }
            for port in all(graph, 11).iter().flat_map(|port| texts(port, 1)) {
                assert!(known.insert(port.clone()), "{port} twice");
            }
            let mut used = HashSet::new();
            for node in all(graph, 1) {
                for input in texts(node, 1) {
                    assert!(known.contains(&input), "{input} is used before it is there");
                    used.insert(input);
                }
                assert!(known.insert(texts(node, 2)[0].clone()));
            }
            let outputs: Vec<String> = all(graph, 12).iter().flat_map(|port| texts(port, 1)).collect();
            assert!(!outputs.is_empty() && outputs.iter().all(|name| known.contains(name)));
            used.extend(outputs);
            // at rest the head says its bias too, so the difference has none
            let needless = |name: &str| policy.config.policy.rest && name == "head.b";
            let idle: Vec<_> = known.difference(&used).filter(|name| !needless(name)).collect();
            assert!(idle.is_empty(), "{}, {part:?}: nobody uses {idle:?}", policy.config.task);
        }
    }
}

#[test]
fn the_parameters_stand_in_the_file_as_in_that_of_the_policy() {
    for policy in policies() {
        let model = exported(&policy, Part::Decision);
        let graph = all(&model.bytes, 7)[0];
        let constants: BTreeMap<String, Vec<u8>> = all(graph, 5)
            .into_iter()
            .map(|tensor| (texts(tensor, 8)[0].clone(), all(tensor, 9)[0].to_vec()))
            .collect();
        for (name, tensor) in &policy.to_tensors().tensors {
            let crate::files::Data::F32(numbers) = &tensor.data else { panic!("{name}") };
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            assert_eq!(constants[name], bytes, "{name}");
        }
    }
}

#[test]
fn a_file_is_hardly_larger_than_that_of_the_policy() {
    for policy in policies() {
        let (size, own) =
            (exported(&policy, Part::Decision).bytes.len(), policy.to_tensors().to_bytes().len());
        let ratio = size as f64 / own as f64;
        assert!(ratio <= 1.11, "{}: {ratio:.3} times {own} bytes", policy.config.task);
    }
}

#[test]
fn agents_that_do_not_know_each_other_need_not_be_alive() {
    for policy in policies() {
        let names: Vec<&str> =
            exported(&policy, Part::Decision).inputs.iter().map(|port| port.name).collect();
        let expected = ["z", "target", "xi", "alive"];
        assert_eq!(names, expected[..if policy.config.observe.crowd { 4 } else { 3 }]);
    }
}

#[test]
fn baselines_are_refused_by_name() {
    let config = Config::resolve_method("heat1d", Preset::Default, "ppo", None, &[]).unwrap();
    let error = Model::new(&numbered(config.clone()), &config, Part::Decision).unwrap_err().to_string();
    assert!(error.contains("a policy of the method ppo cannot be exported"), "{error}");
}

#[test]
fn the_same_policy_gives_the_same_bytes() {
    let policy = numbered(Config::preset("turb2d").unwrap());
    assert_eq!(exported(&policy, Part::Decision), exported(&policy, Part::Decision));
}
