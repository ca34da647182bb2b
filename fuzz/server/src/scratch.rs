//! A directory of this process for decoders that read files, in the place for temporary files (for
//! which make/fuzz.sh chooses memory).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("interweave-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        path
    })
}
