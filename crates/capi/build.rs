//! Names the shared library as the dynamic linker will look for it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // before 1.0 a minor version may break the interface
        let version = |part: &str| std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
        let (major, minor) = (version("MAJOR"), version("MINOR"));
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcinoc.so.{major}.{minor}");
    }
}
