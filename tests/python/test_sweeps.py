import polars as pl
import pytest

import lopsided as lop
from lopsided.studies import options
from lopsided.studies import sweep as sweeps
from lopsided.studies.jobs import run_repeated
from lopsided.studies.sweep import metrics as sweep_metrics


@pytest.fixture(scope="module")
def swept(adsl) -> lop.Table:
    return lop.sweep(adsl)


def test_the_axes_of_the_file_are_swept(swept, adsl):
    frame = swept.to_polars()
    assert sweeps.axis_columns(swept) == ["link.up.queue.limit_packets"]
    runs = frame.unique(["link.up.queue.limit_packets", "seed"], maintain_order=True)
    assert runs["link.up.queue.limit_packets"].to_list() == [10, 10, 20, 20]
    assert runs["seed"].to_list() == [1, 2, 1, 2]
    assert frame["name"].to_list() == ["download", "upload"] * 4


def test_every_row_equals_its_run(swept, adsl):
    row = swept.to_polars().filter((pl.col("link.up.queue.limit_packets") == 20) & (pl.col("seed") == 2))
    run = adsl.with_(**{"link.up.queue.limit": "20 packets"}).run(seed=2)
    assert row["digest"].unique().to_list() == [run.digest]
    assert row["goodput_bps"].to_list() == run.flows["goodput_bps"].to_list()


def test_the_result_does_not_depend_on_the_number_of_workers(adsl, swept):
    for workers in (1, 5):
        assert lop.sweep(adsl, workers=workers).to_polars().equals(swept.to_polars())


def test_performance_is_the_smaller_share_while_both_are_active(adsl, adsl_run):
    together = sweeps.together_goodput(adsl_run)
    performance = sweeps.performance_of(adsl_run, together)
    assert performance == min(together["download"] / 2.4e6, together["upload"] / 196e3)
    alone = adsl.with_(**{"flow.upload.direction": "down"}).run()
    assert sweeps.performance_of(alone, sweeps.together_goodput(alone)) is None


def test_axes_may_be_lists_and_arms_of_several_settings(adsl):
    axes = {
        "line": [
            {"label": "slow", "link.down.rate": "1 Mbit/s", "link.up.rate": "100 kbit/s"},
            {"label": "fast", "link.down.rate": "5 Mbit/s", "link.up.rate": "500 kbit/s"},
        ],
        "flow.upload.start": ["5 s", "6 s"],
    }
    table = lop.sweep(adsl, axes, repeat=1, measure=lambda run: [{"rate": run.scenario.link_rate_bps("up")}])
    assert table["line"].to_list() == ["slow", "slow", "fast", "fast"]
    assert table["flow.upload.start_s"].to_list() == [5, 6, 5, 6]
    assert table["rate"].to_list() == [1e5, 1e5, 5e5, 5e5]


@pytest.mark.parametrize(
    ("values", "name", "written"),
    [
        (["5 packets", "10 packets"], "x_packets", [5, 10]),
        (["0.5", "1"], "x", [0.5, 1]),
        (["5 packets", "64 kB"], "x", ["5 packets", "64 kB"]),
        (["1 Mbit/s", "2 Mbit/s"], "x_Mbit_s", [1, 2]),
        (["reno", "cubic"], "x", ["reno", "cubic"]),
    ],
)
def test_an_axis_is_numeric_if_its_values_have_one_unit(values, name, written):
    column, numbers = sweeps.axis_column("x", values)
    assert column == name
    assert [numbers[value] for value in values] == written


def test_an_impossible_sweep_is_rejected(adsl):
    with pytest.raises(lop.ScenarioError, match="did you mean `limit`"):
        lop.sweep(adsl, {"link.up.queue.limmit": ["5 packets"]})
    with pytest.raises(lop.UsageError, match="ends before it begins"):
        lop.sweep(adsl, {"link.up.queue.limit": "50..5 packets"})
    with pytest.raises(lop.UsageError, match="has no values"):
        lop.sweep(adsl, {"link.up.queue.limit": []})
    with pytest.raises(lop.UsageError, match="nothing to sweep"):
        lop.sweep(adsl, {})
    with pytest.raises(lop.UsageError, match="0 times"):
        lop.sweep(adsl, repeat=0)
    with pytest.raises(lop.UsageError, match="0 workers"):
        lop.sweep(adsl, workers=0)


def test_repetitions_use_the_seeds_that_follow(adsl, adsl_run):
    runs = run_repeated(adsl, 3)
    assert [run.seed for run in runs] == [1, 2, 3]
    assert runs[0].digest == adsl_run.digest
    assert len({run.digest for run in runs}) == 3


def test_a_sweep_is_summarised_by_arm_and_flow(swept):
    short = sweeps.summary(swept).to_polars()
    assert short.height == 4
    arm = swept.to_polars().filter((pl.col("link.up.queue.limit_packets") == 10) & (pl.col("name") == "upload"))
    assert short["goodput_median_bps"][1] == arm["goodput_bps"].median()
    assert short["goodput_greatest_bps"][1] == arm["goodput_bps"].max()


def test_a_failing_run_stops_the_sweep(adsl):
    def refuse(_run):
        raise RuntimeError("measured nothing")

    with pytest.raises(RuntimeError, match="measured nothing"):
        lop.sweep(adsl, measure=refuse)


def test_a_sweep_is_drawn_by_the_metric_of_choice(swept):
    from lopsided.views.plot import style, sweep_curves

    for metric in options.METRICS:
        if metric == "completion":
            with pytest.raises(lop.UsageError, match="no flow of this sweep has a completion"):
                swept.plot(metric)
            continue
        assert swept.plot(metric).axes and "share of seeds" in swept.plot(metric, cdf=True).axes[0].get_ylabel()
    # The upload of 196 kbit/s is in kbit/s beside a download in Mbit/s.
    down, up = swept.plot("goodput", cdf=True).axes[:2]
    assert (down.get_xlabel(), up.get_xlabel()) == ("goodput (Mbit/s)", "goodput (kbit/s)")
    assert max(float(x) for line in up.lines for x in line.get_xdata()) == pytest.approx(
        swept.to_polars().filter(pl.col("name") == "upload")["goodput_bps"].max() / 1e3
    )
    table = sweep_curves.data(swept, "delay")
    first = swept.to_polars().filter((pl.col("name") == "upload") & (pl.col("link.up.queue.limit_packets") == 10))
    row = table.filter((pl.col("name") == "upload") & (pl.col("link.up.queue.limit_packets") == 10)).to_dicts()[0]
    assert row["mean"] == pytest.approx(first["rtt_mean_ms"].mean()) and row["runs"] == 2
    assert row["low_95"] < row["mean"] < row["high_95"]
    jain = sweep_curves.data(swept, "jain")
    assert jain.height == 2 and jain["mean"].is_between(0.5, 1).all()
    with pytest.raises(lop.UsageError, match="did you mean 'delay'"):
        sweep_metrics.check_metric("dealy")
    with style.for_column("single"):
        figure = swept.plot("delay")
    assert figure.get_figwidth() == 3.5 and not figure.texts
    assert swept.plot("delay").get_figwidth() > 8


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("link.up.rate_kbit_s", "link.up.rate (kbit/s)"),
        ("link.up.queue.limit_packets", "link.up.queue.limit (packets)"),
        ("link.up.loss__", "link.up.loss (%)"),
        ("stack.delayed_ack", "stack.delayed_ack"),
    ],
)
def test_an_axis_label_has_a_unit_and_no_part_of_a_key(column, label):
    assert sweeps.axis_label(column) == label
