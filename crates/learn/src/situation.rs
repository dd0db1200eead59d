//! A situation to decide about, from files or from memory: the field, the target, and where the agents are.
//!
//! Arrays have the shapes of a case ([`cases_file`](crate::cases_file)) without its first axis: a field `[n]`
//! or `[n_x][n_y]` (of a state with several fields `[fields]...`, a target of the tracked ones), positions
//! `[agents]` or `[agents][2]`. The field says how fine its grid is, and the positions say how many agents
//! there are.

use std::path::{Path, PathBuf};

use cinoc_control::Config;
use cinoc_control::agents::start_positions;

use crate::array_file::{Array, Format};
use crate::cases_file::{by_axis, extents, of_all_fields};
use crate::files::Tensors;
use crate::policy_file::PolicyError;

/// Names of the tensors in a safetensors file.
const FIELD: &str = "z";
const TARGET: &str = "zt";
const POSITIONS: &str = "xi";

/// What agents decide about, complete and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// The state: all fields at all grid points.
    pub z: Vec<f64>,
    /// What it should be.
    pub target: Vec<f64>,
    /// Where the agents are, all first coordinates, then all second ones.
    pub xi: Vec<f64>,
}

/// The arrays of a situation, as they were read.
#[derive(Clone, Debug)]
pub struct Arrays {
    field: Read,
    target: Option<Read>,
    positions: Option<Read>,
}

#[derive(Clone, Debug)]
struct Read {
    path: PathBuf,
    array: Array,
}

impl Read {
    fn new(path: &Path, name: &str) -> Result<Read, PolicyError> {
        Ok(Read { path: path.to_path_buf(), array: Array::read(path, name)? })
    }

    /// The array with as many axes as are wanted.
    fn with_axes(&self, axes: usize, wanted: impl Fn() -> String) -> Result<Array, PolicyError> {
        let array = self.array.clone().with_axes(axes);
        if array.shape.len() == axes { Ok(array) } else { Err(self.misshapen(&wanted())) }
    }

    /// A density without mass has no centroid, which agents would be told the way to.
    fn check_mass(&self) -> Result<(), PolicyError> {
        let mass: f64 = self.array.values.iter().sum();
        if mass > 0.0 {
            return Ok(());
        }
        Err(self.refused(format!("it is a density whose numbers have the sum {mass:?}, must be above 0")))
    }

    fn misshapen(&self, wanted: &str) -> PolicyError {
        self.refused(format!("it has shape {:?}, must be {wanted}", self.array.shape))
    }

    fn refused(&self, reason: String) -> PolicyError {
        PolicyError::content(&self.path, reason)
    }
}

impl Arrays {
    /// Reads the files. A safetensors file holds the field as `z`, the target as `zt`, the positions as `xi`;
    /// the file of the field may hold the other two.
    pub fn read(
        field: &Path,
        target: Option<&Path>,
        positions: Option<&Path>,
    ) -> Result<Arrays, PolicyError> {
        let with_it: Vec<String> = match Format::of(field)? {
            Format::Safetensors => Tensors::read(field)?.tensors.into_keys().collect(),
            _ => Vec::new(),
        };
        let other = |given: Option<&Path>, name: &str| {
            let inside = with_it.iter().any(|known| known == name).then_some(field);
            given.or(inside).map(|path| Read::new(path, name)).transpose()
        };
        Ok(Arrays {
            field: Read::new(field, FIELD)?,
            target: other(target, TARGET)?,
            positions: other(positions, POSITIONS)?,
        })
    }

    /// Arrays that are in memory already; errors call them `z`, `target` and `xi`.
    pub fn given(field: Array, target: Option<Array>, positions: Option<Array>) -> Arrays {
        let named = |name: &str, array| Read { path: PathBuf::from(name), array };
        Arrays {
            field: named("z", field),
            target: target.map(|array| named("target", array)),
            positions: positions.map(|array| named("xi", array)),
        }
    }

    /// The file of the field and the extents of its array.
    pub fn field_shape(&self) -> (&Path, &[usize]) {
        (&self.field.path, &self.field.array.shape)
    }

    /// The settings that the arrays imply, as `key=value`: the grid and the number of agents.
    pub fn settings(&self, config: &Config) -> Result<Vec<String>, PolicyError> {
        let wanted = extents(config, config.task.fields.len());
        let found = self.field.with_axes(wanted.len(), || shape_of(config))?.shape;
        let axes = &found[found.len() - config.task.dims..];
        let mut sets = vec![format!("grid.n={}", axes[0])];
        sets.extend(config.grid.n_y.and(axes.get(1)).map(|n| format!("grid.n_y={n}")));
        if let Some(positions) = &self.positions {
            sets.push(format!("agents={}", positions_of(positions, config)?.shape[0]));
        }
        Ok(sets)
    }

    /// The situation on the grid and with the agents of `config`; the target of a task that has none is 0,
    /// and agents without positions stand where they start.
    pub fn situation(&self, config: &Config) -> Result<Situation, PolicyError> {
        let fields = &config.task.fields;
        let tracked = fields.iter().filter(|field| field.tracked).count();
        if config.task.density {
            [Some(&self.field), self.target.as_ref()].into_iter().flatten().try_for_each(Read::check_mass)?;
        }
        let z = on_grid(&self.field, &extents(config, fields.len()))?;
        let target = match &self.target {
            Some(target) => of_all_fields(config, &on_grid(target, &extents(config, tracked))?),
            None if config.task.tracks => {
                let remedy = "there is none; give one (--target FILE)";
                return Err(self.field.refused(format!("{} tracks a target and {remedy}", config.task)));
            }
            None => vec![0.0; config.state_size()],
        };
        let xi = match &self.positions {
            Some(positions) => inside(positions, config)?,
            None => start_positions(config),
        };
        Ok(Situation { z, target, xi })
    }
}

/// What shape a field has, in words.
fn shape_of(config: &Config) -> String {
    let several = if config.task.fields.len() > 1 { "fields, " } else { "" };
    let axes = if config.task.dims == 1 { "n" } else { "n_x, n_y" };
    format!("[{several}{axes}]: a number per grid point of {}", config.task)
}

fn on_grid(read: &Read, extents: &[usize]) -> Result<Vec<f64>, PolicyError> {
    let wanted = || format!("{extents:?}, as the grid");
    let array = read.with_axes(extents.len(), wanted)?;
    if array.shape == extents { Ok(array.values) } else { Err(read.misshapen(&wanted())) }
}

fn positions_of(read: &Read, config: &Config) -> Result<Array, PolicyError> {
    let dims = config.task.dims;
    let wanted = if dims == 1 { "[agents]" } else { "[agents, 2]: x and y of every agent" };
    let array = read.with_axes(dims, || wanted.to_string())?;
    if array.shape[0] == 0 {
        return Err(read.refused("it holds no agent".to_string()));
    }
    let fits = dims == 1 || array.shape[1] == dims;
    if fits { Ok(array) } else { Err(read.misshapen(wanted)) }
}

/// Positions of the agents of `config`, which must be inside of the domain.
fn inside(read: &Read, config: &Config) -> Result<Vec<f64>, PolicyError> {
    let (agents, axes) = (config.agents, config.axes());
    let Array { shape, values } = positions_of(read, config)?;
    if shape[0] != agents {
        return Err(read.refused(format!("it has positions of {} agents, must be of {agents}", shape[0])));
    }
    let outside = |&i: &usize| !(0.0..=axes[i % axes.len()].length).contains(&values[i]);
    if let Some(i) = (0..values.len()).find(outside) {
        let (agent, axis, length) = (i / axes.len(), ["x", "y"][i % axes.len()], axes[i % axes.len()].length);
        return Err(read.refused(format!(
            "agent {agent} is outside of the domain: {axis} = {:?}, must be in [0, {length}]",
            values[i]
        )));
    }
    Ok(by_axis(&values, agents, axes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(field: Array, target: Option<Array>, positions: Option<Array>) -> Arrays {
        let read = |array| Read { path: "file".into(), array };
        Arrays { field: read(field), target: target.map(read), positions: positions.map(read) }
    }

    fn zeros(shape: &[usize]) -> Array {
        Array { shape: shape.to_vec(), values: vec![0.0; shape.iter().product()] }
    }

    #[test]
    fn arrays_say_how_fine_the_grid_is_and_how_many_agents_there_are() {
        let heat = Config::preset("heat1d").unwrap();
        let sets = arrays(zeros(&[199, 1]), None, Some(zeros(&[3]))).settings(&heat).unwrap();
        assert_eq!(sets, ["grid.n=199", "agents=3"]);
        let density = Config::preset("density2d").unwrap();
        let sets = arrays(zeros(&[64, 80]), None, Some(zeros(&[3, 2]))).settings(&density).unwrap();
        assert_eq!(sets, ["grid.n=64", "grid.n_y=80", "agents=3"]);
        let turning = arrays(zeros(&[64, 80]), None, Some(zeros(&[2, 3]))).settings(&density).unwrap_err();
        assert!(turning.to_string().contains("[2, 3], must be [agents, 2]"), "{turning}");
        let line = arrays(zeros(&[64]), None, None).settings(&density).unwrap_err();
        assert!(line.to_string().contains("[64], must be [n_x, n_y]"), "{line}");
    }

    #[test]
    fn what_is_missing_has_a_default_or_is_asked_for() {
        let [ks, heat] = ["ks1d", "heat1d"].map(|task| Config::preset(task).unwrap());
        let situation = arrays(zeros(&[128]), None, None).situation(&ks).unwrap();
        assert_eq!(situation.target, [0.0; 128]);
        assert_eq!(situation.xi, start_positions(&ks));
        let error = arrays(zeros(&[100]), None, None).situation(&heat).unwrap_err().to_string();
        assert!(
            error.contains("heat1d tracks a target and there is none; give one (--target FILE)"),
            "{error}"
        );
    }

    #[test]
    fn positions_are_turned_and_must_be_inside() {
        let config = Config::preset("density2d").unwrap().with_sets(&["agents=2".to_string()]).unwrap();
        let with = |values: [f64; 4]| {
            let positions = Array { shape: vec![2, 2], values: values.to_vec() };
            let density = || Array { shape: vec![64, 80], values: vec![1.0; 64 * 80] };
            arrays(density(), Some(density()), Some(positions)).situation(&config)
        };
        assert_eq!(with([0.1, 1.25, 0.3, 0.4]).unwrap().xi, [0.1, 0.3, 1.25, 0.4]);
        let error = with([0.1, 0.2, 1.2, 0.4]).unwrap_err().to_string();
        assert!(error.contains("agent 1 is outside of the domain: x = 1.2, must be in [0, 1]"), "{error}");
    }

    #[test]
    fn a_state_of_two_fields_has_targets_for_the_tracked_ones() {
        let task = crate::pair::pair();
        let config = task.config().unwrap();
        let ones = |shape: &[usize]| Array { values: vec![1.0; shape.iter().product()], ..zeros(shape) };
        let given = arrays(zeros(&[2, 100]), Some(ones(&[1, 100])), None);
        assert_eq!(given.settings(&config).unwrap(), ["grid.n=100"]);
        let target = given.situation(&config).unwrap().target;
        assert_eq!(target, [[0.0; 100], [1.0; 100]].concat());
        let error = arrays(zeros(&[100]), None, None).settings(&config).unwrap_err().to_string();
        assert!(error.contains("must be [fields, n]"), "{error}");
    }
}
