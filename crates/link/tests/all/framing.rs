//! Compares the number of bytes on the wire with values computed by hand.

use lopsided_core::Bytes;
use lopsided_link::Framing;

fn wire(framing: &str, ip: u64) -> u64 {
    Framing::named(framing).expect("a known framing").wire_size(Bytes::new(ip)).get()
}

#[test]
fn ethernet_framing_adds_headers_and_padding() {
    assert_eq!(wire("none", 1500), 1500);
    assert_eq!(wire("ethernet", 1500), 1514);
    assert_eq!(wire("ethernet", 40), 54, "Linux does not count the padding");
    assert_eq!(wire("ethernet-wire", 1500), 1538);
    assert_eq!(wire("ethernet-wire", 40), 84, "minimum of 64 octets, preamble 8, gap 12");
    assert_eq!(wire("ethernet-wire", 46), 84);
    assert_eq!(wire("ethernet-wire", 47), 85);
    assert_eq!(wire("pppoe", 1492), 1514);
}

/// AAL5: packet, overhead and trailer fill whole cells with 48 bytes of payload (53 on the wire).
#[test]
fn atm_framing_fills_whole_cells() {
    assert_eq!(wire("ipoa-vcmux", 40), 53, "40 + 8 fit into one cell, the minimum for an ACK");
    assert_eq!(wire("ipoa-vcmux", 41), 2 * 53);
    assert_eq!(wire("pppoa-vcmux", 40), 2 * 53, "two octets of PPP double the size of an ACK");
    assert_eq!(wire("ipoa-llcsnap", 40), 2 * 53);
    assert_eq!(wire("bridged-llcsnap", 40), 2 * 53, "40 + 32 = 72");
    assert_eq!(wire("bridged-llcsnap", 64), 2 * 53, "64 + 32 = 96, full");
    assert_eq!(wire("bridged-llcsnap", 65), 3 * 53);
    assert_eq!(wire("pppoe-llcsnap", 52), 2 * 53, "an ACK with timestamps: 92");
    assert_eq!(wire("pppoe-llcsnap", 1492), 32 * 53, "1532 in 32 cells of 48 = 1536");
    assert_eq!(wire("pppoa-vcmux", 1500), 32 * 53, "1510");
    assert_eq!(wire("bridged-vcmux", 1500), 32 * 53, "1524");
}

#[test]
fn ptm_framing_adds_one_octet_per_64() {
    assert_eq!(wire("pppoe-ptm", 34), 65, "64 and one");
    assert_eq!(wire("pppoe-ptm", 35), 67, "65 and two");
    assert_eq!(wire("bridged-ptm", 1500), 1522 + 24);
}

#[test]
fn an_unknown_framing_is_rejected() {
    assert_eq!(Framing::named("token-ring"), None);
}
