//! Policies that come with the package.

/// Name and file of each.
const POLICIES: [(&str, &[u8]); 8] = [
    ("density2d", include_bytes!("../../policies/density2d.safetensors")),
    ("fkpp1d", include_bytes!("../../policies/fkpp1d.safetensors")),
    ("heat1d", include_bytes!("../../policies/heat1d.safetensors")),
    ("heat2d", include_bytes!("../../policies/heat2d.safetensors")),
    ("heat2d-obstacles", include_bytes!("../../policies/heat2d-obstacles.safetensors")),
    ("ks1d", include_bytes!("../../policies/ks1d.safetensors")),
    ("ks2d", include_bytes!("../../policies/ks2d.safetensors")),
    ("turb2d", include_bytes!("../../policies/turb2d.safetensors")),
];

/// The file of a shipped policy.
pub fn policy(name: &str) -> Option<&'static [u8]> {
    POLICIES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}
