//! A controller of C, as Rust tests use it.
#![allow(dead_code)] // every test uses a part of it

use cinoc_c::CinocStatus::CINOC_OK;
use cinoc_c::*;
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr;

pub const TASKS: [&str; 8] =
    ["density2d", "fkpp1d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "ks2d", "turb2d"];

pub fn policy(task: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../policies/{task}.safetensors"))
}

pub fn options(max_agents: u32) -> CinocOptions {
    CinocOptions { abi_version: CINOC_ABI_VERSION, max_agents, ..CinocOptions::default() }
}

/// A controller that is freed in the end.
pub struct Handle(pub *mut CinocController);

impl Handle {
    pub fn load(task: &str, options: CinocOptions) -> Result<Handle, (CinocStatus, String)> {
        let path = CString::new(policy(task).to_str().unwrap()).unwrap();
        Handle::made(|controller, text, size| {
            // SAFETY: all pointers are to things that live during the call.
            unsafe { cinoc_load(path.as_ptr(), &options, controller, text, size) }
        })
    }

    pub fn from_bytes(bytes: &[u8], options: CinocOptions) -> Result<Handle, (CinocStatus, String)> {
        Handle::made(|controller, text, size| {
            // SAFETY: as above.
            unsafe { cinoc_load_bytes(bytes.as_ptr(), bytes.len(), &options, controller, text, size) }
        })
    }

    pub fn made(
        load: impl FnOnce(*mut *mut CinocController, *mut c_char, usize) -> CinocStatus,
    ) -> Result<Handle, (CinocStatus, String)> {
        let (mut controller, mut text) = (ptr::null_mut(), [1 as c_char; 300]);
        let status = load(&mut controller, text.as_mut_ptr(), text.len());
        assert_eq!(status == CINOC_OK, !controller.is_null());
        // SAFETY: the library writes a string.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().expect("UTF-8").to_string();
        if status == CINOC_OK { Ok(Handle(controller)) } else { Err((status, text)) }
    }

    pub fn info(&self) -> CinocInfo {
        let mut info = std::mem::MaybeUninit::uninit();
        // SAFETY: the handle is alive, and the library fills the whole struct.
        unsafe {
            assert_eq!(cinoc_describe(self.0, info.as_mut_ptr()), CINOC_OK);
            info.assume_init()
        }
    }

    pub fn start(&self, agents: usize) -> Vec<f32> {
        let mut xi = vec![0.0; agents * self.info().dims as usize];
        // SAFETY: the array has room.
        assert_eq!(unsafe { cinoc_start_positions(self.0, agents, xi.as_mut_ptr()) }, CINOC_OK);
        xi
    }

    pub fn aim(&self, target: &[f32]) -> CinocStatus {
        // SAFETY: pointer and length belong together.
        unsafe { cinoc_set_target(self.0, target.as_ptr(), target.len()) }
    }

    /// Decides into the room that is given; both have room for what the task has.
    pub fn decide(
        &self,
        z: &[f32],
        xi: &[f32],
        alive: Option<&[u8]>,
        agents: usize,
        u: &mut [f32],
        v: &mut [f32],
    ) -> CinocStatus {
        let alive = alive.map_or(ptr::null(), <[u8]>::as_ptr);
        // SAFETY: the tests bring arrays of these lengths.
        unsafe {
            let (z, n) = (z.as_ptr(), z.len());
            cinoc_decide(self.0, z, n, xi.as_ptr(), alive, agents, u.as_mut_ptr(), v.as_mut_ptr())
        }
    }

    pub fn message(&self) -> String {
        // SAFETY: the handle is alive, the text ends with a zero.
        unsafe { CStr::from_ptr(cinoc_message(self.0)) }.to_str().expect("UTF-8").to_string()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it is of `cinoc_load`, and freed once.
        unsafe { cinoc_free(self.0) };
    }
}

/// A field that looks like nothing in particular, positive as a density is.
pub fn field(numbers: usize, phase: f32) -> Vec<f32> {
    (0..numbers).map(|i| 0.4 + 0.3 * (0.07 * i as f32 + phase).sin()).collect()
}
