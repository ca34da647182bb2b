//! Writes a store with very many small segments, as a server that clients filled would have left
//! it: each has one block of 16 integers, named `ints`, and one release. For tests and benchmarks
//! of servers with more segments than clients make in a short time.
//!
//!   many_segments DIR COUNT [crashed]
//!
//! The paths are /small/0, /small/1 and so on; the segments are WRITTEN. `crashed`: the store does
//! not end cleanly.

mod small;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (dir, count, is_clean) = match words[..] {
        [dir, count] => (dir, count.parse(), true),
        [dir, count, "crashed"] => (dir, count.parse(), false),
        _ => {
            eprintln!("many_segments DIR COUNT [crashed]");
            return ExitCode::FAILURE;
        }
    };
    let written = match count {
        Ok(count) => {
            small::write(Path::new(dir), count, is_clean).map_err(|error| error.to_string())
        }
        Err(error) => Err(format!("COUNT: {error}")),
    };
    if let Err(text) = &written {
        eprintln!("many_segments: {text}");
    }
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
