//! The code of every task compiles for a GPU. NVRTC needs no device for this; where it is not installed the
//! tests say so and pass, unless `CINOC_NVRTC=required`.

use cinoc_adjoint::backend::Plan;
use cinoc_control::{ClosedLoop, Config};
use cinoc_cuda::{Entry, Spread, compile, generate};
use std::fmt::Write;
use std::time::Instant;

/// Compiles the kernels of a task for sm_90 and tells registers and spills. `CINOC_CODE` names a folder for
/// the source.
fn compiles(task: &str, cluster: usize) {
    if !compile::available() {
        assert!(std::env::var("CINOC_NVRTC").is_err(), "libnvrtc was not found");
        return eprintln!("libnvrtc was not found: nothing is compiled");
    }
    let mut told = String::new();
    // the third kernel of the largest programs takes the compiler a minute and has nothing new
    let third = cluster < 8 || std::env::var("CINOC_ALL").is_ok();
    let presets: [(&str, Config, &[Entry]); 2] = [
        ("default", Config::preset(task).unwrap(), &[Entry::Forward, Entry::GradientStored, Entry::Late]),
        ("paper", Config::paper(task).unwrap(), if third { &[Entry::GradientAgain] } else { &[] }),
    ];
    for (preset, config, entries) in presets {
        let trace = ClosedLoop::<f32>::for_training(&config, 1).program().trace().clone();
        let plan = Plan::new(&trace, 1);
        let code = generate(&plan, Spread::new(512, cluster, 231_424), 4);
        if let Ok(folder) = std::env::var("CINOC_CODE") {
            std::fs::write(format!("{folder}/{task}-{preset}.cu"), &code.text).unwrap();
        }
        let [block, all] = code.barriers;
        let _ = writeln!(
            told,
            "{task} {preset}: {} operations, {block} barriers of a block and {all} of a cluster, {} bytes \
             of shared memory",
            plan.step.len(),
            code.shared_bytes
        );
        for &entry in entries.iter().filter(|entry| **entry != Entry::Late || code.late.needed) {
            let start = Instant::now();
            let compiled = compile::compile(&code.only(entry), "float", "sm_90");
            let compiled = compiled.unwrap_or_else(|error| panic!("{task} {preset}: {}", error.0));
            assert!(!compiled.binary.is_empty());
            let (size, seconds) = (compiled.binary.len(), start.elapsed().as_secs_f64());
            let _ = writeln!(told, "  {}: {size} bytes of code, compiled in {seconds:.1} s", entry.name());
            let words = |line: &&str| {
                line.contains("registers")
                    || line.contains("spill") && !line.contains(" 0 bytes spill stores")
            };
            compiled.report.lines().filter(words).for_each(|line| {
                let _ = writeln!(told, "    {}", line.trim());
            });
        }
    }
    println!("{told}");
}

/// So do the programs for batches that fill a device.
#[test]
fn large_batches() {
    if !compile::available() {
        return;
    }
    for (task, cluster) in [("fkpp1d", 1), ("heat2d", 6)] {
        let config = Config::paper(task).unwrap();
        let trace = ClosedLoop::<f32>::for_training(&config, 1).program().trace().clone();
        let spread = Spread::new(512, cluster, 231_424).of_many(233_472).unwrap();
        let code = generate(&Plan::new(&trace, 1), spread, 4);
        assert!(code.shared_bytes <= spread.shared && !code.late.needed);
        let compiled = compile::compile(&code.only(Entry::GradientStored), "float", "sm_90");
        assert!(compiled.is_ok_and(|compiled| !compiled.binary.is_empty()), "{task}");
    }
}

macro_rules! tasks {
    ($($name:ident $task:literal $cluster:literal)*) => {
        $(#[test]
        fn $name() {
            compiles($task, $cluster);
        })*
    };
}

tasks! {
    fkpp1d "fkpp1d" 1
    heat1d "heat1d" 1
    ks1d "ks1d" 1
    heat2d "heat2d" 6
    heat2d_obstacles "heat2d-obstacles" 6
    ks2d "ks2d" 16
    turb2d "turb2d" 16
    density2d "density2d" 9
}
