//! The code of every task compiles for a GPU. NVRTC needs no device for this; where it is not installed the test says
//! so and passes, unless `CINOC_NVRTC=required`.

use cinoc_adjoint::backend::Plan;
use cinoc_control::{ClosedLoop, Config};
use cinoc_cuda::{Spread, compile, generate};
use std::time::Instant;

#[test]
fn all_tasks_compile_for_sm_90() {
    if !compile::available() {
        assert!(std::env::var("CINOC_NVRTC").is_err(), "libnvrtc was not found");
        return eprintln!("libnvrtc was not found: nothing is compiled");
    }
    let only = std::env::var("CINOC_TASKS").unwrap_or_default();
    for (task, cluster) in [
        ("fkpp1d", 1),
        ("heat1d", 1),
        ("ks1d", 1),
        ("heat2d", 4),
        ("heat2d-obstacles", 4),
        ("ks2d", 8),
        ("turb2d", 16),
        ("density2d", 4),
    ] {
        if !only.is_empty() && !only.split(',').any(|name| name == task) {
            continue;
        }
        for preset in ["default", "paper"] {
            let config = if preset == "paper" { Config::paper(task) } else { Config::preset(task) }.unwrap();
            let trace = ClosedLoop::<f32>::for_training(&config, 1).program().trace().clone();
            let plan = Plan::new(&trace, 1);
            let code = generate(&plan, Spread { threads: 256, cluster, shared: 231_424 }, 4);
            if let Ok(folder) = std::env::var("CINOC_CODE") {
                std::fs::write(format!("{folder}/{task}-{preset}.cu"), &code.text).unwrap();
            }
            let start = Instant::now();
            let compiled = compile::compile(&code.text, "float", "sm_90");
            let compiled = compiled.unwrap_or_else(|error| panic!("{task} {preset}: {}", error.0));
            assert!(!compiled.binary.is_empty());
            println!(
                "{task} {preset}: {} operations, {} + {} barriers, {} bytes of shared memory, {} numbers of memory, \
                 {} bytes of code, compiled in {:.1} s",
                plan.step.len(),
                code.barriers[0],
                code.barriers[1],
                code.shared_bytes,
                code.memory,
                compiled.binary.len(),
                start.elapsed().as_secs_f64()
            );
            for line in
                compiled.report.lines().filter(|line| line.contains("registers") || line.contains("spill"))
            {
                println!("  {line}");
            }
        }
    }
}
