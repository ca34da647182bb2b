//! A directory of this process for decoders that read files; in memory where there is such a place.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = match memory.is_dir() {
            true => memory.to_path_buf(),
            false => std::env::temp_dir(),
        };
        let path = base.join(format!("interweave-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        path
    })
}
