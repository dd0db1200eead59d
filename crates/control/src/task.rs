//! What a task is: a PDE under control, as a value that whoever has a PDE can make.
//!
//! A [`Task`] says what no setting can change: the equation with its scheme, how cases are drawn, what the
//! fields of the state are, how the domain ends. Numbers are settings; the task names them in its preset.
//! Everything else (closed loop, training, evaluation, baselines, figures) takes the task from the [`Config`]
//! it is given, and never asks which one it is. The tasks of this library are eight such values
//! ([`Tasks::built_in`]).
//!
//! ```
//! use cinoc_control::{Config, Task};
//! use cinoc_pde::{Boundary, Heat, RandomField};
//!
//! // the heat equation with a diffusivity of its own; agents, sensors and loss as everywhere in 1D
//! let task = Task::new(
//!     "rod",
//!     Boundary::Dirichlet,
//!     "agents = 4\n[physics]\nnu = 0.1\n[data]\nlength = 0.3",
//!     |config| Heat::new(config.domain().x, config.physics.number("nu"), config.time.dt),
//!     |config, draw| {
//!         let x = config.domain().x.points();
//!         let field = RandomField::new(&x, config.data.values.number("length"), 1.0);
//!         draw.each(|draw| [draw.normals(x.len()), draw.normals(x.len())].map(|n| field.bridged(&n)))
//!     },
//! );
//! let config: Config = task.config().unwrap();
//! assert_eq!((config.agents, config.task.name.as_str()), (4, "rod"));
//! ```

use std::fmt;
use std::sync::Arc;

use cinoc_adjoint::Threads;
use cinoc_pde::random_field::normals;
use cinoc_pde::{Boundary, Dynamics};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use toml::{Table, Value};

use crate::config::{Config, ConfigError, Key, Preset};
use crate::data::{Pool, Progress};

type MakeDynamics = dyn Fn(&Config) -> Box<dyn Dynamics> + Send + Sync;
type DrawCases = dyn Fn(&Config, &mut Draw<'_>) -> Fields + Send + Sync;
type Check = dyn Fn(&Config) -> Result<(), ConfigError> + Send + Sync;

/// A PDE under control.
///
/// ```
/// use cinoc_control::Tasks;
///
/// let heat = Tasks::built_in().find("heat1d").unwrap();
/// assert!(heat.tracks && heat.mobile && heat.dims == 1);
/// ```
#[derive(Clone)]
pub struct Task {
    /// Its name in configs and on the command line.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// Axes of the domain: 1 or 2.
    pub dims: usize,
    /// How the domain ends.
    pub boundary: Boundary,
    /// The fields of the state, in the order of its rows.
    pub fields: Vec<Field>,
    /// Whether cases have targets to track; if not, the field is driven to rest.
    pub tracks: bool,
    /// Whether agents move.
    pub mobile: bool,
    /// Whether the field is a density that agents carry to a target: its moments are recorded, and agents
    /// know the way to both centroids.
    pub density: bool,
    /// Whether the height of an actuation kernel is its largest value on the grid, not in between.
    pub peak_on_grid: bool,
    /// Where agents start, as shares of every axis: from the first to the second of them.
    pub starts: Vec<(f64, f64)>,
    /// A typical size of the field: plain networks are given fields in this unit.
    pub unit: f64,
    /// What the keys of its own mean and which values they may have.
    pub keys: Vec<Key>,
    /// Changes whenever cases of the same settings would come out differently: cases that are kept on disk
    /// are those of one version.
    pub cases_version: String,
    /// Name of the published cases, if there are any.
    pub(crate) published: Option<&'static str>,
    pub(crate) preset: Settings,
    pub(crate) paper: Option<&'static str>,
    pub(crate) dynamics: Arc<MakeDynamics>,
    pub(crate) cases: Arc<DrawCases>,
    pub(crate) check: Arc<Check>,
}

/// One field of the state.
///
/// ```
/// use cinoc_control::Field;
///
/// // a predator that is driven to a target, and its prey, which agents see
/// let state = [Field::new("p").positive(), Field::new("q").positive().untracked()];
/// assert!(state[1].observed && !state[1].tracked);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its symbol in figures.
    pub name: String,
    /// Whether agents see it: its distance from the target where it is tracked, else the field itself.
    pub observed: bool,
    /// Whether it is driven to a target.
    pub tracked: bool,
    /// Whether it is never negative; decides its colours, and that negative targets get a warning.
    pub positive: bool,
}

impl Field {
    /// A field that is observed and tracked.
    pub fn new(name: &str) -> Field {
        Field { name: name.to_string(), observed: true, tracked: true, positive: false }
    }

    /// The same without a target.
    pub fn untracked(self) -> Field {
        Field { tracked: false, ..self }
    }

    /// The same, hidden from the agents.
    pub fn hidden(self) -> Field {
        Field { observed: false, ..self }
    }

    /// The same, never negative.
    pub fn positive(self) -> Field {
        Field { positive: true, ..self }
    }
}

/// Where the settings of a preset stand.
#[derive(Clone)]
pub(crate) enum Settings {
    /// All of them.
    Complete(&'static str),
    /// What differs from what tasks of its kind have in common, and the keys of its own.
    Changes(String),
}

/// Initial states and targets, one case after the other: `[cases][fields n_x n_y]` each.
///
/// ```
/// use cinoc_control::Fields;
///
/// // one case on a grid of three points
/// let fields = Fields { start: vec![0.0, 1.0, 0.0], target: vec![0.0; 3] };
/// assert_eq!(fields.start.len(), fields.target.len());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Initial states.
    pub start: Vec<f64>,
    /// Targets; 0 for fields that are not tracked.
    pub target: Vec<f64>,
}

/// A request for cases, and the random numbers to draw them with.
///
/// ```
/// use cinoc_control::{Config, Draw, Fields};
///
/// // how a task draws its cases: waves of random height, to be brought to rest
/// fn waves(config: &Config, draw: &mut Draw<'_>) -> Fields {
///     let x = config.domain().x.points();
///     draw.each(|draw| {
///         let height = draw.uniform([0.5, 1.0]);
///         [x.iter().map(|x| height * x.sin()).collect(), vec![0.0; x.len()]]
///     })
/// }
/// ```
pub struct Draw<'a> {
    /// Random numbers. The first cases must not depend on how many follow.
    pub rng: &'a mut ChaCha8Rng,
    /// What the cases are for.
    pub pool: Pool,
    /// How many.
    pub count: usize,
    /// To draw them with.
    pub threads: &'a Threads,
    /// Where to report progress.
    pub progress: Progress<'a>,
}

impl Draw<'_> {
    /// Independent numbers of the standard normal distribution.
    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        normals(self.rng, count)
    }

    /// A number between two others.
    pub fn uniform(&mut self, [low, high]: [f64; 2]) -> f64 {
        low + (high - low) * self.rng.random::<f64>()
    }

    /// Cases drawn one by one: each a start and a target.
    pub fn each(&mut self, mut one: impl FnMut(&mut Self) -> [Vec<f64>; 2]) -> Fields {
        let mut fields = Fields::default();
        for done in 0..self.count {
            (self.progress)(done, self.count);
            let [start, target] = one(self);
            fields.start.extend(start);
            fields.target.extend(target);
        }
        fields
    }
}

impl Task {
    /// A task in 1D or 2D whose mobile agents track targets.
    ///
    /// `preset` is TOML: what differs from the settings that all tasks of this kind have in common, and in
    /// `[physics]` and `[data]` the keys of this task. `[grid] n_y`, or an equation on a rectangle, needs
    /// [`Task::in_2d`].
    pub fn new<D: Dynamics + 'static>(
        name: &str,
        boundary: Boundary,
        preset: &str,
        dynamics: impl Fn(&Config) -> D + Send + Sync + 'static,
        cases: impl Fn(&Config, &mut Draw<'_>) -> Fields + Send + Sync + 'static,
    ) -> Task {
        Task {
            name: name.to_string(),
            title: name.to_string(),
            dims: 1,
            boundary,
            fields: vec![Field::new("z")],
            tracks: true,
            mobile: true,
            density: false,
            peak_on_grid: false,
            starts: vec![(0.2, 0.8)],
            unit: 1.0,
            keys: Vec::new(),
            cases_version: String::new(),
            published: None,
            preset: Settings::Changes(preset.to_string()),
            paper: None,
            dynamics: Arc::new(move |config| Box::new(dynamics(config))),
            cases: Arc::new(cases),
            check: Arc::new(|_| Ok(())),
        }
    }

    /// The same on a rectangle.
    pub fn in_2d(mut self) -> Task {
        self.dims = 2;
        self.starts = vec![self.starts[0]; 2];
        self
    }

    /// The same with agents that stay where they are, spread over the whole domain.
    pub fn with_static_agents(mut self) -> Task {
        self.mobile = false;
        self.starts = vec![(0.0, 1.0); self.dims];
        self
    }

    /// The same without targets: the field is driven to rest.
    pub fn to_rest(mut self) -> Task {
        self.tracks = false;
        self
    }

    /// The same with a line that says what it is about.
    pub fn titled(mut self, title: &str) -> Task {
        self.title = title.to_string();
        self
    }

    /// The same with a state of these fields.
    pub fn with_fields(mut self, fields: impl IntoIterator<Item = Field>) -> Task {
        self.fields = fields.into_iter().collect();
        self
    }

    /// The same with a meaning and a range for keys of its own.
    pub fn with_keys(mut self, keys: impl IntoIterator<Item = Key>) -> Task {
        self.keys.extend(keys);
        self
    }

    /// The same with a check of settings that depend on each other, such as a time step that must be stable.
    pub fn checked(
        mut self,
        check: impl Fn(&Config) -> Result<(), ConfigError> + Send + Sync + 'static,
    ) -> Task {
        self.check = Arc::new(check);
        self
    }

    /// Its default settings.
    pub fn config(&self) -> Result<Config, ConfigError> {
        self.resolve(Preset::Default, "cinoc", None, &[])
    }

    /// The settings of a preset and a method, overridden by the text of a TOML file, then by `key=value`
    /// settings in their order.
    pub fn resolve(
        &self,
        preset: Preset,
        method: &str,
        file: Option<&str>,
        sets: &[String],
    ) -> Result<Config, ConfigError> {
        Config::of_task(&Arc::new(self.clone()), preset, method, file, sets)
    }

    /// Its equation with these settings.
    pub(crate) fn make_dynamics(&self, config: &Config) -> Box<dyn Dynamics> {
        (self.dynamics)(config)
    }

    pub(crate) fn draw_cases(&self, config: &Config, mut draw: Draw<'_>) -> Fields {
        (self.cases)(config, &mut draw)
    }

    pub(crate) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        (self.check)(config)
    }

    /// Whether it is a task of a user, not of this library.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.preset, Settings::Changes(_))
    }

    /// All its settings as a table.
    pub(crate) fn table(&self) -> Result<Table, ConfigError> {
        let changes = match &self.preset {
            Settings::Complete(text) => return crate::config::parse(text),
            Settings::Changes(changes) => changes,
        };
        let mut table = self.common();
        for (name, value) in crate::config::parse(changes)? {
            match (name.as_str(), value) {
                // the task names the keys of these two
                ("physics" | "data", Value::Table(own)) => {
                    if let Value::Table(section) = table.entry(name).or_insert(Value::Table(Table::new())) {
                        section.extend(own);
                    }
                }
                (_, value) => crate::config::overlay(&mut table, Table::from_iter([(name, value)]))?,
            }
        }
        table.insert("task".to_string(), Value::String(self.name.clone()));
        Ok(table)
    }

    /// The settings that tasks of its kind have in common: those of the heat tasks without their physics and
    /// cases, in 1D with the view and the length of training of `own_1d.toml`.
    fn common(&self) -> Table {
        let (like, other) = match self.dims {
            1 => (include_str!("../presets/heat1d.toml"), include_str!("../presets/own_1d.toml")),
            _ => (include_str!("../presets/heat2d.toml"), ""),
        };
        let parse = |text: &str| text.parse::<Table>().expect("the presets of the library are valid TOML");
        let mut table = parse(like);
        crate::config::overlay(&mut table, parse(other)).expect("they have the same keys");
        table.insert("task".to_string(), Value::String(self.name.clone()));
        table.remove("physics");
        let drop = |table: &mut Table, section: &str, key: &str| {
            table.get_mut(section).and_then(Value::as_table_mut).and_then(|section| section.remove(key));
        };
        for key in ["std", "length_start", "length_target", "pairs"] {
            drop(&mut table, "data", key);
        }
        if !self.mobile {
            table.remove("safety");
            drop(&mut table, "actuation", "v_max");
            for key in ["effort_v", "bound", "coll", "accel"] {
                drop(&mut table, "loss", key);
            }
        }
        if !self.tracks {
            drop(&mut table, "observe", "target");
        }
        table
    }

    /// Numbers of the fields with a property.
    pub(crate) fn fields_with(&self, has: impl Fn(&Field) -> bool) -> Vec<usize> {
        (0..self.fields.len()).filter(|&i| has(&self.fields[i])).collect()
    }

    /// The field that figures show: the first with a target.
    pub fn shown(&self) -> usize {
        self.fields.iter().position(|field| field.tracked).unwrap_or(0)
    }
}

impl PartialEq for Task {
    /// By name: a program knows one task of a name.
    fn eq(&self, other: &Task) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// The tasks that a program knows, by name.
///
/// ```
/// use cinoc_control::Tasks;
///
/// assert!(Tasks::built_in().names().starts_with("density2d, fkpp1d"));
/// assert!(Tasks::built_in().find("fkpp").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Tasks(Vec<Arc<Task>>);

impl Tasks {
    /// These tasks.
    pub fn new(tasks: impl IntoIterator<Item = Task>) -> Tasks {
        Tasks(tasks.into_iter().map(Arc::new).collect())
    }

    /// The eight tasks of this library, in alphabetical order.
    pub fn built_in() -> &'static Tasks {
        crate::tasks::all()
    }

    /// One task alone.
    pub fn only(task: &Arc<Task>) -> Tasks {
        Tasks(vec![task.clone()])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.0.iter()
    }

    /// Their names, separated by commas.
    pub fn names(&self) -> String {
        self.0.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The task of a name.
    pub fn find(&self, name: &str) -> Result<&Arc<Task>, ConfigError> {
        self.0.iter().find(|task| task.name == name).ok_or_else(|| {
            let nearest = self.0.iter().min_by_key(|task| strsim::damerau_levenshtein(&task.name, name));
            ConfigError::UnknownTask {
                task: name.to_string(),
                nearest: nearest.map_or_else(String::new, |task| task.name.clone()),
                known: self.names(),
            }
        })
    }
}
