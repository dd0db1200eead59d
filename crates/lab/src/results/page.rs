//! The page of all results, generated from the committed files only.

use std::path::Path;

use super::{Results, ResultsError, markdown};
use crate::experiments::experiments;

const HEAD: &str = "# Results\n\n\
    Made by `cinoc reproduce page` from the files in `results/`; nothing here is written by hand. Every \
    section names the command that makes it again. Published numbers are those of \"CINOC: \
    Cardinality-Invariant Neural Operator Policies for Scalable PDE Control\" (ICML 2026).\n";

/// The page. Experiments without a file are left out. `folder` contains the files, `shipped` the policies of
/// the project; `link` is the path from the page to the files.
pub fn page(folder: &Path, shipped: &Path, link: &str) -> Result<String, ResultsError> {
    let mut sections = vec![HEAD.to_string()];
    for experiment in experiments() {
        let path = folder.join(format!("{}.json", experiment.name));
        if path.exists() {
            let results = Results::read(&path)?;
            sections.push(markdown(&results, "##", link));
            let replaced = results.replaced(shipped).join(", ");
            if !replaced.is_empty() {
                sections.push(format!("**Stale**: the shipped policy of {replaced} is another one now.\n"));
            }
        }
    }
    Ok(sections.join("\n"))
}
