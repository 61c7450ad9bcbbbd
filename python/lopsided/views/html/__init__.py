"""The report of a run: one HTML page that needs nothing else, no script and no network."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lopsided.data import table, units
from lopsided.errors import UsageError
from lopsided.views import linux, notable_links

if TYPE_CHECKING:
    import jinja2

    from lopsided.data.table import Table
    from lopsided.run import Run

_FLOW_COLUMNS = (
    ("name", "flow", "its name in the scenario"),
    ("direction", "direction", "down: towards the client; up: away from it"),
    ("cc", "control", "congestion control at the sender"),
    ("profile", "stack", "the stack profile of the sender"),
    ("start_s", "start", "first packet"),
    ("goodput_bps", "goodput", "bytes delivered to the application over the time the flow was active"),
    ("retransmits", "sent again", "segments sent again"),
    ("timeouts", "timeouts", "retransmission timeouts"),
    ("spurious", "undone", "recoveries found to be spurious and undone"),
    ("rtt_mean_ms", "RTT mean", "timed per packet at the sender"),
    ("rtt_p95_ms", "RTT 95 %", "95th percentile"),
    ("cwnd_mean_bytes", "cwnd mean", "over the time the flow was active"),
    ("cwnd_max_bytes", "cwnd max", "largest congestion window"),
)
_LINK_COLUMNS = (
    ("link", "link", "its name in the scenario"),
    ("direction", "direction", "down: towards the client; up: away from it"),
    ("rate_bps", "rate", "of the serializer or shaper"),
    ("utilisation", "used", "share of the rate"),
    ("mean_backlog_packets", "backlog mean", "packets in the queue, over the whole run"),
    ("max_backlog_packets", "backlog max", "packets in the queue"),
    ("sojourn_mean_ms", "wait mean", "time in the queue"),
    ("sojourn_p95_ms", "wait 95 %", "95th percentile of the time in the queue"),
    ("sojourn_max_ms", "wait max", "longest time in the queue"),
    ("dropped_packets", "dropped", "packets dropped by the queue"),
    ("marked_packets", "marked", "packets that the queue marked (ECN)"),
    ("lost_random", "lost at random", "packets lost at random on the medium"),
    ("lost_pattern", "lost by pattern", "packets lost by the scenario's pattern"),
)
_FAIRNESS_COLUMNS = (
    ("group", "group", "flows that belong together"),
    ("cc", "control", "congestion control"),
    ("flows", "flows", "in the group"),
    ("goodput_bps", "goodput", "of the group"),
    ("share", "share", "of what all got"),
    ("of_fair", "of fair share", "of what max-min fairness gives the group"),
    ("jain", "Jain", "Jain's index within the group"),
    ("rtt_ms", "RTT mean", "timed per packet"),
    ("resent", "sent again", "part of the segments sent"),
    ("alone_goodput_bps", "goodput alone", "without the other groups"),
    ("harm_rate", "harm: goodput", "part of its goodput alone that is lost in company"),
    ("harm_rtt", "harm: delay", "part of its round-trip time that company added"),
    ("harm_resent", "harm: loss", "part of what it sent again that company caused"),
)
_MOST_ROWS = 60
_PLOTS = ("goodput", "cwnd", "rtt", "queue", "drops")


def render(run: Run) -> str:
    """The whole page."""
    return template("report.html.j2").render(
        run=run,
        scenario_toml=run.scenario.to_toml(),
        facts=_facts(run),
        flows=_chosen(run.flows, _FLOW_COLUMNS),
        links=_chosen(run.links, _LINK_COLUMNS, notable_links.links(run)),
        quiet_links=len(run.links) - len(notable_links.links(run)),
        plots=_plots(run),
        fairness=_fairness(run),
    )


def notebook(run: Run) -> str:
    """What a notebook shows of a run: its line of identity, the flows, the goodput."""
    return template("notebook.html.j2").render(
        run=run, facts=_facts(run), flows=_chosen(run.flows, _FLOW_COLUMNS), plots=_plots(run, ("goodput",))
    )


def _fairness(run: Run) -> dict[str, Any] | None:
    """The groups of flows and the figures of the whole, where the scenario asks for them."""
    if not run.scenario.asks_for_fairness:
        return None
    found = run.fairness()
    return {**_chosen(found.groups, _FAIRNESS_COLUMNS), "text": found.text}


def _facts(run: Run) -> list[tuple[str, str]]:
    from lopsided._native import __version__

    facts = [
        ("world", run.world),
        ("simulated" if run.world == "sim" else "measured", units.seconds(run.scenario.duration_s)),
        ("seed", str(run.seed)),
        ("digest", run.digest),
        ("made", run.made.replace("T", " ").replace("+00:00", " UTC")),
        ("lopsided", __version__),
    ]
    if "kernel_kind" in run.facts:
        return facts + linux.told(run.facts)
    return facts + [
        (key.replace("_", " "), units.count(value) if isinstance(value, int) else _text(value))
        for key, value in run.facts.items()
    ]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {inner}" for key, inner in value.items())
    return str(value)


def _chosen(
    whole: Table, columns: tuple[tuple[str, str, str], ...], rows: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """What the template shows of a table: headings with their meaning, and the rows (default: all) as text."""
    present = [column for column in columns if column[0] in whole.columns]
    numeric = [whole[name].dtype.is_numeric() for name, _, _ in present]
    headings = [((heading, meaning), number) for (_, heading, meaning), number in zip(present, numeric, strict=True)]
    shown = list(whole.rows()) if rows is None else rows
    body = [
        [(table.text(name, row[name]), number) for (name, _, _), number in zip(present, numeric, strict=True)]
        for row in shown[:_MOST_ROWS]
    ]
    return {"headings": headings, "rows": body, "more": max(0, len(shown) - _MOST_ROWS)}


def _plots(run: Run, kinds: tuple[str, ...] = _PLOTS) -> list[dict[str, str]]:
    from lopsided.views.plot import style

    drawn = []
    for kind in kinds:
        try:
            figure = run.plot(kind)
        except UsageError:
            continue  # Nothing of this kind to draw: no samples, or no drops.
        drawn.append({"kind": kind, "svg": style.svg(figure, salt=f"{kind}-{run.digest}")})
    return drawn


@cache
def template(name: str) -> jinja2.Template:
    """A page of this folder."""
    import jinja2

    loader = jinja2.PackageLoader("lopsided.views.html", package_path=".")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True).get_template(name)
