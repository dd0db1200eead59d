//! Cases that users bring: a safetensors file with `z0` and, where the task has a target, `zt` (`[cases][grid]`, f32 or f64),
//! optionally `xi0` (`[cases][agents]`).

use std::path::Path;

use control::{Cases, Config};

use crate::files::{Data, Tensors};
use crate::policy_file::PolicyError;

/// Reads cases for a task; refuses those that do not fit its grid, its agents or are not finite.
pub fn read_cases(path: &Path, config: &Config) -> Result<Cases, PolicyError> {
    let file = Tensors::read(path)?;
    parse(&file, config).map_err(|reason| PolicyError::content(path, reason))
}

fn parse(file: &Tensors, config: &Config) -> Result<Cases, String> {
    file.check_finite().map_err(|error| error.to_string().replace("; the run that wrote it diverged", ""))?;
    let n = config.grid.n;
    let z0 = matrix(file, "z0", n, "grid points")?;
    let count = z0.len() / n;
    if count == 0 {
        return Err("tensor \"z0\" holds no case".to_string());
    }
    let has_target = config.data.length_target.is_some();
    let zt = match (file.tensors.contains_key("zt"), has_target) {
        (true, _) => matrix(file, "zt", n, "grid points")?,
        (false, false) => vec![0.0; count * n],
        (false, true) => return Err(format!("no tensor \"zt\": {} needs a target per case", config.task)),
    };
    if zt.len() != z0.len() {
        return Err(format!("{count} cases in \"z0\" but {} in \"zt\"", zt.len() / n));
    }
    let xi0 = if file.tensors.contains_key("xi0") { Some(positions(file, config, count)?) } else { None };
    Ok(Cases { count, n, z0, zt, xi0 })
}

fn positions(file: &Tensors, config: &Config, count: usize) -> Result<Vec<f64>, String> {
    let xi0 = matrix(file, "xi0", config.agents, "agents")?;
    if xi0.len() != count * config.agents {
        return Err(format!("{count} cases in \"z0\" but {} in \"xi0\"", xi0.len() / config.agents));
    }
    if let Some(index) = xi0.iter().position(|xi| !(0.0..=config.grid.length).contains(xi)) {
        return Err(format!(
            "\"xi0\" is {} at index {index}, must lie in [0, {}]",
            xi0[index], config.grid.length
        ));
    }
    Ok(xi0)
}

/// A tensor `[rows][width]` in double precision.
fn matrix(file: &Tensors, name: &str, width: usize, what: &str) -> Result<Vec<f64>, String> {
    let tensor = file.tensor(name).map_err(|error| error.to_string())?;
    if tensor.shape.len() != 2 || tensor.shape[1] != width {
        return Err(format!(
            "tensor {name:?} has shape {:?}, must be [cases, {width}]: {width} {what}",
            tensor.shape
        ));
    }
    match &tensor.data {
        Data::F32(values) => Ok(values.iter().map(|&x| f64::from(x)).collect()),
        Data::F64(values) => Ok(values.clone()),
        other => Err(format!("tensor {name:?} has dtype {}, must be F32 or F64", other.dtype())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_one(sets: &[&str], fill: impl Fn(&mut Tensors)) -> Result<Cases, String> {
        let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        let config = Config::preset("heat1d").unwrap().with_sets(&sets).unwrap();
        let mut file = Tensors::default();
        file.insert("z0", &[2, 100], vec![0.5f32; 200]);
        file.insert("zt", &[2, 100], vec![0.25f64; 200]);
        fill(&mut file);
        parse(&file, &config)
    }

    #[test]
    fn both_precisions_and_own_positions_are_read() {
        let cases = parse_one(&[], |file| file.insert("xi0", &[2, 8], vec![0.5f64; 16])).unwrap();
        assert_eq!((cases.count, cases.z0[0], cases.zt[199]), (2, 0.5, 0.25));
        assert_eq!(cases.xi0(1).unwrap(), [0.5; 8]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = |sets: &[&str], fill: &dyn Fn(&mut Tensors)| parse_one(sets, fill).unwrap_err();
        let nan = error(&[], &|file| {
            let mut z0 = vec![0.0f32; 200];
            z0[3] = f32::NAN;
            file.insert("z0", &[2, 100], z0);
        });
        assert!(nan.contains("\"z0\"") && nan.contains("index 3"), "{nan}");
        assert!(error(&["grid.n=199"], &|_| {}).contains("[cases, 199]"));
        assert!(error(&[], &|file| drop(file.tensors.remove("zt"))).contains("needs a target"));
        assert!(error(&[], &|file| file.insert("zt", &[1, 100], vec![0.0f32; 100])).contains("1 in \"zt\""));
        assert!(error(&[], &|file| file.insert("xi0", &[2, 8], vec![2.0f32; 16])).contains("[0, 1]"));
        assert!(error(&[], &|file| file.insert("z0", &[2, 100], vec![0u8; 200])).contains("must be F32"));
    }
}
