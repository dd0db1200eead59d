//! Trace a step once, get its exact reverse, replay both at machine speed.
//!
//! The engine is made for one kind of work: a small step, repeated hundreds of times, for many independent
//! samples, of which one wants the derivative of a number at the end with respect to parameters used in every
//! step. It knows nothing of PDEs and agents.
//!
//! # Reverse mode in one page
//!
//! Logistic growth with an unknown rate `r` is one line per step, and a loss `L` asks that the population
//! ends at one half:
//!
//! ```text
//! z_{t+1} = z_t + dt r z_t (1 - z_t)          L = (z_T - 1/2)^2
//! ```
//!
//! How does `L` change with `r`? Running once per parameter with a slightly changed value answers that for
//! one parameter; a policy has thousands. Reverse mode answers it for all of them in one sweep. Call `dL/dx`
//! the *adjoint* of x and write it `x~`. Begin at the end, where it is known, and walk the steps backwards
//! with the chain rule:
//!
//! ```text
//! z_T~ = 2 (z_T - 1/2)
//! z_t~ = z_{t+1}~ (1 + dt r (1 - 2 z_t))      what z_t did to z_{t+1}
//! r~  += z_{t+1}~ dt z_t (1 - z_t)            r acts in every step: its adjoints are summed
//! ```
//!
//! Two things follow. A reverse step needs the *values* of the forward step (`z_t` above), so they must be
//! kept or computed again. And every elementary operation needs one rule that turns the adjoint of its output
//! into those of its inputs; the rule for a whole step is then put together by going through the operations
//! in reverse order. Here those operations are the *primitives*, about thirty of them (`primitive/` says what
//! each is, `cpu/kernels/` how it is computed and reversed). Nobody else in the project writes a derivative.
//!
//! The same in code. Arithmetic on a [`Var`] computes nothing; it writes the step down:
//!
//! ```
//! use cinoc_adjoint::{Input, Inputs, Program, Strategy, Term, Threads, Tracer};
//!
//! let tracer = Tracer::new();
//! let (r, z) = (tracer.param("r", 1, 1), tracer.state("z", 1, 1));
//! let next = z + 0.1 * r * z * (1.0 - z);
//! tracer.advance(z, next);
//! // handles: they say later which input and which term is meant
//! let (start, error) = (z.input(), tracer.term("error", (next - 0.5).square()));
//! let program = Program::<f64>::new(&tracer.finish(), 2);
//!
//! // two samples that start from different populations, twenty steps, the error counts in the last one only
//! fn inputs(r: &[f64], start: Input, error: Term) -> Inputs<'_, f64> {
//!     let mut weights = vec![0.0; 20];
//!     weights[19] = 1.0;
//!     Inputs::new(2, 20, r).with(start, &[0.1, 0.2]).weighted(error, weights)
//! }
//! let threads = Threads::one();
//! let loss = |r: f64| {
//!     let outcome = program.forward(&inputs(&[r], start, error), &threads);
//!     outcome.term(error).iter().sum::<f64>() / 2.0
//! };
//!
//! let gradient = program.gradient(&inputs(&[1.2], start, error), &threads, Strategy::Recompute);
//! assert!((gradient.loss - loss(1.2)).abs() < 1e-15);
//!
//! let difference = (loss(1.2 + 1e-6) - loss(1.2 - 1e-6)) / 2e-6;
//! assert!((gradient.params[0] - difference).abs() < 1e-8);
//! // the gradient with respect to the initial states comes with it, one number per sample
//! assert_eq!(gradient.input(start).len(), 2);
//! ```
//!
//! The loss of a gradient is always the mean over samples of the sum over terms and steps of weight times
//! value.
//!
//! # From a trace to a run
//!
//! | stage | what it does | where |
//! |---|---|---|
//! | trace | lists primitives, checks shapes; cuts a step ([`Trace::split`]) | `trace.rs`, `trace/` |
//! | primitive | names, parameters, shapes, costs; knows no processor | `primitive/` |
//! | plan | decides what runs when and where every number lives | `plan.rs`, `plan/` |
//! | listing | shows trace and plan as data and as text | `listing.rs`: [`Listing`] |
//! | program | checks what a run is given | `program.rs`: [`Program`], [`Inputs`], [`Outcome`] |
//! | backend | runs all samples of a plan, forward and in reverse | `backend.rs`; `cpu/`: CPUs |
//! | optimiser | clip and Adam, which a backend may do too | `optimiser.rs` |
//!
//! **Reading it.** A [`Trace`] prints one line per value: number, primitive, parameters, inputs, shape.
//! [`Program::listing`] adds when each value is computed, its operations and bytes, and how the reverse sweep
//! gets it. `cinoc trace TASK` shows this for a task.
//!
//! **Hoisting.** A primitive that depends on no state and no sequence gives the same result in every step.
//! The plan puts it into the *set-up*, which runs once per rollout; adjoints of what it made are summed over
//! the steps and pushed back through it once, after the first step has been reversed. Nobody asks for this:
//! write a constant product where it belongs, and it is not repeated.
//!
//! **Recompute.** Forward, only the states before every step are kept. In reverse, each step is computed
//! again from them, then reversed, while its values are still in cache; what leads to nothing but the next
//! states is left out, since those were kept. Memory is `O(T x state + one step)`, however large the network
//! inside a step.
//!
//! **Store.** With [`Strategy::Store`] values that take much arithmetic, like the outputs of large dense
//! layers, are kept for every step and not computed again; cheaper values still are, because they come faster
//! from the arithmetic units than from main memory. [`Program::store_bytes`] tells what that costs, so that a
//! caller can decide by a budget. Both strategies run the same kernels on the same numbers: the gradients are
//! equal to the last bit. What the next step reads or overwrites of states and stored values is fetched into
//! the cache while this one computes (`cpu/ahead.rs`).
//!
//! **Memory plan.** Step values live from the primitive that makes them to their last reader, forward or in
//! reverse; adjoints from their first contribution to the reverse of the primitive that made the value.
//! Values of equal length whose lifetimes do not meet share a slot. A worker allocates its slots when it is
//! made and its history at its first gradient; sweeps after that allocate only what they return.
//!
//! **Layout.** A value is `rows x cols` per sample and lies in memory as `[rows][cols][samples]`. All numbers
//! to the right of a row are *lanes* that are treated alike, which is what SIMD wants: with 20 agents and
//! chunks of 16 samples, a dense layer sees 320 lanes per row. Parameters and tables are *shared*,
//! `[rows][cols]`, without a sample axis. Callers see none of this: [`Inputs`] and [`Outcome`] are sample by
//! sample, and chunks that are not full are filled up with copies that count for nothing.
//!
//! **Determinism.** The chunk size is fixed when a program is made and does not depend on the number of
//! threads. Threads take chunks; what chunks contribute is added in the order of the chunks. Results are
//! therefore the same bits for any number of threads. They may differ in the last digits between instruction
//! sets ([`Isa`]) and between chunk sizes.
//!
//! **Precision.** The same trace becomes a `Program<f32>` to train and a `Program<f64>` to verify.
//!
//! # What holds it
//!
//! Every primitive is compared with central differences in double precision, on every instruction set of the
//! machine, for chunks that do and do not fill a vector, inside the step and hoisted, with clean and with
//! dirty memory (`tests/primitives.rs`). To add one: what it is in `primitive/`, its kernel in
//! `cpu/kernels/`, a method on [`Var`], a line in that test.

pub mod backend;
mod cpu;
mod listing;
pub mod optimiser;
mod plan;
mod primitive;
mod program;
mod threads;
mod trace;

pub use cpu::{Isa, Real, peak_flops};
pub use listing::{Entry, Listing};
pub use plan::Strategy;
pub use primitive::{AxisMatrix, Bump, Interpolation, Lattice, PatchLattice, Sparse, Tridiagonal, Value};
pub use program::{Descended, Descending, Gradient, Inputs, Outcome, Program, Session};
pub use threads::{Threads, TooManyThreads};
pub use trace::{Input, Record, Shape, Split, Term, Trace, Tracer, Var};
