#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interweave_fuzz::strangers::open_web_socket(data));
