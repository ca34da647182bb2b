//! What each fuzz target does with its input: decode it as the server does, and hold what comes out
//! against what the specification promises (written again it is the same; a refused diff changes
//! nothing; what a segment collects makes the same segment elsewhere).

pub mod control;
pub mod diff;
pub mod engine;
mod file_error;
pub mod frames;
mod heap;
pub mod http;
mod kept;
pub mod log;
pub mod rules;
pub mod scratch;
pub mod segment_file;
pub mod store;
pub mod strangers;
pub mod tokens;
pub mod types;
pub mod websocket;
pub mod xdr_files;
