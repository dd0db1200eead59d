//! Many agents decide in blocks: a block is few enough to keep all its values in cache, and threads take
//! blocks.
//!
//! What agents share is worked out once per decision. Three stages:
//!
//! 1. the *crowd*, where the policy asks for it: groups of agents leave their densities on a lattice, which
//!    are added in the order of the groups;
//! 2. the *common* part: the field as it is seen, densities with their gradients, feature maps of the whole
//!    field;
//! 3. the *blocks*: every agent reads what is around it and decides.
//!
//! The second and the third are one trace, cut at what depends on the positions of a block
//! ([`cinoc_adjoint::Trace::split`]). No stage depends on the number of threads, so neither do the bits of a
//! decision.

use super::Told;
use crate::config::Config;
use crate::policy::Sight;
use cinoc_adjoint::{Input, Inputs, Program, Real, Record, Session, Threads, Tracer};

/// Agents whose densities are computed together.
const GROUP: usize = 1024;

/// Blocks are a multiple of this, as far as there are agents: a vector of any instruction set.
const LANES: usize = 16;

/// The programs of all stages.
pub(super) struct Stages<T: Real> {
    agents: usize,
    dims: usize,
    crowd: Option<CrowdStage<T>>,
    common: Program<T>,
    z: Input,
    /// Densities in the common stage, where the policy asks for them.
    densities: Option<[Input; 2]>,
    blocks: Program<T>,
    /// Agents of a block.
    block: usize,
    target: Input,
    /// Positions of a block.
    xi: Input,
    /// From the common stage to the blocks.
    handed: Vec<(Record, Input)>,
    told: Told,
}

struct CrowdStage<T: Real> {
    program: Program<T>,
    group: usize,
    xi: Input,
    alive: Input,
    densities: [Record; 2],
}

/// Agents of a part, where all are divided into parts of at most `most`, about equal and with full vectors.
fn parts(agents: usize, most: usize) -> usize {
    agents.div_ceil(agents.div_ceil(most)).next_multiple_of(LANES).min(most)
}

impl<T: Real> Stages<T> {
    pub fn new(config: &Config, most: usize) -> Stages<T> {
        let (agents, dims) = (config.agents, config.task.dims);
        let block = parts(agents, most);
        let sense = Sight::crowd(config);
        let crowd = sense.as_ref().map(|sense| {
            let (tracer, group) = (Tracer::new(), parts(agents, GROUP));
            let (xi, alive) = (tracer.sequence("xi", dims, group), tracer.sequence("alive", 1, group));
            let densities = sense.densities(xi, alive).map(|density| tracer.record("density", density));
            let (xi, alive) = (xi.input(), alive.input());
            CrowdStage { program: Program::new(&tracer.finish(), 1), group, xi, alive, densities }
        });

        let tracer = Tracer::new();
        let (rows, cols) = config.state_shape();
        let (z, target) = (tracer.sequence("z", rows, cols), tracer.fixed("target", rows, cols));
        let densities = sense
            .as_ref()
            .map(|sense| sense.density_shapes().map(|(rows, cols)| tracer.sequence("density", rows, cols)));
        let xi = tracer.sequence("xi", dims, block);
        let neighbours = sense.zip(densities).map(|(sense, densities)| sense.among(xi, densities));
        let told = Told::trace(&tracer, config, Sight { z, target, xi, neighbours }, None);
        let (z, target, xi) = (z.input(), target.input(), xi.input());
        let densities = densities.map(|both| both.map(|density| density.input()));
        let split = tracer.finish().split(xi);
        Stages {
            agents,
            dims,
            crowd,
            common: Program::new(&split.before, 1),
            z,
            densities,
            blocks: Program::new(&split.after, 1),
            block,
            target,
            xi: split.on,
            handed: split.handed,
            told,
        }
    }

    pub fn told(&self) -> Told {
        self.told
    }
}

/// All stages at work.
pub(super) struct Blocks<T: Real> {
    crowd: Option<Crowd<T>>,
    common: Session<T>,
    z: Input,
    target: Input,
    /// What the blocks take from the common stage.
    handed: Vec<Handed<T>>,
    /// One per thread.
    workers: Vec<Worker<T>>,
    blocks: Vec<Block<T>>,
    told: Told,
    agents: usize,
    dims: usize,
    threads: Threads,
    /// Counts decisions.
    round: u64,
}

struct Handed<T> {
    record: Record,
    input: Input,
    values: Vec<T>,
}

struct Worker<T: Real> {
    session: Session<T>,
    on: Input,
    xi: Vec<T>,
    /// The decision whose common values it has.
    round: u64,
}

/// Some agents, and what they were told.
struct Block<T> {
    first: usize,
    count: usize,
    u: Vec<T>,
    v: Vec<T>,
}

impl<T: Real> Blocks<T> {
    pub fn new(stages: &Stages<T>, params: &[T], target: &[T], threads: &Threads) -> Blocks<T> {
        let zeros = |count: usize| vec![T::default(); count];
        let inputs = Inputs::new(1, 0, params).with(stages.target, target);
        let handed: Vec<_> = (stages.handed.iter())
            .map(|&(record, input)| Handed { record, input, values: zeros(input.size()) })
            .collect();
        let with_handed =
            handed.iter().fold(inputs.clone(), |inputs, handed| inputs.with(handed.input, &handed.values));
        let worker = |_| Worker {
            session: Session::new(&stages.blocks, &with_handed),
            on: stages.xi,
            xi: zeros(stages.dims * stages.block),
            round: 0,
        };
        let [u, v] = stages.told.rows().map(|rows| rows * stages.block);
        let block = |first: usize| Block {
            first,
            count: stages.block.min(stages.agents - first),
            u: zeros(u),
            v: zeros(v),
        };
        let blocks: Vec<_> = (0..stages.agents).step_by(stages.block).map(block).collect();
        let workers = (0..threads.count().min(blocks.len())).map(worker).collect();
        let common = Session::new(&stages.common, &inputs);
        let crowd = (stages.crowd.as_ref().zip(stages.densities))
            .map(|(crowd, densities)| Crowd::new(crowd, densities, stages, threads));
        Blocks {
            crowd,
            common,
            z: stages.z,
            target: stages.target,
            handed,
            workers,
            blocks,
            told: stages.told,
            agents: stages.agents,
            dims: stages.dims,
            threads: threads.clone(),
            round: 0,
        }
    }

    /// Goes on towards another target.
    pub fn aim(&mut self, target: &[T]) {
        self.common.restart(0, &[(self.target, target)]);
        for worker in &mut self.workers {
            worker.session.restart(0, &[(self.target, target)]);
        }
    }

    /// Decisions for the field `z` and agents at `xi`, to `u` and `v`.
    pub fn decide(&mut self, z: &[T], xi: &[T], u: &mut [T], v: &mut [T]) {
        assert_eq!(xi.len(), self.dims * self.agents, "positions of all agents");
        let one = Threads::one();
        match &mut self.crowd {
            Some(crowd) => {
                crowd.sense(xi, &self.threads);
                let [near, wide] = &crowd.densities;
                self.common.step(&[(self.z, z), (near.0, &near.1), (wide.0, &wide.1)], &one);
            }
            None => self.common.step(&[(self.z, z)], &one),
        }
        for Handed { record, values, .. } in &mut self.handed {
            self.common.copy_record(*record, values);
        }
        self.round += 1;
        let (round, handed, told, dims) = (self.round, &self.handed, self.told, self.dims);
        self.threads.share(&mut self.workers, &mut self.blocks, |worker, _, block| {
            if worker.round != round {
                worker.round = round;
                for Handed { input, values, .. } in handed {
                    worker.session.restart(0, &[(*input, values)]);
                }
            }
            fill(&mut worker.xi, xi, dims, block.first, block.count);
            worker.session.step(&[(worker.on, &worker.xi)], &Threads::one());
            for (record, values) in [(told.u, &mut block.u), (told.v, &mut block.v)] {
                if let Some(record) = record {
                    worker.session.copy_record(record, values);
                }
            }
        });
        for block in &self.blocks {
            for (all, some) in [(&mut *u, &block.u), (&mut *v, &block.v)] {
                let rows = all.len() / self.agents;
                for row in 0..rows {
                    let from = &some[row * (some.len() / rows)..][..block.count];
                    all[row * self.agents + block.first..][..block.count].copy_from_slice(from);
                }
            }
        }
    }
}

/// Positions of the agents from `first` on, `[dims][some]` of `[dims][all]`; the last one is repeated to the
/// end.
fn fill<T: Real>(some: &mut [T], all: &[T], dims: usize, first: usize, count: usize) {
    let (width, agents) = (some.len() / dims, all.len() / dims);
    for (some, all) in some.chunks_exact_mut(width).zip(all.chunks_exact(agents)) {
        some[..count].copy_from_slice(&all[first..first + count]);
        some[count..].fill(all[first + count - 1]);
    }
}

/// The first stage at work.
struct Crowd<T: Real> {
    workers: Vec<Depositor<T>>,
    groups: Vec<Group<T>>,
    /// Of all agents, with their inputs of the common stage.
    densities: [(Input, Vec<T>); 2],
    dims: usize,
}

struct Depositor<T: Real> {
    session: Session<T>,
    xi: (Input, Vec<T>),
    alive: (Input, Vec<T>),
    densities: [Record; 2],
}

/// Some agents and their densities.
struct Group<T> {
    first: usize,
    count: usize,
    densities: [Vec<T>; 2],
}

impl<T: Real> Crowd<T> {
    fn new(stage: &CrowdStage<T>, densities: [Input; 2], stages: &Stages<T>, threads: &Threads) -> Crowd<T> {
        let (agents, dims) = (stages.agents, stages.dims);
        let zeros = |count: usize| vec![T::default(); count];
        let group = |first: usize| Group {
            first,
            count: stage.group.min(agents - first),
            densities: densities.map(|density| zeros(density.size())),
        };
        let groups: Vec<_> = (0..agents).step_by(stage.group).map(group).collect();
        let depositor = |_| Depositor {
            session: Session::new(&stage.program, &Inputs::new(1, 0, &[])),
            xi: (stage.xi, zeros(dims * stage.group)),
            alive: (stage.alive, zeros(stage.group)),
            densities: stage.densities,
        };
        Crowd {
            workers: (0..threads.count().min(groups.len())).map(depositor).collect(),
            groups,
            densities: densities.map(|density| (density, zeros(density.size()))),
            dims,
        }
    }

    /// The densities of agents at `xi`.
    fn sense(&mut self, xi: &[T], threads: &Threads) {
        let dims = self.dims;
        threads.share(&mut self.workers, &mut self.groups, |worker, _, group| {
            fill(&mut worker.xi.1, xi, dims, group.first, group.count);
            // agents that only fill up the group do not count
            worker.alive.1[..group.count].fill(T::of(1.0));
            worker.alive.1[group.count..].fill(T::default());
            let given = [(worker.xi.0, &worker.xi.1[..]), (worker.alive.0, &worker.alive.1)];
            worker.session.step(&given, &Threads::one());
            for (record, density) in worker.densities.iter().zip(&mut group.densities) {
                worker.session.copy_record(*record, density);
            }
        });
        for (k, (_, sum)) in self.densities.iter_mut().enumerate() {
            sum.fill(T::default());
            for group in &self.groups {
                sum.iter_mut().zip(&group.densities[k]).for_each(|(sum, x)| *sum += *x);
            }
        }
    }
}
