//! Recorded decisions: what a policy must decide in given situations, to be replayed on another machine.
//!
//! The situations are those of a closed loop that somebody interferes with: fields on their way to targets,
//! any number of agents up to a maximum, of which some fail. The decisions are made in double precision; who
//! replays them in single precision comes close. The format is for a program of a few lines of C
//! (`crates/capi/selftest.c`): no text, no tables, all numbers little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `CINOCDEC` |
//! | u32 | version, 1 |
//! | u32 | number of decisions |
//! | u32 | most agents of any decision |
//! | u32 | axes of the domain |
//! | u32 | numbers of a field |
//! | u32 | 1 if agents have intensities, plus 2 if they move |
//! | u64 | FNV-1a of the bytes of the policy file |
//! | per decision | u32 agents; f32 target, field; f32 positions `[agents][axes]`; u8 alive `[agents]`; f32 intensities `[agents]`, if there are any; f32 velocities `[agents][axes]`, if agents move |
//! | u64 | FNV-1a of everything before it |

use cinoc_adjoint::Threads;
use cinoc_control::agents::start_positions;
use cinoc_control::live::{LiveLoop, LiveState};
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, Config, Decision, Pool};
use rand::Rng;

use crate::files::fnv1a;
use crate::policy_file::PolicyFile;

/// Decisions in one loop: of one case, with one number of agents.
const PER_LOOP: usize = 8;

/// Control steps between two of them.
const STRIDE: usize = 6;

/// A situation and what was decided in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What the field should become.
    pub target: Vec<f32>,
    /// The field.
    pub z: Vec<f32>,
    /// Positions, `[agents][axes]`.
    pub xi: Vec<f32>,
    /// Who works.
    pub alive: Vec<bool>,
    /// Intensities; empty if agents have none.
    pub u: Vec<f32>,
    /// Velocities, `[agents][axes]`; empty if agents do not move.
    pub v: Vec<f32>,
}

/// Records `count` decisions of 1 to `config.agents` agents. The same settings give the same situations.
pub fn record(policy: &PolicyFile, config: &Config, count: usize) -> Vec<Recorded> {
    let mut config = config.clone();
    config.data.limit_spin_up(20.0);
    (config.noise.sensor, config.noise.actuator) = (0.0, 0.0);
    let loops = count.div_ceil(PER_LOOP);
    let cases = Cases::draw(&config, 0, Pool::Validation, loops, &Threads::one(), &|_, _| {});
    let params: Vec<f64> = policy.params.iter().map(|&p| f64::from(p)).collect();
    let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let mut recorded = Vec::new();
    for case in 0..loops {
        let mut rng = stream(0, Purpose::Checks, case as u64);
        let agents = match case {
            _ if config.centralised() => config.agents,
            0 => config.agents,
            1 => 1,
            _ => rng.random_range(1..=config.agents),
        };
        let config = Config { agents, ..config.clone() };
        let start = LiveState { z: single(cases.z0(case)), xi: single(&start_positions(&config)) };
        let target = single(cases.zt(case));
        let mut live = LiveLoop::controlled(&config, &policy.params, &start, &target);
        let decision = Decision::<f64>::with_failures(&config);
        let mut controller = decision.controller(&params, &double(&target));
        let mut alive = vec![true; agents];
        for k in 0..PER_LOOP.min(count - recorded.len()) {
            if k == PER_LOOP / 2 {
                alive.iter_mut().for_each(|alive| *alive = rng.random_bool(2.0 / 3.0));
            }
            let (z, xi) = (live.z(), live.xi().unwrap_or_else(|| start.xi.clone()));
            let weights: Vec<f64> = alive.iter().map(|&alive| f64::from(u8::from(alive))).collect();
            let decided = controller.decide_with_failures(&double(&z), &double(&xi), &weights);
            recorded.push(Recorded {
                u: decided.u.map(single).unwrap_or_default(),
                v: by_agent(&decided.v.map(single).unwrap_or_default(), agents),
                xi: by_agent(&xi, agents),
                target: target.clone(),
                alive: alive.clone(),
                z,
            });
            let works: Vec<f32> = alive.iter().map(|&alive| f32::from(u8::from(alive))).collect();
            (0..STRIDE).for_each(|_| live.step(&works, &|_| Vec::new()));
        }
    }
    recorded
}

fn double(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

/// From `[axes][agents]` to `[agents][axes]`.
fn by_agent(values: &[f32], agents: usize) -> Vec<f32> {
    (0..agents).flat_map(|agent| values.iter().skip(agent).step_by(agents).copied()).collect()
}

/// The bytes of a file with decisions of a policy, whose own file has these bytes.
pub fn to_bytes(recorded: &[Recorded], config: &Config, policy: &[u8]) -> Vec<u8> {
    let bounds = &config.actuation;
    let has = u32::from(bounds.u_max.is_some()) + 2 * u32::from(bounds.v_max.is_some());
    let head = [1, recorded.len(), config.agents, config.task.dims, config.state_size()].map(|n| n as u32);
    let mut bytes = b"CINOCDEC".to_vec();
    head.into_iter().chain([has]).for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend(fnv1a(policy).to_le_bytes());
    for Recorded { target, z, xi, alive, u, v } in recorded {
        bytes.extend((alive.len() as u32).to_le_bytes());
        let numbers = |bytes: &mut Vec<u8>, values: &[f32]| {
            values.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        };
        [target, z, xi].into_iter().for_each(|values| numbers(&mut bytes, values));
        bytes.extend(alive.iter().map(|&alive| u8::from(alive)));
        [u, v].into_iter().for_each(|values| numbers(&mut bytes, values));
    }
    bytes.extend(fnv1a(&bytes).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_control::policy::initial_params;

    fn policy(task: &str) -> PolicyFile {
        let config = Config::preset(task).unwrap();
        let params = initial_params(&config, &mut stream(1, Purpose::Parameters, 0));
        PolicyFile { params: params.iter().map(|&p| p as f32).collect(), config }
    }

    #[test]
    fn situations_differ_and_decisions_are_bounded() {
        for task in ["heat1d", "ks1d", "density2d"] {
            let policy = policy(task);
            let recorded = record(&policy, &policy.config, 20);
            assert_eq!(recorded.len(), 20);
            let dims = policy.config.task.dims;
            for decision in &recorded {
                let agents = decision.alive.len();
                assert_eq!(decision.xi.len(), agents * dims, "{task}");
                assert!([0, agents].contains(&decision.u.len()), "{task}");
                assert!([0, agents * dims].contains(&decision.v.len()), "{task}");
                assert!(decision.u.iter().chain(&decision.v).all(|x| x.is_finite()), "{task}");
                for (i, _) in decision.alive.iter().enumerate().filter(|(_, alive)| !**alive) {
                    assert!(decision.u.is_empty() || decision.u[i] == 0.0, "{task}");
                    assert!(decision.v.iter().skip(i * dims).take(dims).all(|&v| v == 0.0), "{task}");
                }
            }
            let agents: Vec<usize> = recorded.iter().map(|decision| decision.alive.len()).collect();
            assert!(agents[0] == policy.config.agents && agents[8] == 1, "{task}: {agents:?}");
            assert_ne!(recorded[0].z, recorded[1].z);
            assert!(recorded.iter().any(|decision| decision.alive.contains(&false)), "{task}");
            assert_eq!(recorded, record(&policy, &policy.config, 20));
        }
    }

    #[test]
    fn a_file_has_the_bytes_that_its_head_promises() {
        let policy = policy("heat1d");
        let recorded = record(&policy, &policy.config, 3);
        let bytes = to_bytes(&recorded, &policy.config, b"the policy");
        assert_eq!(&bytes[..12], b"CINOCDEC\x01\0\0\0");
        let decision = 4 + 4 * (100 + 100 + 8) + 8 + 4 * (8 + 8);
        assert_eq!(bytes.len(), 8 + 6 * 4 + 8 + 3 * decision + 8);
        let (before, hash) = bytes.split_at(bytes.len() - 8);
        assert_eq!(hash, fnv1a(before).to_le_bytes());
    }
}
