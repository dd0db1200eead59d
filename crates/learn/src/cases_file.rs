//! Cases that users bring: a safetensors file with `z0` and, where the task has a target, `zt` (`[cases][n]`
//! or `[cases][n_x][n_y]`, f32 or f64; of a state with several fields `[cases][fields]...`, targets of the
//! tracked ones), optionally `xi0` (`[cases][agents]` or `[cases][agents][2]`). Targets that move are
//! `[cases][steps]...`: one per control step.

use std::path::Path;

use cinoc_control::{Cases, Config};

use crate::files::{Data, Tensors};
use crate::policy_file::PolicyError;

/// Reads cases for a task; refuses those that do not fit its grid, its agents or are not finite.
pub fn read_cases(path: &Path, config: &Config) -> Result<Cases, PolicyError> {
    cases_of(&Tensors::read(path)?, path, config)
}

/// The same of arrays that are in memory already; errors call them `name`.
pub fn cases_of(file: &Tensors, name: &Path, config: &Config) -> Result<Cases, PolicyError> {
    parse(file, config).map_err(|reason| PolicyError::content(name, reason))
}

fn parse(file: &Tensors, config: &Config) -> Result<Cases, String> {
    file.check_finite().map_err(|error| error.to_string().replace("; the run that wrote it diverged", ""))?;
    let (n, fields) = (config.state_size(), &config.task.fields);
    let tracked = fields.iter().filter(|field| field.tracked).count();
    let z0 = stack(file, "z0", &extents(config, fields.len()), "grid points", false)?;
    let count = z0.len() / n;
    if count == 0 {
        return Err("tensor \"z0\" holds no case".to_string());
    }
    let zt = match (file.tensors.contains_key("zt"), config.task.tracks) {
        (true, _) => {
            let targets = stack(file, "zt", &extents(config, tracked), "grid points", true)?;
            of_all_fields(config, &targets)
        }
        (false, false) => vec![0.0; count * n],
        (false, true) => return Err(format!("no tensor \"zt\": {} needs a target per case", config.task)),
    };
    if let Some(targets) = file.tensors.get("zt") {
        if targets.shape[0] != count {
            return Err(format!("{count} cases in \"z0\" but {} in \"zt\"", targets.shape[0]));
        }
        if zt.is_empty() {
            return Err(
                "tensor \"zt\" holds no control step; a fixed target has no axis of steps".to_string()
            );
        }
    }
    let xi0 = if file.tensors.contains_key("xi0") { Some(positions(file, config, count)?) } else { None };
    Ok(Cases { count, n, z0, zt, xi0 })
}

/// What a tensor of some fields has after its first axis: one axis for the fields, if the state has several.
pub fn extents(config: &Config, fields: usize) -> Vec<usize> {
    let several = Some(fields).filter(|_| config.task.fields.len() > 1);
    several.into_iter().chain(config.axes().iter().map(|axis| axis.n)).collect()
}

/// Targets of the tracked fields as states: 0 in the others.
pub(crate) fn of_all_fields(config: &Config, targets: &[f64]) -> Vec<f64> {
    let mut targets = targets.chunks_exact(config.points());
    let mut all = Vec::new();
    while targets.len() > 0 {
        for field in &config.task.fields {
            match field.tracked.then(|| targets.next()).flatten() {
                Some(target) => all.extend_from_slice(target),
                None => all.resize(all.len() + config.points(), 0.0),
            }
        }
    }
    all
}

fn positions(file: &Tensors, config: &Config, count: usize) -> Result<Vec<f64>, String> {
    let (agents, axes) = (config.agents, config.axes());
    let dims = axes.len();
    let xi0 = if dims == 1 {
        stack(file, "xi0", &[agents], "agents", false)?
    } else {
        stack(file, "xi0", &[agents, dims], "agents with their coordinates", false)?
    };
    if xi0.len() != count * agents * dims {
        return Err(format!("{count} cases in \"z0\" but {} in \"xi0\"", xi0.len() / (agents * dims)));
    }
    let outside = |(index, xi): (usize, &f64)| !(0.0..=axes[index % dims].length).contains(xi);
    if let Some(index) = xi0.iter().enumerate().position(outside) {
        let length = axes[index % dims].length;
        return Err(format!("\"xi0\" is {} at index {index}, must lie in [0, {length}]", xi0[index]));
    }
    Ok(by_axis(&xi0, agents, dims))
}

/// From vectors agent by agent, as files hold them, to axis by axis, as loops do: `[..][agents][dims]` to
/// `[..][dims][agents]`.
pub(crate) fn by_axis(values: &[f64], agents: usize, dims: usize) -> Vec<f64> {
    if dims == 1 {
        return values.to_vec();
    }
    let turned = |one: &[f64]| {
        let all = (0..dims).flat_map(|axis| (0..agents).map(move |agent| (agent, axis)));
        all.map(|(agent, axis)| one[agent * dims + axis]).collect::<Vec<_>>()
    };
    values.chunks_exact(agents * dims).flat_map(turned).collect()
}

/// A tensor `[cases][extents...]`, or `[cases][steps][extents...]` if it may have steps, in double precision.
fn stack(file: &Tensors, name: &str, extents: &[usize], what: &str, steps: bool) -> Result<Vec<f64>, String> {
    let tensor = file.tensor(name).map_err(|error| error.to_string())?;
    let fits = |axes: usize| tensor.shape.get(axes..) == Some(extents);
    if !(fits(1) || (steps && fits(2))) {
        let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
        let (each, all) = (extents.join(", "), extents.join(" x "));
        let moving = if steps { format!(" or [cases, steps, {each}]") } else { String::new() };
        return Err(format!(
            "tensor {name:?} has shape {:?}, must be [cases, {each}]{moving}: {all} {what}",
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
    use cinoc_control::Targets;

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

    #[test]
    fn targets_may_move() {
        let steps: Vec<f64> = (0..2 * 3 * 100).map(|i| (i / 100) as f64).collect();
        let moving = parse_one(&[], |file| file.insert("zt", &[2, 3, 100], steps.clone())).unwrap();
        assert_eq!((moving.count, moving.target_steps(), moving.targets()), (2, 3, Targets::Moving));
        assert_eq!(
            [moving.target(0, 1)[7], moving.target(1, 0)[99], moving.target(1, 9)[0]],
            [1.0, 3.0, 5.0]
        );
        let one = parse_one(&[], |file| file.insert("zt", &[2, 1, 100], vec![0.25f32; 200])).unwrap();
        assert_eq!(one, parse_one(&[], |_| {}).unwrap(), "one step is a fixed target");
        let error = |shape: &[usize]| {
            let numbers = vec![0.0f32; shape.iter().product()];
            parse_one(&[], |file| file.insert("zt", shape, numbers.clone())).unwrap_err()
        };
        let wrong = error(&[2, 100, 3]);
        assert!(wrong.contains("must be [cases, 100] or [cases, steps, 100]: 100 grid points"), "{wrong}");
        assert!(error(&[3, 2, 100]).contains("2 cases in \"z0\" but 3 in \"zt\""));
        assert!(error(&[2, 0, 100]).contains("no control step"));
        let start = parse_one(&[], |file| file.insert("z0", &[2, 1, 100], vec![0.0f32; 200])).unwrap_err();
        assert!(start.ends_with("must be [cases, 100]: 100 grid points"), "{start}");
    }

    #[test]
    fn targets_of_the_tracked_field_move_and_others_are_0() {
        let task = crate::pair::pair();
        let mut file = Tensors::default();
        file.insert("z0", &[1, 2, 100], vec![0.5f32; 200]);
        file.insert("zt", &[1, 3, 1, 100], (0..300).map(|i| (i / 100) as f32).collect::<Vec<_>>());
        let cases = parse(&file, &task.config().unwrap()).unwrap();
        assert_eq!((cases.n, cases.target_steps()), (200, 3));
        for step in 0..3 {
            assert_eq!(*cases.target(0, step), [[0.0; 100], [step as f64; 100]].concat());
        }
    }

    #[test]
    fn files_of_2d_tasks_hold_vectors_agent_by_agent() {
        let config = Config::preset("heat2d").unwrap().with_sets(&["agents=2".to_string()]).unwrap();
        let mut file = Tensors::default();
        file.insert("z0", &[1, 32, 32], vec![0.5f32; 1024]);
        file.insert("zt", &[1, 32, 32], vec![0.5f32; 1024]);
        file.insert("xi0", &[1, 2, 2], vec![0.1f64, 0.2, 0.3, 0.4]);
        assert_eq!(parse(&file, &config).unwrap().xi0(0).unwrap(), [0.1, 0.3, 0.2, 0.4]);
        file.insert("z0", &[1, 1024], vec![0.5f32; 1024]);
        assert!(parse(&file, &config).unwrap_err().contains("[cases, 32, 32]"));
    }
}
