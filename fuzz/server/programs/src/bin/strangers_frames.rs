#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interweave_fuzz::strangers::tell(data));
