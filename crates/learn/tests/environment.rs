//! A task as an environment is the closed loop with the policy taken out.

use cinoc_adjoint::{Inputs, Program, Session, Threads, Tracer};
use cinoc_control::config::Around;
use cinoc_control::config::Preset;
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, ClosedLoop, Config, Decision, Disturbance, Pool, agents::start_positions};
use cinoc_learn::rl::environment::Environment;
use cinoc_learn::rl::episodes::Episodes;
use cinoc_learn::rl::field::FieldEnvironment;
use cinoc_learn::rl::views::Views;

fn config(task: &str, sets: &[&str]) -> Config {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    Config::resolve_method(task, Preset::Default, "mappo", None, &sets).unwrap()
}

fn cases(config: &Config) -> Cases {
    Cases::draw(config, 0, Pool::Training, 1, &Threads::one(), &|_, _| {})
}

#[test]
fn an_episode_costs_what_the_closed_loop_says() {
    for task in ["heat1d", "ks1d", "density2d"] {
        let spin = if task == "ks1d" { vec!["time.steps=6", "data.spin_up=5"] } else { vec!["time.steps=6"] };
        let mut config = config(task, &spin);
        // terms of the last step alone count in every step of an environment
        config.loss.terminal = 0.0;
        config.loss.moment_end = config.loss.moment_end.map(|_| 0.0);
        let cases = cases(&config);
        let params: Vec<f32> = initial_params(&config, &mut stream(3, Purpose::Parameters, 0))
            .iter()
            .map(|&p| 3.0 * p as f32)
            .collect();

        // a policy decides, the environment does the rest
        let mut environment = FieldEnvironment::new(&config, cases.clone(), 1, 1, 16, &Threads::one());
        let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let decision = Decision::<f32>::new(&config);
        let mut controller = decision.controller(&params, &single(cases.zt(0)));
        let (points, agents) = (config.points(), config.agents);
        let start = single(&start_positions(&config));
        let mut rewards = Vec::new();
        for step in 0..6 {
            let state = environment.states().to_vec();
            let xi =
                if config.mobile() { state[state.len() - start.len()..].to_vec() } else { start.clone() };
            let decided = controller.decide(&state[..points], &xi);
            let bounds = &config.actuation;
            let mut actions: Vec<f32> = Vec::new();
            actions.extend(decided.u.unwrap_or(&[]).iter().map(|u| u / bounds.u_max.unwrap() as f32));
            actions.extend(decided.v.unwrap_or(&[]).iter().map(|v| v / bounds.v_max.unwrap() as f32));
            assert_eq!(actions.len(), environment.actions() * agents);
            let transition = environment.step(&actions);
            rewards.push(f64::from(transition.rewards[0]));
            assert_eq!((transition.truncated[0], transition.terminated[0]), (step == 5, false), "{task}");
            if step == 5 {
                // the state that was reached, not the one the next episode starts from
                assert_ne!(transition.next, environment.states());
                assert_eq!(environment.states()[..points], single(cases.z0(0)));
            } else {
                assert_eq!(transition.next, environment.states());
            }
        }
        let closed_loop = ClosedLoop::<f32>::new(&config, 1);
        let batch = closed_loop.batch(&cases, &[0], Disturbance::evaluation(0, 0));
        let trajectories = closed_loop.forward(&params, &batch, &Threads::one());
        // the loss is a mean over the steps, and of changes of velocity over all but the first
        let changes: f64 =
            ["accel", "smooth"].iter().filter_map(|name| trajectories.term(name)).map(|t| t[0]).sum();
        let weight = config.loss.accel.or(config.loss.smooth).unwrap_or(0.0);
        let loss = trajectories.loss(0) - weight * changes / 6.0;
        let first = first_change(&config, &trajectories, agents);
        let found = -rewards.iter().sum::<f64>() * environment.cost_unit() / 6.0 - weight * first / 6.0;
        assert!((found / loss - 1.0).abs() < 1e-4, "{task}: {found} instead of {loss}");
    }
}

/// An environment also counts how far the first velocity is from rest.
fn first_change(config: &Config, trajectories: &cinoc_control::Trajectories<f32>, agents: usize) -> f64 {
    let Some(v) = trajectories.v() else { return 0.0 };
    let size = v.len() / 6;
    assert_eq!(size, config.task.dims * agents);
    v[..size].iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / agents as f64
}

#[test]
fn actions_beyond_their_bounds_are_brought_to_them_and_held() {
    let config = config("heat1d", &["time.steps=12"]);
    let cases = cases(&config);
    let size = 2 * config.agents;
    let states = |hold: usize, action: f32, steps: usize| {
        let mut environment = FieldEnvironment::new(&config, cases.clone(), 1, hold, 16, &Threads::one());
        (0..steps).for_each(|_| drop(environment.step(&vec![action; size])));
        environment.states().to_vec()
    };
    assert_eq!(states(1, 5.0, 4), states(1, 1.0, 4));
    assert_eq!(states(2, 0.3, 2), states(1, 0.3, 4));
    assert_ne!(states(1, 0.3, 4), states(1, 1.0, 4));
}

#[test]
fn critics_are_told_the_mean_square_of_the_error_if_they_ask() {
    let told = |sets: &[&str]| {
        let config = config("heat1d", sets);
        let environment = FieldEnvironment::new(&config, cases(&config), 1, 1, 16, &Threads::one());
        let tracer = Tracer::new();
        let state = tracer.sequence("state", environment.state_size(), 1);
        let (global, state) = (tracer.record("global", environment.global(state)), state.input());
        let program = Program::<f32>::new(&tracer.finish(), 1);
        let mut session = Session::new(&program, &Inputs::new(1, 0, &[]));
        session.step(&[(state, environment.states())], &Threads::one());
        let (global, points) = (session.record(global), config.points());
        assert_eq!(global.len(), environment.global_size());
        let errors = (0..points).map(|i| (global[i] - global[points + i]).powi(2));
        (global.clone(), errors.sum::<f32>() / points as f32 * (points as f32).sqrt())
    };
    let (plain, _) = told(&["data.pool=2"]);
    let (more, energy) = told(&["data.pool=2", "method.critic_energy=true"]);
    assert_eq!(plain[..], more[..plain.len()]);
    assert_eq!(more.len(), plain.len() + 1);
    assert!(energy > 0.0 && (more[plain.len()] / energy - 1.0).abs() < 1e-5, "{energy} {more:?}");
}

#[test]
fn a_field_that_is_lost_ends_its_episode() {
    let config = config("heat1d", &["actuation.u_max=400", "loss.effort_u=0", "data.pool=4"]);
    let mut environment = FieldEnvironment::new(&config, cases(&config), 1, 1, 16, &Threads::one());
    let agents = config.agents;
    let mut actions = vec![0.0; environment.actions() * agents];
    actions[..agents].fill(1.0);
    for step in 0..config.time.steps {
        let transition = environment.step(&actions);
        if transition.terminated[0] {
            assert!(step > 0, "one step of 0.001 is no disaster");
            assert_eq!(transition.rewards[0], -100.0);
            assert!(transition.next.iter().all(|&x| x == 0.0));
            // the next episode is as good as any other
            let rested = environment.step(&vec![0.0; actions.len()]);
            assert!(!rested.terminated[0] && rested.rewards[0] > -10.0);
            return;
        }
        assert!(transition.rewards[0] > -20.0, "{} in step {step}", transition.rewards[0]);
    }
    panic!("a field heated by {agents} times 400 is lost at some time");
}

#[test]
fn episodes_do_not_all_end_together_and_threads_change_nothing() {
    let config = config("heat1d", &["time.steps=8", "data.pool=3"]);
    let pool = Cases::draw(&config, 0, Pool::Training, 3, &Threads::one(), &|_, _| {});
    let run = |threads: usize| {
        let mut environment =
            FieldEnvironment::new(&config, pool.clone(), 20, 2, 4, &Threads::new(threads).unwrap());
        let actions = vec![0.2; 20 * 2 * config.agents];
        let transitions: Vec<_> = (0..6).map(|_| environment.step(&actions)).collect();
        transitions
    };
    let one = run(1);
    let ended: Vec<usize> =
        one.iter().map(|transition| transition.truncated.iter().filter(|ended| **ended).count()).collect();
    assert!(ended.iter().all(|&ended| ended > 0 && ended < 20), "{ended:?}");
    assert!(one == run(3));
}

#[test]
fn an_agent_sees_the_error_around_it_and_knows_where_it_is() {
    let config = config("heat1d", &["agents=3"]);
    let environment = FieldEnvironment::new(&config, cases(&config), 2, 1, 16, &Threads::one());
    let (points, seen) = (config.points(), window(&config)[1]);
    // a field 0.2 above its target in one copy, and on a ramp of 0.01 per cell in the other
    let positions = [0.25_f32, 0.5, 0.75];
    let mut states = Vec::new();
    for slope in [0.0, 0.01_f32] {
        states.extend((0..points).map(|j| 0.5 + slope * j as f32));
        states.extend(vec![0.3_f32; points]);
        states.extend(positions);
    }
    assert_eq!(states.len(), 2 * environment.state_size());
    let views = Views::new(&environment).of(&states, &Threads::one());
    let (size, agents) = (environment.view_size(), 3);
    assert_eq!(views.len(), 2 * size * agents);
    let view = |copy: usize, row: usize, agent: usize| views[(copy * size + row) * agents + agent];
    for agent in 0..agents {
        for row in 0..seen {
            assert!((view(0, row, agent) - 0.2).abs() < 1e-6);
            assert!(view(0, seen + row, agent).abs() < 1e-6);
            assert!((view(1, seen + row, agent) - 0.01).abs() < 1e-6);
            let cell = (positions[agent] * (points - 1) as f32).floor();
            let half = (window(&config)[0] / 2) as f32;
            assert!((view(1, row, agent) - 0.2 - 0.01 * cell).abs() <= 0.01 * half + 1e-6);
        }
        // after the target come sines and cosines of the position
        assert!((view(0, 2 * seen, agent) - 0.3).abs() < 1e-6);
        let first_wave = (std::f32::consts::PI * positions[agent]).sin();
        assert!((view(0, 3 * seen, agent) - first_wave).abs() < 1e-5);
    }
}

#[test]
fn an_episode_is_decided_by_its_seed_and_its_number() {
    let config = config("heat1d", &["time.steps=6", "noise.sensor=0.1", "data.pool=4"]);
    let pool = Cases::draw(&config, 0, Pool::Training, 4, &Threads::one(), &|_, _| {});
    let mut episodes = Episodes::new(&config, pool, 3, 2, 16, &Threads::one());
    for (copy, (seed, number)) in [(5, 0), (5, 1), (5, 0)].into_iter().enumerate() {
        episodes.begin(copy, seed, number);
    }
    let (size, actions) = (episodes.state_size(), vec![0.4; 3 * 2 * config.agents]);
    let first = episodes.states();
    assert!(first[..size] == first[2 * size..] && first[..size] != first[size..2 * size]);
    let mut shown = vec![0.0; size];
    episodes.first_state(1, &mut shown);
    assert_eq!(shown, first[size..2 * size]);
    let transitions: Vec<_> = (0..3).map(|_| episodes.step(&actions)).collect();
    assert_eq!(transitions[2].truncated, [true; 3], "no copy begins again by itself");
    assert_ne!(episodes.states(), first);
    (0..3).for_each(|copy| episodes.rewind(copy));
    assert_eq!(episodes.states(), first);
    assert_eq!(episodes.step(&actions), transitions[0]);
}

#[test]
fn errors_and_efforts_are_those_of_the_last_control_step() {
    let config = config("heat1d", &["time.steps=6"]);
    let cases = cases(&config);
    let mut episodes = Episodes::new(&config, cases.clone(), 1, 1, 16, &Threads::one());
    episodes.begin(0, 0, 0);
    let error = |z: &[f32]| {
        let squares = z.iter().zip(cases.zt(0)).map(|(z, target)| (f64::from(*z) - target).powi(2));
        squares.sum::<f64>() / config.points() as f64
    };
    let close = |found: f32, expected: f64| assert!((f64::from(found) / expected - 1.0).abs() < 1e-4);
    close(episodes.first_error(0), error(&episodes.states()[..config.points()]));
    let unit = episodes.first_cost();
    episodes.set_cost_unit(unit);
    episodes.begin(0, 0, 0);
    let next = episodes.step(&vec![0.5; 2 * config.agents]).next;
    close(episodes.errors()[0], error(&next[..config.points()]));
    close(episodes.efforts()[0], (0.5 * config.actuation.u_max.unwrap()).powi(2));
}

#[test]
fn agents_fail_when_the_settings_say_so_and_do_nothing_afterwards() {
    let config = config("ks1d", &["time.steps=6", "data.spin_up=5", "failure.share=0.5", "failure.step=2"]);
    let mut episodes = Episodes::new(&config, cases(&config), 1, 1, 16, &Threads::one());
    episodes.begin(0, 0, 0);
    for step in 0..6 {
        let working = episodes.alive(0).iter().sum::<f32>();
        assert_eq!(working, if step < 2 { 8.0 } else { 4.0 });
        episodes.step(&[1.0; 8]);
        assert!((episodes.efforts()[0] - working / 8.0).abs() < 1e-6);
    }
}

/// Points of a window, and points it is resampled to.
fn window(config: &Config) -> [usize; 2] {
    match config.observe.around {
        Around::Window { window, points } => [window, points],
        Around::Patch { .. } => panic!("a 1D task"),
    }
}
