#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interweave_fuzz::segment_file::run(data));
