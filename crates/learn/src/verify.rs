//! Golden files: closed-loop steps and gradients of an independent implementation, recomputed and compared.
//!
//! A golden file holds the inputs of a few short rollouts (fields, positions, parameters), everything that
//! follows from them, and, as JSON in its metadata, which task and options it is about. Whatever it holds is
//! recomputed in double precision; a file that asks for something unknown is an error, never skipped.

use crate::cases_file::by_axis;
use cinoc_adjoint::{Inputs, Program, Strategy, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::config::ConfigError;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, decision, policy};
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Largest relative error of a tensor that still counts as equal.
pub const TOLERANCE: f64 = 1e-9;

/// How far a golden file and its recomputation lie apart.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// The file.
    pub file: PathBuf,
    /// The task it is about.
    pub task: String,
    /// Largest difference of every tensor, relative to its largest value.
    pub errors: BTreeMap<String, f64>,
    /// The largest of them.
    pub max_error: f64,
    /// Whether it is within [`TOLERANCE`].
    pub ok: bool,
}

/// Why a golden file could not be recomputed.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not a golden file.
    #[error("{path}: not a golden file: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It is about a task or an option that does not exist here.
    #[error("{path}: {source}")]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with the settings.
        source: ConfigError,
    },
    /// It holds an option or a tensor that is not known here.
    #[error("{path}: {what} {name:?} is not supported")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// `option` or `tensor`.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// Recomputes all that a golden file holds.
pub fn verify(path: &Path, threads: &Threads) -> Result<Verification, VerifyError> {
    let golden = Golden::read(path)?;
    let config = golden.config()?.plain();
    let mut computed = rollouts(&golden, &config, threads)?;
    computed.extend(first_decision(&golden, &config, threads)?);

    let mut errors = BTreeMap::new();
    for (name, expected) in &golden.tensors {
        if matches!(name.as_str(), "z0" | "zt" | "xi0") || name.starts_with("params.") {
            continue;
        }
        let actual = computed.get(name).filter(|actual| actual.len() == expected.values.len());
        let actual = actual.ok_or_else(|| golden.unsupported("tensor", name))?;
        errors.insert(name.clone(), relative_error(actual, &expected.values));
    }
    let max_error = errors.values().copied().fold(0.0, f64::max);
    let ok = max_error <= TOLERANCE && !errors.is_empty();
    Ok(Verification { file: path.to_path_buf(), task: config.task.to_string(), errors, max_error, ok })
}

type Tensors = BTreeMap<String, Vec<f64>>;

/// Trajectories, loss terms, gradients, and the run without control.
fn rollouts(golden: &Golden, config: &Config, threads: &Threads) -> Result<Tensors, VerifyError> {
    let (params, cases) = (golden.params(config)?, golden.cases(config)?);
    let which: Vec<usize> = (0..cases.count).collect();
    let closed_loop = ClosedLoop::new(config, cases.count);
    let batch = closed_loop.batch(&cases, &which, Disturbance::evaluation(0, 0));
    let ran = closed_loop.forward(&params, &batch, threads);
    let mut found = Tensors::new();
    found.insert("z_traj".to_string(), ran.z().to_vec());
    found.extend(ran.u().map(|u| ("u_traj".to_string(), u.to_vec())));
    found.extend(ran.xi().map(|xi| ("xi_traj".to_string(), by_agent(xi, config))));
    found.extend(ran.v().map(|v| ("v_traj".to_string(), by_agent(v, config))));
    for term in closed_loop.terms() {
        let values = ran.outcome().term(term.term);
        let mean = vec![values.iter().sum::<f64>() / cases.count as f64];
        let alias = ALIASES.iter().find(|(_, term_name)| *term_name == term.name);
        found.extend(alias.map(|(alias, _)| (format!("loss.{alias}"), mean.clone())));
        found.insert(format!("loss.{}", term.name), mean);
    }

    let gradient = closed_loop.gradient(&params, &batch, threads, Strategy::Recompute);
    found.insert("loss.total".to_string(), vec![gradient.loss]);
    found.insert("grad.z0".to_string(), closed_loop.z_gradient(&gradient));
    found.insert("grad.xi0".to_string(), by_agent(&closed_loop.xi_gradient(&gradient), config));
    found.insert("xi_default".to_string(), by_agent(&start_positions(config), config));
    let mut rest = gradient.params.as_slice();
    for (name, size) in param_tensors(config) {
        let (values, others) = rest.split_at(size);
        found.insert(format!("grad.{name}"), values.to_vec());
        rest = others;
    }

    let free = ClosedLoop::uncontrolled(config, cases.count);
    let ran = free.forward(&[], &free.batch(&cases, &which, Disturbance::evaluation(0, 0)), threads);
    let last = ran.z().chunks_exact(cases.n).skip(ran.steps - 1);
    found.insert("z_uncontrolled".to_string(), last.step_by(ran.steps).flatten().copied().collect());
    Ok(found)
}

/// Observation, outputs of the network and forcing in the first step.
fn first_decision(golden: &Golden, config: &Config, threads: &Threads) -> Result<Tensors, VerifyError> {
    let (params, cases) = (golden.params(config)?, golden.cases(config)?);
    let xi0 = cases.xi0.as_deref().expect("cases of golden files have positions");
    let inspection = decision::inspection(config);
    let seen = inspection.seen;
    let inputs = Inputs::new(cases.count, 1, &params).with(seen.target, &cases.zt);
    let inputs = inputs.with(seen.z, &cases.z0).with(seen.xi, xi0);
    let outcome = Program::new(&inspection.trace, cases.count).forward(&inputs, threads);
    let mut found = Tensors::new();
    found.insert("forcing0".to_string(), outcome.record(inspection.forcing).to_vec());
    let per_agent =
        [("obs0", inspection.observation), ("features0", inspection.features), ("raw0", inspection.raw)];
    for (name, record) in per_agent {
        let (values, shape) = (outcome.record(record), record.shape());
        // per case from [rows][agents] to [agents][rows]
        let mut turned = Vec::with_capacity(values.len());
        for case in values.chunks_exact(shape.size()) {
            turned.extend((0..shape.size()).map(|k| case[k % shape.rows * shape.cols + k / shape.rows]));
        }
        found.insert(name.to_string(), turned);
    }
    Ok(found)
}

/// Positions or velocities from axis by axis to agent by agent: `[..][dims][agents]` to `[..][agents][dims]`.
fn by_agent(values: &[f64], config: &Config) -> Vec<f64> {
    // turning back is the same with agents and axes exchanged
    by_axis(values, config.task.dims, config.agents)
}

/// Names and sizes of the parameters, in their order.
fn param_tensors(config: &Config) -> Vec<(String, usize)> {
    let both = |layer: policy::Layer| {
        let name = &layer.name;
        [(format!("{name}.w"), layer.inputs * layer.outputs), (format!("{name}.b"), layer.outputs)]
    };
    policy::layers(config).into_iter().flat_map(both).collect()
}

/// Below this a value is rounding, such as the lost mass of a scheme that keeps it.
const ROUNDING: f64 = 1e-12;

/// Largest difference relative to the largest expected value.
fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    let scale = expected.iter().fold(ROUNDING, |largest, x| largest.max(x.abs()));
    let differences = actual.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale);
    // NaN must not hide behind max
    differences.fold(0.0, |worst, d| if d <= worst { worst } else { d })
}

/// Options that the extents of the tensors tell anyway.
const EXTENTS: [&str; 4] = ["agents", "n", "nx", "ny"];

/// Options a file may change, and the key each has in a config.
const OPTIONS: [(&str, &str); 33] = [
    ("length", "grid.length"),
    ("dt", "time.dt"),
    ("substeps", "time.substeps"),
    ("nu", "physics.nu"),
    ("rho", "physics.rho"),
    ("drift", "physics.drift"),
    ("limit", "physics.limit"),
    ("diffusion", "physics.diffusion"),
    ("transport", "physics.transport"),
    ("sigma", "actuation.sigma"),
    ("normalization", "actuation.normalization"),
    ("u_max", "actuation.u_max"),
    ("v_max", "actuation.v_max"),
    ("gain", "actuation.gain"),
    ("speed", "actuation.speed"),
    ("window", "observe.window"),
    ("patch", "observe.patch"),
    ("observe", "observe.view"),
    ("observe_how", "observe.view"),
    ("view", "observe.view"),
    ("sampling", "observe.sampling"),
    ("n_ref", "observe.n_ref"),
    ("n_ref_y", "observe.n_ref_y"),
    ("fusion", "policy.fusion"),
    ("softnorm", "policy.softnorm"),
    ("trunk_base", "policy.trunk_base"),
    ("conv", "policy.conv"),
    ("padding", "policy.padding"),
    ("layout", "obstacles.layout"),
    ("filter", "obstacles.filter"),
    ("safety", "obstacles.margin"),
    ("margin", "safety.margin"),
    ("coll_radius", "safety.radius"),
];

/// Other names of terms in files.
const ALIASES: [(&str, &str); 1] = [("energy", "track")];

#[derive(Deserialize)]
struct Description {
    task: String,
    #[serde(default)]
    overrides: BTreeMap<String, serde_json::Value>,
    weights: BTreeMap<String, f64>,
}

struct Tensor {
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// A golden file in memory.
struct Golden {
    path: PathBuf,
    description: Description,
    tensors: BTreeMap<String, Tensor>,
}

impl Golden {
    fn read(path: &Path) -> Result<Golden, VerifyError> {
        let format = |reason: String| VerifyError::Format { path: path.to_path_buf(), reason };
        let bytes =
            std::fs::read(path).map_err(|source| VerifyError::Read { path: path.to_path_buf(), source })?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| format(error.to_string()))?;
        let description = header.metadata().as_ref().and_then(|metadata| metadata.get("description"));
        let description = description.ok_or_else(|| format("no description in its metadata".to_string()))?;
        let description =
            serde_json::from_str(description).map_err(|error| format(format!("its description: {error}")))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|error| format(error.to_string()))?;
        let mut tensors = BTreeMap::new();
        for (name, view) in file.iter() {
            if view.dtype() != Dtype::F64 {
                return Err(format(format!("tensor {name:?} is not in double precision")));
            }
            let number = |b: &[u8]| f64::from_le_bytes(b.try_into().expect("chunks have eight bytes"));
            let values = view.data().chunks_exact(8).map(number).collect();
            tensors.insert(name.to_string(), Tensor { shape: view.shape().to_vec(), values });
        }
        Ok(Golden { path: path.to_path_buf(), description, tensors })
    }

    /// The preset of its task with its options, its weights and the extents of its tensors.
    fn config(&self) -> Result<Config, VerifyError> {
        let refused = |source| VerifyError::Config { path: self.path.clone(), source };
        let preset = Config::paper(&self.description.task).map_err(refused)?;
        let mut sets = vec![
            format!("agents={}", self.extent("xi0", 1)?),
            format!("grid.n={}", self.extent("z0", 1)?),
            format!("time.steps={}", self.extent("z_traj", 1)?),
        ];
        if preset.grid.n_y.is_some() {
            sets.push(format!("grid.n_y={}", self.extent("z0", 2)?));
        }
        if preset.policy.padding.is_some() {
            // what a file means unless it says otherwise
            sets.push("policy.padding=zero".to_string());
        }
        let overrides = &self.description.overrides;
        for (name, value) in overrides.iter().filter(|(name, _)| !EXTENTS.contains(&name.as_str())) {
            if name == "refine" {
                sets.extend(self.reference_lattice(&preset, value)?);
                continue;
            }
            let known = OPTIONS.iter().find(|(option, _)| option == name);
            let (_, key) = known.ok_or_else(|| self.unsupported("option", name))?;
            sets.push(format!("{key}={value}"));
        }
        let terms = serde_json::to_value(&preset.loss).expect("weights are plain data");
        let terms = terms.as_object().expect("weights are a table").keys();
        sets.extend(terms.map(|term| format!("loss.{term}=0")));
        for (name, weight) in &self.description.weights {
            let alias = ALIASES.iter().find(|(alias, _)| alias == name);
            sets.push(format!("loss.{}={weight}", alias.map_or(name.as_str(), |(_, term)| term)));
        }
        preset.with_sets(&sets).map_err(refused)
    }

    /// The lattice of a file whose grid has `refine` cells per reference cell.
    fn reference_lattice(
        &self,
        preset: &Config,
        refine: &serde_json::Value,
    ) -> Result<Vec<String>, VerifyError> {
        let refine = refine.as_u64().filter(|&refine| refine > 0);
        let refine =
            refine.ok_or_else(|| self.format("refine must be a whole number above 0".to_string()))?;
        let lattice = |n: usize| match preset.periodic() {
            true => n / refine as usize,
            false => (n - 1) / refine as usize + 1,
        };
        let mut sets = vec![format!("observe.n_ref={}", lattice(self.extent("z0", 1)?))];
        if preset.observe.n_ref_y.is_some() {
            sets.push(format!("observe.n_ref_y={}", lattice(self.extent("z0", 2)?)));
        }
        Ok(sets)
    }

    fn cases(&self, config: &Config) -> Result<Cases, VerifyError> {
        let values = |name| self.tensor(name).map(|tensor| tensor.values.clone());
        let (z0, count) = (values("z0")?, self.extent("z0", 0)?);
        let (agents, xi0) = (self.extent("xi0", 1)?, values("xi0")?);
        if count == 0 || agents == 0 {
            return Err(self.format("no case or no agent in it".to_string()));
        }
        let (zt, n, dims) = (values("zt")?, config.state_size(), config.task.dims);
        for (name, found, wanted) in
            [("z0", z0.len(), n), ("zt", zt.len(), n), ("xi0", xi0.len(), agents * dims)]
        {
            if found != count * wanted {
                let wanted = format!("{count} cases of {wanted}");
                return Err(self.format(format!("tensor {name:?} has {found} numbers instead of {wanted}")));
            }
        }
        Ok(Cases { count, n, z0, zt, xi0: Some(by_axis(&xi0, agents, dims)) })
    }

    fn params(&self, config: &Config) -> Result<Vec<f64>, VerifyError> {
        let mut params = Vec::new();
        for (name, size) in param_tensors(config) {
            let tensor = self.tensor(&format!("params.{name}"))?;
            if tensor.values.len() != size {
                return Err(
                    self.format(format!("params.{name} has shape {:?}, needs {size} numbers", tensor.shape))
                );
            }
            params.extend_from_slice(&tensor.values);
        }
        Ok(params)
    }

    fn tensor(&self, name: &str) -> Result<&Tensor, VerifyError> {
        self.tensors.get(name).ok_or_else(|| self.format(format!("no tensor {name:?}")))
    }

    fn extent(&self, name: &str, axis: usize) -> Result<usize, VerifyError> {
        let shape = &self.tensor(name)?.shape;
        shape.get(axis).copied().ok_or_else(|| self.format(format!("{name:?} has shape {shape:?}")))
    }

    fn format(&self, reason: String) -> VerifyError {
        VerifyError::Format { path: self.path.clone(), reason }
    }

    fn unsupported(&self, what: &'static str, name: &str) -> VerifyError {
        VerifyError::Unsupported { path: self.path.clone(), what, name: name.to_string() }
    }
}
