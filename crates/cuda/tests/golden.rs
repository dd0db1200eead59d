//! Generated code reproduces golden files of an independent implementation, on the host.

use cinoc_adjoint::Threads;
use cinoc_cuda::Spread;
use cinoc_cuda::host::Host;
use cinoc_learn::verify::verify;
use std::path::Path;
use std::sync::Arc;

#[test]
fn golden_files_are_reproduced() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(folder.path(), Spread::new(256, 1, 200_000));
    let threads = Threads::one().with_backend(Arc::new(host));
    for task in ["ks1d", "fkpp1d"] {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../learn/tests/golden/{task}.safetensors"));
        let verification = verify(&file, &threads).unwrap();
        assert!(verification.ok, "{task}: {:?}", verification.errors);
    }
}
