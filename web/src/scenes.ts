// The scenarios of the page: the tour, the challenge, and the remedies.

export const ADSL = `[scenario]
title = "A download and an upload on a 2400/196 kbit/s line"
duration = "180 s"
[link]
rtt = "20 ms"
framing = "ethernet"
[link.down]
rate = "2.4 Mbit/s"
queue = "50 packets"
[link.up]
rate = "196 kbit/s"
queue = "50 packets"
[[flow]]
name = "download"
direction = "down"
[[flow]]
name = "upload"
direction = "up"
start = "60 s"
start_jitter = "1 s"
[record]
interval = "100 ms"
`;

export const HOUSEHOLD = `[scenario]
title = "A household: a download, a backup and a call on a 20/2 Mbit/s line"
duration = "60 s"
[link]
rtt = "20 ms"
framing = "ethernet"
[link.down]
rate = "20 Mbit/s"
queue = "400 packets"
[link.up]
rate = "2 Mbit/s"
queue = "250 packets"
[[flow]]
name = "download"
direction = "down"
cc = "cubic"
[[flow]]
name = "backup"
direction = "up"
cc = "cubic"
start = "10 s"
[[flow]]
name = "call"
direction = "up"
app = { kind = "udp", rate = "80 kbit/s", size = "200 B" }
`;

const FAST = `[scenario]
title = "A download and an upload on a 40/1 Mbit/s line"
duration = "30 s"
[link]
rtt = "30 ms"
[link.down]
rate = "40 Mbit/s"
queue = "200 packets"
[link.up]
rate = "1 Mbit/s"
queue = "200 packets"
[[flow]]
name = "download"
direction = "down"
cc = "cubic"
[[flow]]
name = "upload"
direction = "up"
cc = "cubic"
start = "10 s"
`;

const SHARED = `[scenario]
title = "Two downloads share a 20 Mbit/s line"
duration = "60 s"
[link]
rtt = "40 ms"
[link.down]
rate = "20 Mbit/s"
queue = "70 packets"
[link.up]
rate = "20 Mbit/s"
queue = "100 packets"
[[flow]]
name = "one"
direction = "down"
cc = "reno"
[[flow]]
name = "other"
direction = "down"
cc = "bbr"
start = "10 s"
`;

const RADIO = `[scenario]
title = "A download over a line that loses packets"
duration = "60 s"
[link]
rtt = "60 ms"
[link.down]
rate = "20 Mbit/s"
queue = "100 packets"
loss = "1 %"
[link.up]
rate = "5 Mbit/s"
queue = "100 packets"
[[flow]]
name = "download"
direction = "down"
cc = "reno"
`;

export interface Try {
  readonly text: string;
  readonly settings: Readonly<Record<string, string>>;
}

export interface Step {
  readonly title: string;
  readonly text: string;
  readonly watch: string;
  readonly scenario: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Time at which the animation starts, in seconds. */
  readonly at: number;
  readonly tries: readonly Try[];
  readonly paper: string;
}

export const TOUR: readonly Step[] = [
  {
    title: "ACKs starve behind an upload",
    text: "The download fills the line alone. After 60 s an upload joins. Its data waits in the uplink's buffer, and the download's ACKs wait behind this data. Without ACKs, the server may not send more data.",
    watch: "In the lower buffer, count the small bars: they are ACKs of the download between full packets of the upload.",
    scenario: ADSL,
    settings: {},
    at: 90,
    tries: [
      { text: "A buffer of 10 packets up", settings: { "link.up.queue.limit": "10 packets" } },
      { text: "ACKs first", settings: { "link.up.queue": '{ kind = "prio", bands = [{ kind = "fifo", limit = "50 packets" }, { kind = "fifo", limit = "50 packets" }], classify = [{ class = 0, packet = "ack" }] }' } },
    ],
    paper: "H. Balakrishnan, V. Padmanabhan, R. Katz: The Effects of Asymmetry on TCP Performance. Mobile Networks and Applications 4 (1999).",
  },
  {
    title: "Two windows in and out of phase",
    text: "Both flows use the same uplink buffer. With a buffer of 80 packets, the two congestion windows move in opposite directions, and the download's window is small for so long that the downlink is empty for more than half of the time. With 10 packets, the windows move together, and the downlink is 95 % full.",
    watch: "Compare the congestion windows: while one is large, the other is small.",
    scenario: ADSL,
    settings: { "link.up.queue.limit": "80 packets" },
    at: 120,
    tries: [
      { text: "10 packets", settings: { "link.up.queue.limit": "10 packets" } },
      { text: "50 packets", settings: { "link.up.queue.limit": "50 packets" } },
    ],
    paper: "S. Merritt: Understanding Asymmetric Links, Buffers and Bi-Directional TCP Performance. Thesis, 2010.",
  },
  {
    title: "ACKs arrive in bursts",
    text: "ACKs that queued behind data arrive with the spacing of the uplink's queue, not with the spacing of the data that they acknowledge. The sender reacts to each burst of ACKs with a burst of data. This effect is called ACK compression.",
    watch: "Zoom in: the line of ACKs in the time-sequence diagram has steps, and data follows each step at once.",
    scenario: FAST,
    settings: {},
    at: 20,
    tries: [
      { text: "Without the upload", settings: { "flow.upload.start": "29 s" } },
      { text: "fq_codel up", settings: { "link.up.queue": '{ kind = "fq_codel" }' } },
    ],
    paper: "L. Zhang, S. Shenker, D. Clark: Observations on the Dynamics of a Congestion Control Algorithm: The Effects of Two-Way Traffic. SIGCOMM 1991.",
  },
  {
    title: "Bufferbloat",
    text: "A buffer of 250 packets before a line of 2 Mbit/s holds 1.5 s of traffic. TCP fills a buffer until a packet is lost, so all other traffic, such as a call, waits for 1.5 s.",
    watch: "The round trip rises as soon as the backup begins, and the call's datagrams wait too.",
    scenario: HOUSEHOLD,
    settings: {},
    at: 30,
    tries: [
      { text: "30 packets up", settings: { "link.up.queue.limit": "30 packets" } },
      { text: "400 packets up", settings: { "link.up.queue.limit": "400 packets" } },
    ],
    paper: "J. Gettys, K. Nichols: Bufferbloat: Dark Buffers in the Internet. ACM Queue 9 (2011).",
  },
  {
    title: "The queue manages itself",
    text: "CoDel measures the waiting time of each packet instead of the queue length. If every packet waits longer than 5 ms for 100 ms, CoDel drops a packet, so that the sender slows down. FQ-CoDel also has a separate queue for each flow.",
    watch: "The download's round trips fall to about 10 %, and its goodput does not change.",
    scenario: HOUSEHOLD,
    settings: { "link.up.queue": '{ kind = "fq_codel" }', "link.down.queue": '{ kind = "fq_codel" }' },
    at: 30,
    tries: [
      { text: "CoDel alone", settings: { "link.up.queue": '{ kind = "codel" }', "link.down.queue": '{ kind = "codel" }' } },
      { text: "PIE", settings: { "link.up.queue": '{ kind = "pie" }', "link.down.queue": '{ kind = "pie" }' } },
      { text: "No AQM", settings: {} },
    ],
    paper: "K. Nichols, V. Jacobson: Controlling Queue Delay. ACM Queue 10 (2012); RFC 8289 and RFC 8290.",
  },
  {
    title: "Fewer ACKs do the same work",
    text: "An ACK acknowledges all data before it. A filter in the uplink's queue can therefore remove an ACK when a newer ACK of the same connection arrives. With a queue for each flow, both directions gain: the upload uses the capacity of the removed ACKs. In a drop-tail buffer, the same filter slows the download down: the upload's data fills the places of the removed ACKs, and the remaining ACKs wait behind this data.",
    watch: "Fewer small bars wait in the lower buffer.",
    scenario: FAST,
    settings: { "link.up.queue": '{ kind = "ack_filter", rule = "conservative", queue = { kind = "fq_codel" } }' },
    at: 20,
    tries: [
      { text: "FQ-CoDel without the filter", settings: { "link.up.queue": '{ kind = "fq_codel" }' } },
      { text: "The filter with drop-tail", settings: { "link.up.queue": '{ kind = "ack_filter", rule = "conservative", queue = { kind = "fifo", limit = "200 packets" } }' } },
      { text: "Drop-tail alone", settings: {} },
    ],
    paper: "H. Balakrishnan and others, RFC 3449: TCP Performance Implications of Network Path Asymmetry (2002).",
  },
  {
    title: "Not every TCP is fair to others",
    text: "Reno halves its window at each loss. BBR estimates the rate and ignores most losses. In a shallow buffer BBR takes most of the line from Reno.",
    watch: "The goodput of the first flow falls when the other joins.",
    scenario: SHARED,
    settings: {},
    at: 30,
    tries: [
      { text: "Reno against Reno", settings: { "flow.other.cc": "reno" } },
      { text: "Cubic against Reno", settings: { "flow.other.cc": "cubic" } },
      { text: "BBR, and FQ-CoDel", settings: { "link.down.queue": '{ kind = "fq_codel" }' } },
    ],
    paper: "R. Ware, M. Mukerjee, S. Seshan, J. Sherry: Modeling BBR's Interactions with Loss-Based Congestion Control. IMC 2019.",
  },
  {
    title: "Radio: loss without congestion",
    text: "A radio link can lose a packet although no queue is full. Reno treats each loss as congestion and halves its window, so the line is often empty.",
    watch: "The congestion window stays small, and the queue stays empty.",
    scenario: RADIO,
    settings: {},
    at: 20,
    tries: [
      { text: "0.1 % loss", settings: { "link.down.loss": "0.1 %" } },
      { text: "BBR", settings: { "flow.download.cc": "bbr" } },
      { text: "Westwood", settings: { "flow.download.cc": "westwood" } },
    ],
    paper: "H. Balakrishnan, V. Padmanabhan, S. Seshan, R. Katz: A Comparison of Mechanisms for Improving TCP Performance over Wireless Links. SIGCOMM 1996.",
  },
];

export interface Remedy {
  readonly name: string;
  readonly label: string;
  /** The remedy's settings for a link whose keys have the prefix `key`, given the link's current queue. */
  settings(key: string, queue: string, downRate: string): Record<string, string>;
}

/** Remedies for the ACK path, as in `lopsided ackpath`. */
export const REMEDIES: readonly Remedy[] = [
  { name: "none", label: "none", settings: () => ({}) },
  {
    name: "acks_first",
    label: "ACKs first (strict priority up)",
    settings: (key, queue) => ({
      [`${key}.up.queue`]: `{ kind = "prio", bands = [${queue}, ${queue}], classify = [{ class = 0, packet = "ack" }] }`,
    }),
  },
  {
    name: "filter",
    label: "ACK filter, as in CAKE",
    settings: (key, queue) => ({ [`${key}.up.queue`]: `{ kind = "ack_filter", rule = "conservative", queue = ${queue} }` }),
  },
  {
    name: "few_acks",
    label: "4 ACKs per round trip (TACK)",
    settings: () => ({ "stack.ack_policy": "tack", "stack.acks_per_rtt": "4" }),
  },
  { name: "pacing", label: "ACK pacing after the line", settings: (key, _, rate) => ({ [`${key}.up.stages`]: `[{ kind = "ack_pacing", rate = "${rate}" }]` }) },
  { name: "rohc", label: "header compression (ROHC)", settings: (key) => ({ [`${key}.up.header_compression`]: "rohc" }) },
  { name: "bursts", label: "bursts of at most 4 segments", settings: () => ({ "stack.max_burst": "4" }) },
];

/** Disciplines offered in the menu. Any other discipline can be set in the TOML. */
export const QUEUES: readonly { readonly name: string; readonly label: string; readonly toml: (limit: number) => string }[] = [
  { name: "fifo", label: "FIFO (drop-tail)", toml: (limit) => `{ kind = "fifo", limit = "${limit} packets" }` },
  { name: "codel", label: "CoDel", toml: () => '{ kind = "codel" }' },
  { name: "fq_codel", label: "FQ-CoDel", toml: () => '{ kind = "fq_codel" }' },
  { name: "pie", label: "PIE", toml: () => '{ kind = "pie" }' },
  { name: "fq_pie", label: "FQ-PIE", toml: () => '{ kind = "fq_pie" }' },
  { name: "cake", label: "CAKE", toml: () => '{ kind = "cake" }' },
  { name: "red", label: "RED", toml: () => '{ kind = "red" }' },
  { name: "sfq", label: "SFQ", toml: () => '{ kind = "sfq" }' },
  { name: "dualpi2", label: "DualPI2 (L4S)", toml: () => '{ kind = "dualpi2" }' },
];

/** The goals of the challenge for the access link of a household. */
export const CHALLENGE = {
  scenario: HOUSEHOLD,
  rttMs: 50,
  /** Fraction of the goodput of a fully used link: 1,448 bytes of payload in 1,514 bytes of Ethernet. */
  share: 0.9,
  payload: 1448 / 1514,
} as const;
