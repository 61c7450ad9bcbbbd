//! The program `lopsided-live`: emulated links for real packets, in one binary without Python.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    lopsided_live::command::run(std::env::args_os().skip(1)).into()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("error: this needs Linux");
}
