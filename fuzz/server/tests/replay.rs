//! The targets without a fuzzer: each is given every file of its folder in fuzz/corpora, so that
//! what was found once holds in every build.

use std::path::{Path, PathBuf};

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora");
    let folder = folder.join(target);
    let entries = std::fs::read_dir(&folder).expect("the target's folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a name").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no files", folder.display());
    for file in files {
        // shown if the target panics
        println!("{}", file.display());
        run(&std::fs::read(&file).expect("its bytes"));
    }
}

macro_rules! replayed {
    ($($target:ident: $run:path;)*) => {
        $(
            #[test]
            fn $target() {
                replay(stringify!($target), $run);
            }
        )*
    };
}

replayed! {
    control: interweave_fuzz::control::run;
    descriptors: interweave_fuzz::types::run;
    diffs: interweave_fuzz::diff::run;
    engine: interweave_fuzz::engine::run;
    frames: interweave_fuzz::frames::run;
    http: interweave_fuzz::http::run;
    log: interweave_fuzz::log::run;
    mips: interweave_fuzz::types::run_mip;
    rules: interweave_fuzz::rules::run;
    segment_files: interweave_fuzz::segment_file::run;
    stores: interweave_fuzz::store::run;
    tokens: interweave_fuzz::tokens::run;
    websocket: interweave_fuzz::websocket::run;
    xdr_files: interweave_fuzz::xdr_files::run;
}
