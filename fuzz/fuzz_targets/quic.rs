#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| lopsided_fuzz::quic::run(octets));
