//! From source to machine code, by NVRTC, and a cache of it on disk.

use cudarc::nvrtc::{result, sys};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// Why code could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(pub String);

/// Machine code of a source for an architecture like `sm_90`, and what the compiler reported about it.
pub struct Compiled {
    /// A CUBIN.
    pub binary: Vec<u8>,
    /// Registers, shared memory and spills of every kernel.
    pub report: String,
}

/// Whether there is a compiler.
pub fn available() -> bool {
    // SAFETY: the library is only looked for.
    unsafe { sys::is_culib_present() }
}

fn text(log: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = log.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Compiles `source` for one precision: `float` or `double`.
pub fn compile(source: &str, real: &str, architecture: &str) -> Result<Compiled, CompileError> {
    if !available() {
        return Err(CompileError(
            "libnvrtc is not installed; it comes with CUDA, or with `pip install nvidia-cuda-nvrtc`".into(),
        ));
    }
    let name: &CStr = c"cinoc.cu";
    let code = CString::new(source).map_err(|error| CompileError(error.to_string()))?;
    let precision = if real == "float" { "-DSINGLE" } else { "-DDOUBLE" };
    let options = [
        format!("--gpu-architecture={architecture}"),
        "--std=c++17".into(),
        format!("-DREAL={real}"),
        precision.into(),
        // registers, shared memory and spills are worth knowing
        "--ptxas-options=-v".into(),
    ];
    let failed = |error: result::NvrtcError| CompileError(format!("NVRTC: {error:?}"));
    let program = result::create_program(&code, Some(name)).map_err(failed)?;
    // SAFETY: the program was just made and is destroyed once, at the end.
    unsafe {
        let done = result::compile_program(program, &options);
        let report = result::get_program_log(program).map(|log| text(&log)).unwrap_or_default();
        let answer = match done {
            Err(error) => Err(CompileError(format!("NVRTC: {error:?}: {report}"))),
            Ok(()) => {
                let mut size = 0;
                let mut binary = Vec::new();
                let read = sys::nvrtcGetCUBINSize(program, &mut size).result().and_then(|()| {
                    binary.resize(size, 0u8);
                    sys::nvrtcGetCUBIN(program, binary.as_mut_ptr().cast()).result()
                });
                read.map(|()| Compiled { binary, report }).map_err(failed)
            }
        };
        let _ = result::destroy_program(program);
        answer
    }
}

/// Machine code on disk, by the hash of its source.
#[derive(Clone)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// In this folder; without one nothing is kept.
    pub fn new(folder: Option<&Path>) -> Cache {
        Cache { folder: folder.map(Path::to_path_buf) }
    }

    /// The machine code of a source: from the cache, or compiled now and kept. A cache that cannot be
    /// written to is no error: the code is compiled again the next time.
    pub fn binary(&self, source: &str, real: &str, architecture: &str) -> Result<Vec<u8>, CompileError> {
        let hash = hash(source);
        let file =
            self.folder.as_ref().map(|folder| folder.join(format!("{hash}-{real}-{architecture}.cubin")));
        if let Some(binary) = file.as_ref().and_then(|file| std::fs::read(file).ok()) {
            return Ok(binary);
        }
        let binary = compile(source, real, architecture)?.binary;
        if let (Some(file), Some(folder)) = (file, &self.folder) {
            let part = file.with_extension(format!("{}.part", std::process::id()));
            let written = std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&part, &binary))
                .and_then(|()| std::fs::rename(&part, &file));
            if written.is_err() {
                let _ = std::fs::remove_file(&part);
            }
        }
        Ok(binary)
    }
}

/// A name for a text: its FNV-1a hash.
pub fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf29ce484222325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3));
    format!("{hash:016x}")
}
