//! `libcinoc`: a trained policy in a control loop written in C or C++.
//!
//! The header `include/cinoc.h` is made from this file by `scripts/c-header`; the guide is `docs/deploy.md`.
//! Functions here turn pointers into slices and catch panics; what they do is in `deployed`.

mod deployed;
mod status;
mod text;

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use deployed::{Agents, Deployed, Refused};
pub use status::CinocStatus;
use status::CinocStatus::*;

/// Version of this interface. A program passes the number it was compiled with (`CinocOptions`).
pub const CINOC_ABI_VERSION: u32 = 1;

/// Policies have megabytes; more than this is not read.
const LARGEST_FILE: u64 = 1 << 30;

/// How a policy is set up. Set everything to 0, then `abi_version` to `CINOC_ABI_VERSION`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CinocOptions {
    /// `CINOC_ABI_VERSION`.
    pub abi_version: u32,
    /// Most agents of any decision; 0 for the number of the training. A decision takes the time of this
    /// many agents, however many are there.
    pub max_agents: u32,
    /// Grid points of the fields along x; 0 for the grid of the training. At least the points of the
    /// reference lattice (`observe.n_ref`).
    pub grid_x: u32,
    /// Grid points along y; 0 for the grid of the training.
    pub grid_y: u32,
    /// Most memory that the controller may need, in megabytes; 0 for what the system has.
    pub max_memory_mb: u32,
}

/// Sizes, bounds and units of a controller. Lengths, times and fields are in the units of the task.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CinocInfo {
    /// Name of the task, such as "heat1d".
    pub task: [c_char; 32],
    /// Axes of the domain, 1 or 2.
    pub dims: u32,
    /// Fields of the state.
    pub fields: u32,
    /// Grid points along x and y; those along y are 0 in 1D.
    pub grid: [u32; 2],
    /// Most agents of any decision.
    pub max_agents: u32,
    /// Agents of the training.
    pub trained_agents: u32,
    /// 1 if agents have an intensity, else 0.
    pub has_u: u32,
    /// 1 if agents move, else 0.
    pub has_v: u32,
    /// 1 if the task tracks a target, which must be set; 0 if it drives the field to rest.
    pub tracks: u32,
    /// 1 if the ends of the domain are the same point, else 0.
    pub periodic: u32,
    /// Numbers of a field or target: `fields * grid[0]`, in 2D times `grid[1]`.
    pub numbers: usize,
    /// Length of the domain along x and y.
    pub length: [f64; 2],
    /// Bound of intensities; 0 if there are none.
    pub u_max: f64,
    /// Bound of every component of a velocity; 0 if agents do not move.
    pub v_max: f64,
    /// Time between two decisions in training.
    pub control_interval: f64,
    /// Way of an agent in one control interval, per unit of its velocity.
    pub way_per_velocity: f64,
    /// Width of the Gaussian kernel by which an agent acts on the field.
    pub kernel_width: f64,
    /// FNV-1a, 64 bits, of the bytes of the policy file.
    pub policy_hash: u64,
}

/// A policy at work.
pub struct CinocController {
    /// Whether a call is in progress: two at a time would change the same memory.
    busy: AtomicBool,
    deployed: UnsafeCell<Deployed>,
}

// SAFETY: `deployed` is reached only by whoever has turned `busy` from false to true.
unsafe impl Sync for CinocController {}

/// The interface that the library has; compare it with `CINOC_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn cinoc_abi_version() -> u32 {
    CINOC_ABI_VERSION
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn cinoc_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What a code means in general.
#[unsafe(no_mangle)]
pub extern "C" fn cinoc_status_text(status: u32) -> *const c_char {
    CinocStatus::text(status).as_ptr()
}

/// Sets a policy file up; may take a second and much memory.
///
/// `controller` gets the controller, or null. `text`, of `text_size` bytes, gets what went wrong, cut to fit;
/// it may be null.
///
/// # Safety
/// `path` is a string that ends with a zero; `options` and `controller` point to one each; `text` has room
/// for `text_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_load(
    path: *const c_char,
    options: *const CinocOptions,
    controller: *mut *mut CinocController,
    text: *mut c_char,
    text_size: usize,
) -> CinocStatus {
    let set_up = |options: &CinocOptions| {
        // SAFETY: the caller's promise about `path`, which is not null.
        let path = as_path(unsafe { CStr::from_ptr(path) });
        Deployed::new(&read(&path)?, &path, options)
    };
    // SAFETY: the caller's promises about the other pointers.
    unsafe { load(path.is_null(), options, controller, text, text_size, &set_up) }
}

/// The same from memory, for machines without files. `bytes` are not needed afterwards.
///
/// # Safety
/// `bytes` has `length` bytes; the rest as for `cinoc_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_load_bytes(
    bytes: *const u8,
    length: usize,
    options: *const CinocOptions,
    controller: *mut *mut CinocController,
    text: *mut c_char,
    text_size: usize,
) -> CinocStatus {
    let set_up = |options: &CinocOptions| {
        // SAFETY: the caller's promise about `bytes`, which is not null.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
        Deployed::new(bytes, Path::new("the policy in memory"), options)
    };
    // SAFETY: the caller's promises about the other pointers.
    unsafe { load(bytes.is_null(), options, controller, text, text_size, &set_up) }
}

/// Sizes, bounds and units.
///
/// # Safety
/// `controller` is of `cinoc_load` and not freed; `info` has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_describe(
    controller: *mut CinocController,
    info: *mut CinocInfo,
) -> CinocStatus {
    // SAFETY: the caller's promise about `controller`.
    let described = |deployed: &mut Deployed| match info.is_null() {
        true => deployed.fail(CINOC_ERROR_NULL, format_args!("info is null")),
        false => {
            // SAFETY: the caller's promise about `info`, which is not null.
            unsafe { info.write(*deployed.info()) };
            CINOC_OK
        }
    };
    // SAFETY: the caller's promise about `controller`.
    unsafe { with(controller, described) }
}

/// Where `agents` agents start in training: `xi[agent * dims + axis]`. For set-up: it allocates.
///
/// # Safety
/// `controller` is of `cinoc_load` and not freed; `xi` has room for `agents * dims` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_start_positions(
    controller: *mut CinocController,
    agents: usize,
    xi: *mut f32,
) -> CinocStatus {
    let started = |deployed: &mut Deployed| {
        if xi.is_null() {
            return deployed.fail(CINOC_ERROR_NULL, format_args!("xi is null"));
        }
        let status = deployed.check_agents(agents);
        if let Some(places) = deployed.start_positions(agents).filter(|_| status == CINOC_OK) {
            // SAFETY: the caller's promise about `xi`, which is not null.
            unsafe { std::ptr::copy_nonoverlapping(places.as_ptr(), xi, places.len()) };
        }
        status
    };
    // SAFETY: the caller's promise about `controller`.
    unsafe { with(controller, started) }
}

/// Sets what the field should become. It may change at any time, also before every decision: nothing is
/// allocated. Without success the old target stays.
///
/// `numbers` is that of `CinocInfo`; the order is that of `z` in `cinoc_decide`.
///
/// # Safety
/// `controller` is of `cinoc_load` and not freed; `target` has `numbers` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_set_target(
    controller: *mut CinocController,
    target: *const f32,
    numbers: usize,
) -> CinocStatus {
    let aimed = |deployed: &mut Deployed| {
        if target.is_null() {
            return deployed.fail(CINOC_ERROR_NULL, format_args!("target is null"));
        }
        // SAFETY: the caller's promise about `target`, which is not null.
        deployed.aim(unsafe { std::slice::from_raw_parts(target, numbers) })
    };
    // SAFETY: the caller's promise about `controller`.
    unsafe { with(controller, aimed) }
}

/// What every agent does about a field. Allocates nothing, takes no lock, makes no system call.
///
/// `z` is the field, `numbers` long: in 1D `z[i]` at `x = i length / (grid - 1)` (periodic: `/ grid`), in 2D
/// `z[i * grid[1] + j]` with `i` along x; several fields one after the other. `xi[agent * dims + axis]` are
/// the positions of `agents` agents, 1 to `max_agents`; the number may change from call to call.
/// `alive[agent]` is 0 for an agent that has failed and anything else for one at work; null if all are. Of
/// failed agents the positions are not read, and the actions are 0.
///
/// `u[agent]` gets the intensities, `v[agent * dims + axis]` the velocities. One of them may be null if the
/// task does not have it (`has_u`, `has_v`), and is not written then.
///
/// After an error `u` and `v` have the last good action (0 before the first one), and 0 for agents that have
/// failed. They are left as they were after `CINOC_ERROR_NULL`, `CINOC_ERROR_BUSY`, and `CINOC_ERROR_LENGTH`
/// about `agents`.
///
/// # Safety
/// `controller` is of `cinoc_load` and not freed; the arrays have the lengths said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_decide(
    controller: *mut CinocController,
    z: *const f32,
    numbers: usize,
    xi: *const f32,
    alive: *const u8,
    agents: usize,
    u: *mut f32,
    v: *mut f32,
) -> CinocStatus {
    let decided = |deployed: &mut Deployed| {
        let info = deployed.info();
        let needed = [
            ("z", z.is_null()),
            ("xi", xi.is_null()),
            ("u", u.is_null() && info.has_u != 0),
            ("v", v.is_null() && info.has_v != 0),
        ];
        let dims = info.dims as usize;
        if let Some((name, _)) = needed.into_iter().find(|(_, missing)| *missing) {
            return deployed.fail(CINOC_ERROR_NULL, format_args!("{name} is null"));
        }
        let status = deployed.check_agents(agents);
        if status != CINOC_OK {
            return status;
        }
        // SAFETY: the caller's promises about arrays, which are not null.
        let (z, xi, alive) = unsafe {
            let alive = (!alive.is_null()).then(|| std::slice::from_raw_parts(alive, agents));
            (std::slice::from_raw_parts(z, numbers), std::slice::from_raw_parts(xi, agents * dims), alive)
        };
        let given = Agents { xi, alive, count: agents };
        let status = match catch_unwind(AssertUnwindSafe(|| deployed.decide(z, &given))) {
            Ok(status) => status,
            Err(_) => {
                deployed.broken = true;
                deployed.fail(CINOC_ERROR_INTERNAL, format_args!("the decision panicked; please report it"))
            }
        };
        for agent in 0..agents {
            let works = alive.is_none_or(|alive| alive[agent] != 0);
            let (intensity, velocity) = deployed.action(agent);
            let told = |x: f32| if works { x } else { 0.0 };
            // SAFETY: the caller's promises about `u` and `v`, which are not null where there is something to
            // write.
            unsafe {
                if let Some(intensity) = intensity {
                    u.add(agent).write(told(intensity));
                }
                for (axis, &x) in velocity.iter().enumerate() {
                    v.add(agent * dims + axis).write(told(x));
                }
            }
        }
        status
    };
    // SAFETY: the caller's promise about `controller`.
    unsafe { with(controller, decided) }
}

/// What went wrong in the last call that failed, with names and numbers; empty if none has. Valid until the
/// next call with this controller.
///
/// # Safety
/// `controller` is null, or of `cinoc_load` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_message(controller: *const CinocController) -> *const c_char {
    if controller.is_null() {
        return CinocStatus::text(CINOC_ERROR_NULL as u32).as_ptr();
    }
    // SAFETY: the caller's promise; only the place of the text is asked for, which never changes.
    unsafe { (*(*controller).deployed.get()).text.as_ptr() }
}

/// Frees a controller. Null is fine.
///
/// # Safety
/// `controller` is null, or of `cinoc_load` and not freed, and no other thread is using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cinoc_free(controller: *mut CinocController) {
    if !controller.is_null() {
        // SAFETY: it came from `Box::into_raw` in `load`, by the caller's promise.
        let controller = unsafe { Box::from_raw(controller) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(controller)));
    }
}

/// Does something with a controller that nobody else is using.
///
/// # Safety
/// `controller` is null, or of `load` and not freed.
unsafe fn with(
    controller: *mut CinocController,
    work: impl FnOnce(&mut Deployed) -> CinocStatus,
) -> CinocStatus {
    // SAFETY: the caller's promise.
    let Some(controller) = (unsafe { controller.as_ref() }) else { return CINOC_ERROR_NULL };
    if controller.busy.swap(true, Ordering::Acquire) {
        return CINOC_ERROR_BUSY;
    }
    // SAFETY: `busy` was false and is true now, so nobody else has this reference.
    let deployed = unsafe { &mut *controller.deployed.get() };
    let status = catch_unwind(AssertUnwindSafe(|| work(deployed))).unwrap_or_else(|_| {
        deployed.broken = true;
        deployed.fail(CINOC_ERROR_INTERNAL, format_args!("the library panicked; please report it"))
    });
    controller.busy.store(false, Ordering::Release);
    status
}

/// What both ways to load have in common.
///
/// # Safety
/// The pointers are null or as `cinoc_load` says.
unsafe fn load(
    nothing: bool,
    options: *const CinocOptions,
    controller: *mut *mut CinocController,
    text: *mut c_char,
    text_size: usize,
    set_up: &dyn Fn(&CinocOptions) -> Result<Deployed, Refused>,
) -> CinocStatus {
    if !controller.is_null() {
        // SAFETY: the caller's promise.
        unsafe { controller.write(std::ptr::null_mut()) };
    }
    let loaded = || {
        let missing =
            [("the policy", nothing), ("options", options.is_null()), ("controller", controller.is_null())];
        if let Some((name, _)) = missing.into_iter().find(|(_, missing)| *missing) {
            return Err(Refused { status: CINOC_ERROR_NULL, text: format!("{name} is null") });
        }
        // SAFETY: not null, and by the caller's promise options of some version: the first number of all of
        // them is the version.
        let version = unsafe { options.cast::<u32>().read() };
        if version != CINOC_ABI_VERSION {
            let text = format!(
                "options.abi_version is {version}, this library has {CINOC_ABI_VERSION}; compile the program \
                 with the header of this library"
            );
            return Err(Refused { status: CINOC_ERROR_ABI, text });
        }
        // SAFETY: the version is ours, so these are our options.
        set_up(unsafe { &*options })
    };
    let loaded = catch_unwind(AssertUnwindSafe(loaded)).unwrap_or_else(|_| {
        Err(Refused { status: CINOC_ERROR_INTERNAL, text: "the library panicked; please report it".into() })
    });
    match loaded {
        Ok(deployed) => {
            let new = CinocController { busy: AtomicBool::new(false), deployed: UnsafeCell::new(deployed) };
            // SAFETY: the caller's promise; it was checked not to be null.
            unsafe { controller.write(Box::into_raw(Box::new(new))) };
            // SAFETY: the caller's promise.
            unsafe { tell("", text, text_size) };
            CINOC_OK
        }
        Err(refused) => {
            // SAFETY: the caller's promise.
            unsafe { tell(&refused.text, text, text_size) };
            refused.status
        }
    }
}

/// Copies a message, cut to fit, with a zero at its end.
///
/// # Safety
/// `text` is null or has room for `text_size` bytes.
unsafe fn tell(message: &str, text: *mut c_char, text_size: usize) {
    if text.is_null() || text_size == 0 {
        return;
    }
    let length = message.floor_char_boundary(message.len().min(text_size - 1));
    // SAFETY: `length` bytes and the zero fit.
    unsafe {
        std::ptr::copy_nonoverlapping(message.as_ptr().cast(), text, length);
        text.add(length).write(0);
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Refused> {
    let failed = |reason: String| Refused {
        status: CINOC_ERROR_FILE,
        text: format!("cannot read {}: {reason}", path.display()),
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    match bytes.len() as u64 > LARGEST_FILE {
        true => Err(failed("it is larger than 1 GiB, which no policy is".to_string())),
        false => Ok(bytes),
    }
}

#[cfg(unix)]
fn as_path(path: &CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes()))
}

#[cfg(not(unix))]
fn as_path(path: &CStr) -> PathBuf {
    PathBuf::from(path.to_string_lossy().into_owned())
}
