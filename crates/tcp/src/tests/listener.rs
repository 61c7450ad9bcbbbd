//! Tests of a listening socket: its two queues, the behaviour if a queue is full, and refused segments.

use super::pair::connection_config;
use crate::{ConnEvent, Connection, Endpoint, Listener, Profile, Segment, State, refuse};
use lopsided_core::packet::Flags;
use lopsided_core::{Duration, Ecn, Payload, Time};

fn server() -> Endpoint {
    connection_config(Profile::linux_6_1(), false).local
}

fn listener(backlog: usize) -> Listener {
    Listener::new(backlog, |peer| {
        let mut config = connection_config(Profile::linux_6_1(), false);
        config.remote = peer;
        config
    })
}

/// Creates client number `number`. The number determines the client's port.
fn client(number: u16) -> Connection {
    let mut config = connection_config(Profile::linux_6_1(), true);
    config.local.port = 40_000 + number;
    Connection::connect(config)
}

/// Exchanges segments until neither side has another segment to send.
fn exchange(now: Time, listener: &mut Listener, clients: &mut [Connection]) {
    loop {
        let mut quiet = true;
        for client in clients.iter_mut() {
            while let Some(Segment { header, payload, .. }) = client.poll_segment(now) {
                quiet = false;
                listener.handle_segment(now, client.local(), &header, &payload, Ecn::NotEct);
            }
        }
        while let Some((to, Segment { header, payload, .. })) = listener.poll_segment(now) {
            quiet = false;
            if let Some(client) = clients.iter_mut().find(|client| client.local() == to) {
                client.handle_segment(now, &header, &payload, Ecn::NotEct);
            }
        }
        if quiet {
            return;
        }
    }
}

#[test]
fn connections_are_accepted_in_the_order_of_their_handshakes() {
    let mut listener = listener(8);
    let mut clients = [client(0), client(1)];
    clients[1].write(&Payload::real(b"first words".to_vec())).expect("open");
    let (second, first) = clients.split_at_mut(1);
    exchange(Time::ZERO, &mut listener, first);
    exchange(Time::ZERO, &mut listener, second);
    assert_eq!((listener.acceptable(), listener.half_open()), (2, 0));
    let mut oldest = listener.accept().expect("a connection");
    assert_eq!((oldest.local(), oldest.remote().port), (server(), 40_001));
    assert_eq!(oldest.poll_event(), Some(ConnEvent::Established));
    assert_eq!(oldest.read(Time::ZERO, 100).expect("data").bytes(), Some(&b"first words"[..]));
    assert_eq!(listener.accept().expect("another").remote().port, 40_000);
    assert!(listener.accept().is_none());
}

#[test]
fn a_full_accept_queue_completes_no_handshake() {
    let mut listener = listener(1);
    let mut clients: Vec<Connection> = (0..4).map(client).collect();
    // As in Linux, one connection more than the backlog may wait to be accepted.
    for client in clients.iter_mut() {
        exchange(Time::ZERO, &mut listener, std::slice::from_mut(client));
    }
    assert_eq!((listener.acceptable(), listener.half_open()), (2, 0));
    assert_eq!((listener.overflows(), listener.drops()), (2, 2));
    assert_eq!(clients[3].state(), State::SynSent);
    assert!(listener.accept().is_some());
    // The dropped SYN is retransmitted.
    let later = clients[3].poll_timeout().expect("a timer");
    clients[3].handle_timeout(later);
    exchange(later, &mut listener, &mut clients[3..]);
    assert_eq!(clients[3].state(), State::Established);
    assert_eq!(listener.acceptable(), 2);
}

#[test]
fn the_last_ack_of_a_handshake_is_dropped_if_the_accept_queue_is_full() {
    let mut listener = listener(2);
    listener.set_backlog(1);
    let mut clients: Vec<Connection> = (0..2).map(client).collect();
    for client in clients.iter_mut() {
        exchange(Time::ZERO, &mut listener, std::slice::from_mut(client));
    }
    listener.set_backlog(2);
    let mut late = client(7);
    let syn = late.poll_segment(Time::ZERO).expect("a SYN");
    listener.handle_segment(Time::ZERO, late.local(), &syn.header, &syn.payload, Ecn::NotEct);
    let (_, answer) = listener.poll_segment(Time::ZERO).expect("its answer");
    listener.set_backlog(1);
    late.handle_segment(Time::ZERO, &answer.header, &answer.payload, Ecn::NotEct);
    let ack = late.poll_segment(Time::ZERO).expect("the last ACK");
    listener.handle_segment(Time::ZERO, late.local(), &ack.header, &ack.payload, Ecn::NotEct);
    assert_eq!((listener.acceptable(), listener.half_open()), (2, 1));
    // The server retransmits its SYN-ACK, and the client acknowledges it again.
    listener.accept().expect("room");
    let later = listener.poll_timeout().expect("a timer");
    listener.handle_timeout(later);
    exchange(later, &mut listener, std::slice::from_mut(&mut late));
    assert_eq!((listener.acceptable(), listener.half_open()), (2, 0));
}

#[test]
fn the_backlog_limits_the_number_of_half_open_connections() {
    let mut listener = listener(2);
    let mut syns = (0..3).map(|number| {
        let mut client = client(number);
        (client.poll_segment(Time::ZERO).expect("a SYN"), client.local())
    });
    for (syn, from) in syns.by_ref() {
        listener.handle_segment(Time::ZERO, from, &syn.header, &syn.payload, Ecn::NotEct);
    }
    assert_eq!((listener.half_open(), listener.drops(), listener.overflows()), (2, 1, 0));
    while listener.poll_segment(Time::ZERO).is_some() {}
    // No peer answers, so the handshakes fail. Failed handshakes must leave no state behind.
    while let Some(due) = listener.poll_timeout() {
        listener.handle_timeout(due);
        while listener.poll_segment(due).is_some() {}
        assert!(due <= Time::ZERO + Duration::from_secs(70));
    }
    assert_eq!(listener.half_open(), 0);
}

#[test]
fn a_closed_listener_resets_waiting_connections_and_refuses_new_ones() {
    let mut listener = listener(8);
    let mut clients = [client(0), client(1)];
    exchange(Time::ZERO, &mut listener, &mut clients[..1]);
    listener.close();
    exchange(Time::ZERO, &mut listener, &mut clients);
    let events: Vec<ConnEvent> = clients.iter_mut().flat_map(|client| client.poll_event()).collect();
    assert_eq!(clients.each_ref().map(Connection::state), [State::Closed, State::Closed]);
    assert_eq!(events.len(), 2);
    assert!(listener.is_finished());
}

#[test]
fn a_segment_without_a_connection_is_answered_as_in_rfc_9293() {
    let mut caller = client(0);
    let syn = caller.poll_segment(Time::ZERO).expect("a SYN").header;
    let refusal = refuse(&syn, 0).expect("an answer").header;
    assert_eq!((refusal.flags, refusal.ack), (Flags::RST.with(Flags::ACK), syn.seq + 1));
    assert_eq!((refusal.src_port, refusal.dst_port), (syn.dst_port, syn.src_port));
    let mut data = syn.clone();
    data.flags = Flags::ACK;
    data.ack = syn.seq + 77;
    let refusal = refuse(&data, 1000).expect("an answer").header;
    assert_eq!((refusal.flags, refusal.seq), (Flags::RST, syn.seq + 77));
    assert!(refuse(&refusal, 0).is_none(), "a reset is not answered");
}

#[test]
fn forged_syns_do_not_block_real_connections() {
    let mut listener = listener(4).evicting();
    let mut invented: Vec<Connection> = (0..1000).map(client).collect();
    for each in &mut invented {
        let Some(Segment { header, payload, .. }) = each.poll_segment(Time::ZERO) else { panic!("a SYN is due") };
        listener.handle_segment(Time::ZERO, each.local(), &header, &payload, Ecn::NotEct);
        while listener.poll_segment(Time::ZERO).is_some() {}
        assert!(listener.half_open() <= 4);
    }
    let mut honest = [client(2000)];
    exchange(Time::ZERO, &mut listener, &mut honest);
    assert_eq!(honest[0].state(), State::Established);
    assert_eq!((listener.acceptable(), listener.drops()), (1, 997));
}

/// RFC 9293 section 3.10.7.2: only a SYN opens a connection. Any other segment is answered with a reset, except a reset.
#[test]
fn only_a_plain_syn_begins_a_handshake() {
    let mut header = client(0).poll_segment(Time::ZERO).expect("a SYN").header;
    for (flags, opens, refused) in [
        (Flags::SYN, 1, false),
        (Flags::ACK, 0, true),
        (Flags::FIN, 0, true),
        (Flags::SYN.with(Flags::ACK), 0, true),
        (Flags::RST, 0, false),
        (Flags::SYN.with(Flags::RST), 0, false),
        (Flags::ACK.with(Flags::RST), 0, false),
    ] {
        let mut listener = listener(8);
        header.flags = flags;
        listener.handle_segment(Time::ZERO, client(0).local(), &header, &Payload::EMPTY, Ecn::NotEct);
        assert_eq!(listener.half_open(), opens, "{flags:?}");
        let answer = listener.poll_segment(Time::ZERO).map(|(_, segment)| segment.header.flags);
        assert_eq!(answer.is_some_and(|flags| flags.has(Flags::RST)), refused, "{flags:?}: {answer:?}");
    }
    let listener = listener(8);
    assert!(format!("{listener:?}").contains("backlog: 8"));
}

#[test]
fn a_listener_is_finished_only_if_it_is_closed_and_has_sent_all_resets() {
    let mut listener = listener(8);
    assert!(!listener.is_finished(), "it is open");
    let mut caller = client(0);
    let syn = caller.poll_segment(Time::ZERO).expect("a SYN");
    listener.handle_segment(Time::ZERO, caller.local(), &syn.header, &syn.payload, Ecn::NotEct);
    listener.close();
    assert!(!listener.is_finished(), "the half-open connection has to be reset");
    while listener.poll_segment(Time::ZERO).is_some() {}
    assert!(listener.is_finished());
    listener.handle_segment(Time::ZERO, caller.local(), &syn.header, &syn.payload, Ecn::NotEct);
    assert!(!listener.is_finished(), "a SYN has to be refused");
    assert!(listener.poll_segment(Time::ZERO).is_some() && listener.is_finished());
}
