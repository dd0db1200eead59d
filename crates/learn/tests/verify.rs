//! Golden files and central differences: whole closed-loop steps and their gradients.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::{Config, Targets};
use cinoc_learn::gradient_check::check_gradients;
use cinoc_learn::verify::verify;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.safetensors"))
}

#[test]
fn golden_files() {
    for name in [
        "density2d",
        "fkpp1d",
        "fkpp1d_product",
        "fkpp1d_window30",
        "heat1d",
        "heat2d",
        "heat2d-obstacles",
        "ks1d",
        "ks2d",
        "turb2d",
    ] {
        let verification = verify(&golden(name), &Threads::one()).unwrap();
        println!("{name}: largest relative error {:.1e}", verification.max_error);
        assert!(verification.ok, "{name}: {:#?}", verification.errors);
        assert!(verification.errors.len() > 20, "{name} compares {} tensors", verification.errors.len());
    }
}

#[test]
fn a_wrong_number_is_found() {
    // the last eight bytes are the end of some tensor
    let mut bytes = std::fs::read(golden("heat1d")).unwrap();
    let end = bytes.len();
    bytes[end - 8..].copy_from_slice(&1e3f64.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.safetensors");
    std::fs::write(&path, bytes).unwrap();
    let verification = verify(&path, &Threads::one()).unwrap();
    assert!(!verification.ok && verification.max_error > 1e-3, "{:?}", verification.errors);
}

#[test]
fn files_that_cannot_be_recomputed_are_refused() {
    let message = |name: &str| verify(&golden(name), &Threads::one()).unwrap_err().to_string();
    assert!(message("nothing").contains("nothing.safetensors"));

    // the same file, asking for an unknown option of the same length
    let folder = tempfile::tempdir().unwrap();
    let altered = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let mut bytes = std::fs::read(golden("fkpp1d_window30")).unwrap();
        let at = bytes.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        let path = folder.path().join("altered.safetensors");
        std::fs::write(&path, bytes).unwrap();
        verify(&path, &Threads::one()).unwrap_err().to_string()
    };
    let error = altered(r#"{\"window\": 30}"#, r#"{\"vision\": 30}"#);
    assert!(error.contains(r#"option "vision" is not supported"#), "{error}");
    let error = altered(r#"\"fkpp1d\""#, r#"\"fkpp9d\""#);
    assert!(error.contains("unknown task \"fkpp9d\""), "{error}");
}

#[test]
fn files_whose_tensors_do_not_belong_together_are_refused() {
    let bytes = std::fs::read(golden("heat1d")).unwrap();
    let metadata = SafeTensors::read_metadata(&bytes).unwrap().1.metadata().clone();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let cut = |name: &str| {
        let tensors = file.iter().map(|(other, tensor)| {
            let mut shape = tensor.shape().to_vec();
            shape[0] -= usize::from(other == name);
            let bytes = 8 * shape.iter().product::<usize>();
            (other, TensorView::new(Dtype::F64, shape, &tensor.data()[..bytes]).unwrap())
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.safetensors");
        std::fs::write(&path, safetensors::serialize(tensors, metadata.clone()).unwrap()).unwrap();
        verify(&path, &Threads::one()).unwrap_err().to_string()
    };
    for (name, part) in
        [("zt", "tensor \"zt\" has"), ("xi0", "tensor \"xi0\" has"), ("z0", "tensor \"zt\" has")]
    {
        let error = cut(name);
        assert!(error.contains(part) && error.contains("cut.safetensors"), "{name}: {error}");
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    let variants: [(&str, &[&str]); 18] = [
        ("fkpp1d", &[]),
        ("fkpp1d", &["policy.rest=true", "observe.sampling=linear"]),
        ("heat2d", &["policy.rest=true", "agents=5", "policy.conv=[3, 4]", "policy.fusion=product"]),
        ("fkpp1d", &["policy.fusion=product", "policy.softnorm=false", "policy.trunk_base=2pi"]),
        ("fkpp1d", &["observe.sampling=linear", "loss.terminal=1", "loss.total_forcing=0.001"]),
        ("fkpp1d", &["noise.sensor=0.05", "noise.actuator=0.5", "failure.share=0.2", "failure.step=3"]),
        ("heat1d", &[]),
        ("heat1d", &["actuation.normalization=mass", "time.substeps=2", "grid.n=199", "agents=3"]),
        ("ks1d", &[]),
        ("ks1d", &["observe.sampling=linear", "agents=30", "policy.fusion=product"]),
        ("ks1d", &["time.substeps=3", "grid.n=256", "loss.terminal=1"]),
        ("heat2d", &["agents=5", "policy.conv=[3, 4]"]),
        (
            "heat2d",
            &["agents=4", "policy.conv=[3]", "observe.sampling=linear", "policy.padding=field", "grid.n=63"],
        ),
        (
            "heat2d-obstacles",
            &["agents=9", "policy.conv=[3, 2]", "obstacles.filter=project", "policy.fusion=product"],
        ),
        (
            "ks2d",
            &[
                "agents=9",
                "policy.conv=[3, 4]",
                "grid.n=32",
                "observe.n_ref=32",
                "time.substeps=2",
                "data.spin_up=5",
            ],
        ),
        (
            "turb2d",
            &[
                "agents=4",
                "policy.conv=[3, 4]",
                "grid.n=24",
                "observe.n_ref=24",
                "time.substeps=2",
                "data.spin_up=0.1",
                "observe.patch=8",
            ],
        ),
        ("density2d", &["agents=4", "policy.conv=[3, 4]"]),
        (
            "density2d",
            &["agents=4", "policy.conv=[2, 1]", "observe.view=field", "physics.transport=conservative"],
        ),
    ];
    for (task, sets) in variants {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::preset(task).unwrap().with_sets(&sets).unwrap();
        let check = check_gradients(&config, Targets::Fixed, Strategy::Store, &Threads::one()).unwrap();
        println!("{task} {sets:?}: largest relative error {:.1e}", check.max_rel_error);
        assert!(check.max_rel_error < 1e-6, "{task} {sets:?}: {:#?}", check.directions);
    }
}

#[test]
fn gradients_with_moving_targets_agree_with_central_differences() {
    let variants: [(&str, &[&str]); 5] = [
        ("fkpp1d", &["observe.target=true", "noise.sensor=0.05"]),
        ("heat1d", &["loss.terminal=1", "failure.share=0.2"]),
        ("ks1d", &[]),
        ("heat2d", &["agents=5", "policy.conv=[3, 4]"]),
        ("density2d", &["agents=4", "policy.conv=[3, 4]"]),
    ];
    for (task, sets) in variants {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::preset(task).unwrap().with_sets(&sets).unwrap();
        for strategy in [Strategy::Store, Strategy::Recompute] {
            let check = check_gradients(&config, Targets::Moving, strategy, &Threads::one()).unwrap();
            println!("{task} {sets:?}: largest relative error {:.1e}", check.max_rel_error);
            assert!(check.max_rel_error < 1e-6, "{task} {sets:?}: {:#?}", check.directions);
        }
    }
}
