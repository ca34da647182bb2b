//! The targets without a fuzzer: each is given every file of its folder in fuzz/corpora, so that
//! what was found once holds in every build.

use std::path::{Path, PathBuf};

fn replay(kind: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora");
    let folder = folder.join(kind);
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
    ($($target:ident of $kind:ident: $run:path;)*) => {
        $(
            #[test]
            fn $target() {
                replay(stringify!($kind), $run);
            }
        )*
    };
}

replayed! {
    control of control: interweave_fuzz::control::run;
    descriptors of descriptors: interweave_fuzz::types::run;
    diffs of diffs: interweave_fuzz::diff::run;
    engine of engine: interweave_fuzz::engine::run;
    frames of frames: interweave_fuzz::frames::run;
    http of http: interweave_fuzz::http::run;
    log of log: interweave_fuzz::log::run;
    mips of mips: interweave_fuzz::types::run_mip;
    rules of rules: interweave_fuzz::rules::run;
    segment_files of segment_files: interweave_fuzz::segment_file::run;
    stores of stores: interweave_fuzz::store::run;
    strangers_frames of frames: interweave_fuzz::strangers::tell;
    strangers_http of http: interweave_fuzz::strangers::ask;
    strangers_websocket of websocket: interweave_fuzz::strangers::open_web_socket;
    tokens of tokens: interweave_fuzz::tokens::run;
    websocket of websocket: interweave_fuzz::websocket::run;
    xdr_files of xdr_files: interweave_fuzz::xdr_files::run;
}

/// Too long for the corpora. The library of WebSockets copied the parts of a message several times.
#[test]
fn net_8_the_parts_of_a_message_cost_little() {
    let frame = |first: u8, payload: u16| {
        let mut bytes = vec![first, 0xfe];
        bytes.extend(payload.to_be_bytes());
        bytes.resize(bytes.len() + 4 + usize::from(payload), 0);
        bytes
    };
    for first in [16_600, 8_000, 1_800] {
        for second in [1, 3_600, 8_000, 16_700] {
            let parts = [frame(0x02, first), frame(0x00, second), frame(0x00, 60_000)];
            interweave_fuzz::strangers::open_web_socket(&parts.concat());
        }
    }
}
