//! A directory of this thread for decoders that read files, in the place for temporary files (for
//! which make/fuzz.sh chooses memory). It goes when the thread ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

struct Directory(PathBuf);

impl Directory {
    fn make() -> Directory {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("interweave-fuzz-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // one that stays is in the place for temporary files
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn directory() -> PathBuf {
    thread_local! {
        static DIRECTORY: Directory = Directory::make();
    }
    DIRECTORY.with(|directory| directory.0.clone())
}
