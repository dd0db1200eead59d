//! What every function returns, and its text.

use std::ffi::CStr;

/// What a function returns. `CINOC_OK` is 0; everything else says that nothing was done.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)] // the names are those of C
pub enum CinocStatus {
    /// Done.
    CINOC_OK = 0,
    /// A pointer that must not be null is null.
    CINOC_ERROR_NULL = 1,
    /// The program was compiled with the header of another version of the library.
    CINOC_ERROR_ABI = 2,
    /// The policy cannot be read: there is no such file, it is damaged, or it holds something else.
    CINOC_ERROR_FILE = 3,
    /// The policy cannot be used with this number of agents or on this grid.
    CINOC_ERROR_SETTINGS = 4,
    /// The controller would need more memory than there is, or than `max_memory_mb` allows.
    CINOC_ERROR_MEMORY = 5,
    /// An array has another length than the controller works with, or there are more agents than it was set
    /// up for.
    CINOC_ERROR_LENGTH = 6,
    /// A number that was given is infinite or not a number.
    CINOC_ERROR_NOT_FINITE = 7,
    /// An agent at work is outside of the domain.
    CINOC_ERROR_POSITION = 8,
    /// The task tracks a target, and none was set; or the target is a density without mass.
    CINOC_ERROR_TARGET = 9,
    /// The decision became infinite or not a number: what was given is far too large, or a density without
    /// mass.
    CINOC_ERROR_OUTPUT = 10,
    /// Another thread is using this controller.
    CINOC_ERROR_BUSY = 11,
    /// A fault of the library. The controller gives this code from now on: make another one, and report it.
    CINOC_ERROR_INTERNAL = 12,
}

use CinocStatus::*;

impl CinocStatus {
    const ALL: [CinocStatus; 13] = [
        CINOC_OK,
        CINOC_ERROR_NULL,
        CINOC_ERROR_ABI,
        CINOC_ERROR_FILE,
        CINOC_ERROR_SETTINGS,
        CINOC_ERROR_MEMORY,
        CINOC_ERROR_LENGTH,
        CINOC_ERROR_NOT_FINITE,
        CINOC_ERROR_POSITION,
        CINOC_ERROR_TARGET,
        CINOC_ERROR_OUTPUT,
        CINOC_ERROR_BUSY,
        CINOC_ERROR_INTERNAL,
    ];

    /// The text of a code in general, whatever happened in particular.
    pub fn text(code: u32) -> &'static CStr {
        let Some(status) = CinocStatus::ALL.into_iter().find(|status| *status as u32 == code) else {
            return c"no code of this library";
        };
        match status {
            CINOC_OK => c"done",
            CINOC_ERROR_NULL => c"a pointer is null",
            CINOC_ERROR_ABI => c"the program was compiled with the header of another version of the library",
            CINOC_ERROR_FILE => c"the policy cannot be read",
            CINOC_ERROR_SETTINGS => c"the policy cannot be used with this number of agents or on this grid",
            CINOC_ERROR_MEMORY => c"too little memory",
            CINOC_ERROR_LENGTH => c"an array has a wrong length, or there are too many agents",
            CINOC_ERROR_NOT_FINITE => c"a number is infinite or not a number",
            CINOC_ERROR_POSITION => c"an agent is outside of the domain",
            CINOC_ERROR_TARGET => c"there is no target, or it is a density without mass",
            CINOC_ERROR_OUTPUT => c"the decision became infinite or not a number",
            CINOC_ERROR_BUSY => c"another thread is using this controller",
            CINOC_ERROR_INTERNAL => c"a fault of the library",
        }
    }
}
