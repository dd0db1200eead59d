//! The interface of C: decisions are those of the library, and nothing that a caller does wrong is more than
//! a code.

mod common;

use cinoc_c::CinocStatus::*;
use cinoc_c::*;
use cinoc_control::{Config, Decision, Tasks};
use cinoc_learn::policy_file::PolicyFile;
use common::{Handle, TASKS, field, options, policy};
use std::ffi::{CStr, CString};
use std::ptr;

/// Positions by axis, as the library wants them.
fn by_axis(xi: &[f32], dims: usize) -> Vec<f32> {
    (0..dims).flat_map(|axis| xi.iter().skip(axis).step_by(dims).copied()).collect()
}

#[test]
fn decisions_are_those_of_the_library_for_any_number_of_agents() {
    for task in TASKS {
        let file = PolicyFile::read(&policy(task), Tasks::built_in()).unwrap();
        let handle = Handle::load(task, options(21)).unwrap();
        let (info, dims) = (handle.info(), file.config.task.dims);
        let (z, target) = (field(info.numbers, 0.0), field(info.numbers, 1.0));
        assert_eq!(handle.aim(&target), CINOC_OK);
        for agents in [21, 1, 8] {
            let config = Config { agents, ..file.config.clone() };
            let xi = handle.start(agents);
            // agents that failed are left out
            let working: Vec<usize> = (0..agents).filter(|i| i % 3 != 1).collect();
            let alive: Vec<u8> = (0..agents).map(|i| u8::from(i % 3 != 1)).collect();
            let mut given = xi.clone();
            (0..agents).filter(|i| i % 3 == 1).for_each(|i| given[i * dims] = f32::NAN);
            let left: Vec<f32> =
                working.iter().flat_map(|&i| xi[i * dims..(i + 1) * dims].to_vec()).collect();
            let (mut u, mut v) = (vec![7.0; agents], vec![7.0; agents * dims]);
            assert_eq!(handle.decide(&z, &given, Some(&alive), agents, &mut u, &mut v), CINOC_OK);

            let few = Config { agents: working.len(), ..config.clone() };
            let decision = Decision::<f32>::new(&few);
            let mut controller = decision.controller(&file.params, &target);
            let decided = controller.decide(&z, &by_axis(&left, dims));
            let bound = |max: Option<f64>| 1e-5 * max.unwrap_or(0.0) as f32;
            for (k, &i) in working.iter().enumerate() {
                if let Some(expected) = decided.u {
                    assert!(
                        (u[i] - expected[k]).abs() <= bound(config.actuation.u_max),
                        "{task} {agents} {i}"
                    );
                }
                for axis in 0..dims {
                    if let Some(expected) = decided.v {
                        let difference = v[i * dims + axis] - expected[axis * few.agents + k];
                        assert!(difference.abs() <= bound(config.actuation.v_max), "{task} {agents} {i}");
                    }
                }
            }
            let silent = |values: &[f32], dims: usize| {
                (0..agents)
                    .filter(|i| i % 3 == 1)
                    .all(|i| values[i * dims..(i + 1) * dims].iter().all(|&x| x == 0.0))
            };
            assert!(decided.u.map_or(u.iter().all(|&x| x == 7.0), |_| silent(&u, 1)), "{task}");
            assert!(decided.v.map_or(v.iter().all(|&x| x == 7.0), |_| silent(&v, dims)), "{task}");
        }
    }
}

#[test]
fn a_controller_describes_itself() {
    let info = Handle::load("density2d", options(0)).unwrap().info();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { CStr::from_ptr(info.task.as_ptr()) }.to_str(), Ok("density2d"));
    let file = PolicyFile::read(&policy("density2d"), Tasks::built_in()).unwrap();
    assert_eq!((info.dims, info.grid, info.numbers), (2, [64, 80], 64 * 80));
    assert_eq!((info.has_u, info.has_v, info.tracks, info.periodic), (0, 1, 1, 0));
    assert_eq!(
        (info.max_agents as usize, info.trained_agents as usize),
        (file.config.agents, file.config.agents)
    );
    assert_eq!(info.policy_hash, cinoc_learn::files::fnv1a(&std::fs::read(policy("density2d")).unwrap()));
    let ks = Handle::load("ks1d", CinocOptions { grid_x: 256, ..options(3) }).unwrap().info();
    assert_eq!((ks.numbers, ks.max_agents, ks.length, ks.periodic), (256, 3, [22.0, 0.0], 1));
    assert_eq!((ks.has_u, ks.has_v, ks.v_max), (1, 0, 0.0));
}

#[test]
fn bad_numbers_give_a_code_and_the_last_good_action() {
    let handle = Handle::load("heat1d", options(4)).unwrap();
    let (z, xi) = (field(100, 0.0), handle.start(4));
    let decide = |z: &[f32], xi: &[f32], alive: Option<&[u8]>| {
        let (mut u, mut v) = (vec![7.0; 4], vec![7.0; 4]);
        let status = handle.decide(z, xi, alive, 4, &mut u, &mut v);
        (status, u, v)
    };
    let with = |values: &[f32], i: usize, x: f32| {
        let mut values = values.to_vec();
        values[i] = x;
        values
    };
    // before there was a good one, nothing is done
    assert_eq!(decide(&z, &xi, None), (CINOC_ERROR_TARGET, vec![0.0; 4], vec![0.0; 4]));
    assert!(handle.message().contains("cinoc_set_target"));
    assert_eq!(handle.aim(&field(100, 1.0)), CINOC_OK);
    let (status, u, v) = decide(&z, &xi, None);
    assert!(status == CINOC_OK && u.iter().chain(&v).all(|x| *x != 0.0 && *x != 7.0), "{u:?} {v:?}");
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(decide(&with(&z, 99, bad), &xi, None), (CINOC_ERROR_NOT_FINITE, u.clone(), v.clone()));
        assert_eq!(handle.message(), format!("z[99] is {bad}, must be finite"));
        assert_eq!(decide(&z, &with(&xi, 2, bad), None), (CINOC_ERROR_NOT_FINITE, u.clone(), v.clone()));
        assert!(handle.message().starts_with("agent 2: x is "), "{}", handle.message());
        assert_eq!(handle.aim(&with(&z, 0, bad)), CINOC_ERROR_NOT_FINITE);
    }
    assert_eq!(decide(&z, &with(&xi, 3, 1.5), None), (CINOC_ERROR_POSITION, u.clone(), v.clone()));
    assert_eq!(handle.message(), "agent 3: x = 1.5, must be in [0, 1]");
    assert_eq!(decide(&z[1..], &xi, None).0, CINOC_ERROR_LENGTH);
    assert_eq!(handle.message(), "z has 99 numbers, must have 100");
    // an agent that fails in the same moment does nothing, whatever it did last
    let (status, faulty_u, _) = decide(&with(&z, 0, f32::NAN), &xi, Some(&[1, 0, 1, 1]));
    assert_eq!((status, &faulty_u[..]), (CINOC_ERROR_NOT_FINITE, &[u[0], 0.0, u[2], u[3]][..]));
    // and afterwards all is as it was
    assert_eq!(decide(&z, &xi, None), (CINOC_OK, u.clone(), v.clone()));
    // numbers beyond all measure are finite, and so is what comes of them
    let (status, huge, _) = decide(&vec![f32::MAX; 100], &xi, None);
    assert!(huge.iter().all(|u| u.abs() <= 40.0), "{status:?} {huge:?}");
    assert!(status == CINOC_OK || (status == CINOC_ERROR_OUTPUT && huge == u), "{status:?} {huge:?}");
}

#[test]
fn a_density_without_mass_is_refused() {
    let handle = Handle::load("density2d", options(2)).unwrap();
    let (numbers, xi) = (handle.info().numbers, handle.start(2));
    assert_eq!(handle.aim(&vec![0.0; numbers]), CINOC_ERROR_TARGET);
    assert_eq!(handle.aim(&field(numbers, 0.0)), CINOC_OK);
    let (mut u, mut v) = ([], [7.0; 4]);
    let status = handle.decide(&vec![0.0; numbers], &xi, None, 2, &mut u, &mut v);
    assert!(status != CINOC_ERROR_INTERNAL && v.iter().all(|x| x.is_finite()), "{status:?} {v:?}");
}

#[test]
fn null_pointers_and_wrong_lengths_are_codes() {
    let path = CString::new(policy("heat1d").to_str().unwrap()).unwrap();
    let (mut controller, good) = (ptr::null_mut(), options(2));
    let text = ptr::null_mut();
    // SAFETY: what is not null is alive.
    unsafe {
        assert_eq!(cinoc_load(ptr::null(), &good, &mut controller, text, 0), CINOC_ERROR_NULL);
        assert_eq!(cinoc_load(path.as_ptr(), ptr::null(), &mut controller, text, 0), CINOC_ERROR_NULL);
        assert_eq!(cinoc_load(path.as_ptr(), &good, ptr::null_mut(), text, 9), CINOC_ERROR_NULL);
        assert_eq!(cinoc_load_bytes(ptr::null(), 9, &good, &mut controller, text, 0), CINOC_ERROR_NULL);
        assert!(controller.is_null());
        assert_eq!(cinoc_describe(ptr::null_mut(), ptr::null_mut()), CINOC_ERROR_NULL);
        assert_eq!(cinoc_set_target(ptr::null_mut(), ptr::null(), 0), CINOC_ERROR_NULL);
        assert_eq!(CStr::from_ptr(cinoc_message(ptr::null())).to_str(), Ok("a pointer is null"));
        cinoc_free(ptr::null_mut());
    }
    let handle = Handle::load("heat1d", good).unwrap();
    let (z, xi, mut out) = (field(100, 0.0), [0.3, 0.6], [7.0f32; 2]);
    let out = out.as_mut_ptr();
    // SAFETY: what is not null has the length that is said, or is not looked at.
    unsafe {
        assert_eq!(cinoc_set_target(handle.0, ptr::null(), 100), CINOC_ERROR_NULL);
        assert_eq!(handle.message(), "target is null");
        assert_eq!(cinoc_set_target(handle.0, z.as_ptr(), 99), CINOC_ERROR_LENGTH);
        assert_eq!(cinoc_set_target(handle.0, z.as_ptr(), 100), CINOC_OK);
        let (z, xi, none) = (z.as_ptr(), xi.as_ptr(), ptr::null_mut());
        let decide =
            |z, numbers, xi, agents, u, v| cinoc_decide(handle.0, z, numbers, xi, ptr::null(), agents, u, v);
        assert_eq!(decide(ptr::null(), 100, xi, 2, out, out), CINOC_ERROR_NULL);
        assert_eq!(decide(z, 100, ptr::null(), 2, out, out), CINOC_ERROR_NULL);
        assert_eq!(decide(z, 100, xi, 2, none, out), CINOC_ERROR_NULL);
        assert_eq!(handle.message(), "u is null");
        assert_eq!(decide(z, 100, xi, 2, out, none), CINOC_ERROR_NULL);
        for agents in [0, 3, usize::MAX] {
            assert_eq!(decide(z, 100, xi, agents, out, out), CINOC_ERROR_LENGTH);
            assert_eq!(*out, 7.0, "nothing is written where the length is not known");
        }
        assert!(handle.message().contains("must be 1 to 2; load the policy with a larger max_agents"));
        assert_eq!(decide(z, 100, xi, 2, out, out), CINOC_OK);
        assert_eq!(cinoc_start_positions(handle.0, 3, out), CINOC_ERROR_LENGTH);
        assert_eq!(cinoc_start_positions(handle.0, 2, ptr::null_mut()), CINOC_ERROR_NULL);
        assert_eq!(cinoc_describe(handle.0, ptr::null_mut()), CINOC_ERROR_NULL);
    }
}

#[test]
fn what_cannot_be_set_up_is_told_with_its_reason() {
    let refused = |options: CinocOptions, code: CinocStatus, parts: &[&str]| {
        let (status, text) = Handle::load("heat1d", options).err().expect("a refusal");
        assert_eq!(status, code, "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(CinocOptions { abi_version: 77, ..options(2) }, CINOC_ERROR_ABI, &["77", "header"]);
    refused(CinocOptions { abi_version: 0, ..options(2) }, CINOC_ERROR_ABI, &[]);
    refused(CinocOptions { grid_x: 30, ..options(2) }, CINOC_ERROR_SETTINGS, &["grid.n = 30", "at least 34"]);
    refused(CinocOptions { grid_y: 100, ..options(2) }, CINOC_ERROR_SETTINGS, &["grid_y is 100", "1D"]);
    refused(CinocOptions { max_memory_mb: 1, ..options(2) }, CINOC_ERROR_MEMORY, &["max_memory_mb is 1"]);
    refused(options(u32::MAX), CINOC_ERROR_SETTINGS, &["agents = 4294967295"]);
    refused(options(1_000_000_000), CINOC_ERROR_MEMORY, &["memory"]);
    let (status, text) = Handle::load("absent", options(0)).err().unwrap();
    assert!(status == CINOC_ERROR_FILE && text.contains("absent.safetensors"), "{text}");
    let (status, text) = Handle::from_bytes(b"", options(0)).err().unwrap();
    assert!(status == CINOC_ERROR_FILE && text.contains("the policy in memory"), "{text}");
    // a text that does not fit is cut, and ends with a zero
    let (path, mut controller, mut text) = (c"nowhere", ptr::null_mut(), [1; 8]);
    // SAFETY: the pointers are to things that are alive.
    let status = unsafe { cinoc_load(path.as_ptr(), &options(0), &mut controller, text.as_mut_ptr(), 8) };
    assert_eq!((status, text), (CINOC_ERROR_FILE, b"cannot \0".map(|byte| byte as _)));
}

#[test]
fn every_code_has_a_text() {
    // SAFETY: the texts are constants.
    let text = |code: u32| unsafe { CStr::from_ptr(cinoc_status_text(code)) }.to_str().unwrap();
    assert_eq!(text(0), "done");
    let last = CINOC_ERROR_INTERNAL as u32;
    let mut texts: Vec<&str> = (0..=last).map(text).collect();
    assert_eq!(text(last + 1), "no code of this library");
    texts.push(text(u32::MAX));
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len() as u32, last + 2, "{texts:?}");
    // SAFETY: a constant.
    assert_eq!(unsafe { CStr::from_ptr(cinoc_version()) }.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    assert_eq!(cinoc_abi_version(), CINOC_ABI_VERSION);
}

#[test]
fn threads_with_controllers_of_their_own_decide_alike() {
    let decided = || {
        let handle = Handle::load("fkpp1d", options(12)).unwrap();
        let (xi, mut u, mut v) = (handle.start(12), vec![0.0; 12], vec![0.0; 12]);
        let mut all = Vec::new();
        for k in 0..200 {
            assert_eq!(handle.aim(&field(100, 0.1 * k as f32)), CINOC_OK);
            assert_eq!(handle.decide(&field(100, 0.3), &xi, None, 12, &mut u, &mut v), CINOC_OK);
            all.extend(u.iter().chain(&v).map(|x| x.to_bits()));
        }
        all
    };
    let expected = decided();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..4).map(|_| scope.spawn(decided)).collect();
        others.into_iter().for_each(|other| assert!(other.join().unwrap() == expected));
    });
}

#[test]
fn two_threads_with_one_controller_are_told_so() {
    struct Shared(Handle);
    // SAFETY: the controller itself refuses a second caller.
    unsafe impl Sync for Shared {}
    let shared = Shared(Handle::load("heat2d", options(40)).unwrap());
    let numbers = shared.0.info().numbers;
    assert_eq!(shared.0.aim(&field(numbers, 1.0)), CINOC_OK);
    let (z, xi) = (field(numbers, 0.0), shared.0.start(40));
    let work = |shared: &Shared| {
        let (mut u, mut v) = (vec![0.0; 40], vec![0.0; 80]);
        (0..50).map(|_| shared.0.decide(&z, &xi, None, 40, &mut u, &mut v)).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(&shared));
        let mut all = work(&shared);
        all.extend(other.join().unwrap());
        assert!(all.contains(&CINOC_OK));
        assert!(all.iter().all(|status| [CINOC_OK, CINOC_ERROR_BUSY].contains(status)), "{all:?}");
    });
}
