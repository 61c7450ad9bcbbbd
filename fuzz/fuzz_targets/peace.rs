#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    lopsided_fuzz::connection::run_to_completion(octets);
});
