from __future__ import annotations

import json
from pathlib import Path

import pytest

import own_controllers
from lines import UPLOAD, line_of
from lopsided import cli
from lopsided.errors import FolderError, UsageError
from lopsided.scenario import Run, Scenario
from lopsided.studies import compare, packets
from lopsided.studies.arms import Arm
from lopsided.views import packets as views

RENO = f"{Path(own_controllers.__file__)}:Reno"


pytestmark = pytest.mark.usefixtures("own_folder")


def test_a_run_has_the_same_packets_as_itself(adsl):
    found = packets.compare_arms([Arm("one", adsl, "sim"), Arm("other", adsl, "sim")])
    assert found.first is None and found.parted is None and found.scenes() == []
    assert {(one.host, one.flow) for one in found.found} == {
        (host, flow) for host in ("server", "client") for flow in ("download", "upload")
    }
    assert all(part["alike"] == part["packets"][0] for one in found.found for part in one.pairs[0]["drift"])
    assert found.figure() is None
    assert "no difference" in views.headline(found)


def test_an_extra_ack_is_found_where_it_was_sent(adsl):
    eager = adsl.with_(**{"flow.download.receiver_stack.delayed_ack": "off"})
    found = packets.compare_arms([Arm("delayed", adsl, "sim"), Arm("eager", eager, "sim")])
    first = found.first.first
    # The first difference is at the host that sends the ACKs.
    assert (first.host, first.flow, first.sender) == ("client", "download", False)
    assert "ack" in first.fields
    at_sender = next(one for one in found.found if one.host == "server" and one.flow == "download")
    assert at_sender.parted.time_s > first.time_s
    [scene] = found.scenes()
    assert scene.context[-1]["one"]["ack"] != scene.context[-1]["other"]["ack"]
    assert scene.states["eager"]["time_s"] <= first.time_s < scene.states["eager"]["time_s"] + 0.1
    json.dumps(found.as_dict())


def test_ignored_fields_do_not_differ_and_unknown_fields_are_rejected(adsl):
    short = adsl.only(["download"]).with_(**{"scenario.duration": "2 s"})
    named = short.with_(**{"flow.download.receiver_stack.receive_buffer": "400000 B"})
    arms = [Arm("one", short, "sim"), Arm("other", named, "sim")]
    first = packets.compare_arms(arms).first.first
    assert "window" in first.fields
    # A larger window changes the window scale option first, and the ACKs later.
    later = packets.compare_arms(arms, ignored=["window", "syn_options"]).first.first
    assert later.time_s > first.time_s and not {"window", "syn_options"} & set(later.fields)
    with pytest.raises(UsageError, match="no field 'colour'"):
        packets.compare_arms(arms, ignored=["colour"])
    with pytest.raises(UsageError, match="exactly two different worlds"):
        packets.compare(short, ("sim",))


def test_two_folders_are_compared_by_their_tables_and_their_packets(adsl_file, capsys):
    for name, seed in (("one", "1"), ("other", "2")):
        arguments = ["--no-report", "-q", "--out", name, "--seed", seed, "--pcap", "hosts"]
        assert cli.invoke(["run", str(adsl_file), *arguments]) == 0
    assert cli.invoke(["compare", "one", "other", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    download = next(row for row in rows if (row["what"], row["quantity"]) == ("download", "goodput_bps"))
    assert download["one"] == Run.load("one").flows["goodput_bps"][0]
    assert cli.invoke(["compare", "one", "other", "--packets", "--plot", "parted.png", "--fail"]) == 1
    assert "The packets diverge" in capsys.readouterr().out or Path("parted.png").stat().st_size > 0
    assert cli.invoke(["compare", "one", "one", "--packets", "--fail"]) == 0


def test_kept_linux_runs_are_compared_with_new_simulations(adsl, capsys):
    short = adsl.only(["download"]).with_(**{"scenario.duration": "3 s"})
    eager = short.with_(**{"flow.download.receiver_stack.delayed_ack": "off"})
    for name, scenario in (("one", short), ("two", eager)):
        packets.keep(scenario, Path("kept") / name, seed=2, world="sim")
    assert packets.against(Run.load("kept/one")).first is None
    # Replace the stored scenario, so that it does not match the stored captures.
    text = Path("kept/two/scenario.toml").read_text()
    Path("kept/two/scenario.toml").write_text(Path("kept/one/scenario.toml").read_text())
    assert packets.against(Run.load("kept/two")).parted is not None
    assert cli.invoke(["compare", "kept", "--packets", "--fail"]) == 1
    told = capsys.readouterr().out
    assert "one" in told and "two" in told and "ack" in told
    Path("kept/two/scenario.toml").write_text(text)
    assert cli.invoke(["compare", "kept", "--packets", "--fail"]) == 0
    capsys.readouterr()
    assert cli.invoke(["compare", "kept/one", "--packets"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert cli.invoke(["compare", str(Path.cwd()), "--packets"]) != 0
    assert "--pcap hosts" in capsys.readouterr().err


def test_folders_without_captures_and_incomplete_options_are_rejected(adsl_file, adsl, capsys):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "bare"]) == 0
    assert cli.invoke(["compare", "bare", "bare", "--packets"]) != 0
    assert "--pcap hosts" in capsys.readouterr().err
    assert cli.invoke(["compare", "bare"]) != 0
    assert "second run folder" in capsys.readouterr().err
    assert cli.invoke(["compare", str(adsl_file), "--against", "reno"]) != 0
    assert "--controller" in capsys.readouterr().err
    with pytest.raises(FolderError, match="not saved"):
        packets.of_folders(adsl.run(), adsl.run())


def test_a_user_reno_sends_the_packets_of_the_built_in_reno(adsl_file, capsys):
    arguments = ["--controller", f"Own={RENO}", "--against", "reno", "--worlds", "sim", "--seed", "3"]
    assert cli.invoke(["compare", str(adsl_file), *arguments, "--packets", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in told["runs"]] == ["Own", "reno"]
    assert told["first"] is None
    assert cli.invoke(["compare", str(adsl_file), *arguments, "--repeat", "1", "--json"]) == 0
    assert all(row["Own"] == row["reno"] for row in json.loads(capsys.readouterr().out))


def test_a_compared_control_replaces_that_of_the_flows_that_name_it(adsl):
    both = adsl.with_controllers({"Own": own_controllers.Reno})
    arms = compare.arms_against(both, "Own", "vegas", ("sim", "kernel"))
    assert [(arm.name, arm.world) for arm in arms] == [
        ("Own", "sim"),
        ("vegas", "sim"),
        ("vegas in kernel", "kernel"),
    ]
    named = both.with_(**{"flow.upload.cc": "Own"})
    controls = [
        [flow["sender_stack"]["cc"] for flow in arm.scenario.resolved["flows"]]
        for arm in compare.arms_against(named, "Own", "vegas")
    ]
    assert [one[1] for one in controls] == ["Own", "vegas"]
    assert controls[0][0] == controls[1][0] != "Own"
    with pytest.raises(UsageError, match="--against"):
        compare.arms_against(named, "Own")


def test_datagrams_have_no_congestion_control_to_compare():
    app = 'app = { kind = "udp", rate = "80 kbit/s", size = "200 B" }\n'
    text = line_of("5 s", "8 Mbit/s", "1 Mbit/s") + UPLOAD + app
    call = Scenario.from_text(text, "call").with_controllers({"Own": own_controllers.Reno})
    with pytest.raises(UsageError, match="no flow over TCP"):
        compare.arms_against(call, "Own", "reno")


def apart(one: Scenario, other: Scenario, seeds: tuple[int, int], folder: Path) -> packets.Packets:
    kept = [
        packets.keep(scenario, folder / f"{number}", seed=seed, world="sim")
        for number, (scenario, seed) in enumerate(zip((one, other), seeds, strict=True))
    ]
    return packets.of_folders(*kept)


def test_a_random_loss_is_chance_and_a_full_queue_is_not(adsl, tmp_path):
    plain = adsl.only(["download"]).with_(**{"scenario.duration": "2 s"})
    lossy = plain.with_(**{"link.down.loss": "1 %"})
    found = apart(lossy, lossy, (1, 2), tmp_path / "lossy")
    assert "link.down, so chance explains the difference" in found.chance and "in only one run" in views.headline(found)
    assert found.as_dict()["chance"] == found.chance
    full = apart(plain, plain.with_(**{"link.down.queue": "3 packets"}), (1, 2), tmp_path / "full")
    assert full.first is not None and full.chance is None


def test_a_different_first_phase_of_bbr_is_chance_and_a_different_pace_is_not(adsl, tmp_path):
    rates = {"link.down.rate": "10 Mbit/s", "link.up.rate": "1 Mbit/s"}
    bbr = adsl.with_(**{"stack.cc": "bbr", **rates}).only(["download"]).with_(**{"scenario.duration": "2 s"})
    found = apart(bbr, bbr, (1, 2), tmp_path / "bbr")
    assert "BBR of download" in found.chance
    slower = bbr.with_(**{"link.down.rate": "2 Mbit/s"})
    assert apart(bbr, slower, (1, 2), tmp_path / "rates").chance is None
