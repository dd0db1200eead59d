//! What a page shows is what the engine computes.

use cinoc_adjoint::Threads;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool};
use cinoc_view::library::Library;
use cinoc_view::protocol::{Event, Header, Setup, What};
use cinoc_view::simulation::Simulation;

/// The numbers of a frame: step, error on the left, field on the left, places on the left.
struct Shown {
    step: u32,
    error: f32,
    z: Vec<f32>,
    xi: Vec<f32>,
    bytes: Vec<u8>,
}

fn shown(simulation: &mut Simulation) -> Shown {
    let mut bytes = Vec::new();
    simulation.frame(&mut bytes);
    let word = |at: usize| <[u8; 4]>::try_from(&bytes[4 * at..4 * at + 4]).unwrap();
    let number = |at: usize| f32::from_le_bytes(word(at));
    let count = |at: usize| u32::from_le_bytes(word(at)) as usize;
    let (points, agents, parts) = (count(5), count(6), count(7));
    let dims = simulation.scene().dims;
    let numbers: Vec<f32> = (Header::LENGTH..bytes.len() / 4).map(number).collect();
    let there = if parts & 1 == 1 { dims * agents } else { 0 };
    let (step, error) = (count(0) as u32, number(1));
    let (z, xi) = (numbers[..points].to_vec(), numbers[points..points + there].to_vec());
    // the time of a decision differs from run to run
    bytes[16..20].fill(0);
    Shown { step, error, z, xi, bytes }
}

fn setup(task: &str) -> Setup {
    serde_json::from_str(&format!(r#"{{"task":"{task}","policy":"{task}"}}"#)).unwrap()
}

fn library() -> Library {
    Library::new(Vec::new()).unwrap()
}

fn set(key: &str, value: f64) -> Event {
    Event { step: 0, what: What::Set(key.into(), value) }
}

/// The trajectory that an evaluation of the policy has, for a case.
fn evaluated(task: &str, sets: &[&str], case: usize, steps: usize) -> (Vec<f32>, Vec<f64>) {
    let library = library();
    let policy = &library.find(task).unwrap().policy();
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let config = policy.config.with_sets(&sets).unwrap();
    let threads = Threads::one();
    let cases = Cases::draw(&policy.config, 0, Pool::Validation, case + 1, &threads, &|_, _| {});
    let closed = ClosedLoop::<f32>::observed(&config, 1);
    let batch = closed.batch(&cases, &[case], Disturbance::evaluation(0, case));
    let ran = closed.forward(&policy.params, &batch, &threads);
    let size = config.state_size();
    (ran.z()[(steps - 1) * size..steps * size].to_vec(), ran.error(0))
}

#[test]
fn a_page_shows_the_trajectory_of_an_evaluation_bit_by_bit() {
    for (task, agents, steps) in [("heat1d", 12, 40), ("ks1d", 8, 20), ("heat2d-obstacles", 16, 10)] {
        let wanted = Setup { case: 2, agents: Some(agents), ..setup(task) };
        let mut simulation = Simulation::new(wanted, &library()).unwrap();
        (0..steps).for_each(|_| simulation.advance());
        let shown = shown(&mut simulation);
        let (z, errors) = evaluated(task, &[&format!("agents={agents}")], 2, steps);
        assert_eq!((shown.step as usize, f64::from(shown.error)), (steps, errors[steps - 1]), "{task}");
        assert!(shown.z == z, "{task}: the fields differ");
    }
}

#[test]
fn noise_and_failures_are_those_of_an_evaluation() {
    let fail = Event { step: 0, what: What::Fail(0.25) };
    let events = vec![set("noise.sensor", 0.05), set("noise.actuator", 0.1), fail];
    let mut simulation = Simulation::new(Setup { events, ..setup("heat1d") }, &library()).unwrap();
    (0..30).for_each(|_| simulation.advance());
    let sets = ["noise.sensor=0.05", "noise.actuator=0.1", "failure.share=0.25", "failure.step=0"];
    let (z, _) = evaluated("heat1d", &sets, 0, 30);
    assert!(shown(&mut simulation).z == z);
}

#[test]
fn what_happened_happens_again_from_a_link() {
    let library = library();
    let mut first = Simulation::new(setup("fkpp1d"), &library).unwrap();
    let mut happened = Vec::new();
    let what = [
        What::Kill(3),
        What::Move(5, [0.37, 0.0]),
        What::Add([0.9, 0.0]),
        What::Disturb([0.5, 0.0], 0.4),
        What::Set("noise.sensor".into(), 0.01),
        What::Agents(7),
        What::Fail(0.3),
        What::Revive(2),
    ];
    for what in what {
        (0..5).for_each(|_| first.advance());
        happened.push(first.happen(what).unwrap().0);
    }
    first.advance();
    // a link is text
    let again = Setup { events: happened, ..setup("fkpp1d") };
    let again: Setup = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
    let mut again = Simulation::new(again, &library).unwrap();
    (0..41).for_each(|_| again.advance());
    assert_eq!(shown(&mut first).bytes, shown(&mut again).bytes);
}

#[test]
fn every_event_does_what_it_says() {
    let mut simulation = Simulation::new(setup("heat1d"), &library()).unwrap();
    let before = shown(&mut simulation);
    assert_eq!(before.xi.len(), 8);
    simulation.happen(What::Move(0, [0.1, 0.0])).unwrap();
    assert_eq!(shown(&mut simulation).xi[0], 0.1);
    simulation.happen(What::Disturb([0.5, 0.0], 0.5)).unwrap();
    let disturbed = shown(&mut simulation);
    let rise = disturbed.z.iter().zip(&before.z).map(|(a, b)| a - b).fold(0.0f32, f32::max);
    assert!(rise > 0.1, "{rise}");
    let (_, changed) = simulation.happen(What::Add([0.7, 0.0])).unwrap();
    assert!(changed && simulation.scene().agents == 9);
    let more = shown(&mut simulation);
    assert_eq!((more.xi.len(), more.xi[8]), (9, 0.7));
    simulation.happen(What::Set("physics.nu".into(), 0.3)).unwrap();
    let scene = simulation.scene();
    let nu = scene.settings.iter().find(|setting| setting.key == "physics.nu").unwrap();
    assert_eq!((nu.value, nu.trained), (0.3, 0.2));
    assert_eq!(shown(&mut simulation).z, more.z, "the field stays where it is");
    // silent agents do nothing: with all of them silent the panes agree
    let mut silent = Simulation::new(setup("heat1d"), &library()).unwrap();
    silent.happen(What::Fail(1.0)).unwrap();
    (0..10).for_each(|_| silent.advance());
    let bare = Setup { policy: None, ..setup("heat1d") };
    let mut bare = Simulation::new(bare, &library()).unwrap();
    (0..10).for_each(|_| bare.advance());
    assert_eq!(shown(&mut silent).z, shown(&mut bare).z);
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let library = library();
    let mut simulation = Simulation::new(setup("heat1d"), &library).unwrap();
    let before = shown(&mut simulation).bytes;
    let wrong = [
        What::Kill(8),
        What::Revive(usize::MAX),
        What::Move(0, [f32::NAN, 0.0]),
        What::Add([f32::INFINITY, 0.0]),
        What::Disturb([0.5, 0.0], f32::NAN),
        What::Disturb([0.5, 0.0], 1e9),
        What::Agents(0),
        What::Agents(1_000_000),
        What::Fail(1.5),
        What::Fail(f64::NAN),
        What::Set("train.lr".into(), 0.1),
        What::Set("physics.nu".into(), -1.0),
        What::Set("physics.nu".into(), f64::NAN),
        What::Set("noise.sensor=0.1\nagents".into(), 3.0),
    ];
    for what in wrong {
        let refused = simulation.happen(what.clone());
        assert!(refused.is_err_and(|reason| !reason.0.is_empty()), "{what:?}");
    }
    assert_eq!(shown(&mut simulation).bytes, before);
    let bad = [
        Setup { task: "nothing".into(), ..setup("heat1d") },
        Setup { policy: Some("../../etc/passwd".into()), ..setup("heat1d") },
        Setup { policy: Some("ks1d".into()), ..setup("heat1d") },
        Setup { agents: Some(0), ..setup("heat1d") },
        Setup { refine: 99, ..setup("heat1d") },
        Setup { case: usize::MAX, ..setup("heat1d") },
    ];
    for setup in bad {
        assert!(Simulation::new(setup.clone(), &library).is_err(), "{setup:?}");
    }
}

#[test]
fn all_shipped_policies_run_and_two_can_stand_side_by_side() {
    let library = library();
    for offered in &library.offered {
        let config: &Config = &offered.policy().config;
        let steps = if config.task.dims == 1 { 5 } else { 1 };
        let beside = Setup { beside: Some(offered.name.clone()), ..setup(&offered.name) };
        // turbulence needs a long spin-up: it is tried in the browser
        if offered.name == "turb2d" {
            continue;
        }
        let mut simulation = Simulation::new(beside, &library).unwrap();
        (0..steps).for_each(|_| simulation.advance());
        assert!(simulation.finite(), "{}", offered.name);
    }
}

#[test]
fn a_finer_grid_shows_the_same_case() {
    let library = library();
    let mut coarse = Simulation::new(setup("heat1d"), &library).unwrap();
    let mut fine = Simulation::new(Setup { refine: 2, ..setup("heat1d") }, &library).unwrap();
    assert_eq!(shown(&mut fine).z.len(), 2 * (shown(&mut coarse).z.len() - 1) + 1);
    (0..20).for_each(|_| [&mut coarse, &mut fine].into_iter().for_each(Simulation::advance));
    let (a, b) = (shown(&mut coarse).error, shown(&mut fine).error);
    assert!((a - b).abs() < 0.1 * a, "{a} and {b}");
}
