"""Tests the laboratory, an HTML page that simulates a line in the browser. One test uses a real browser."""

import http.client
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import lopsided as lop
from lopsided import _native, cli
from lopsided.errors import UsageError
from lopsided.views import page, served

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
SCENARIO = ROOT / "scenarios" / "adsl.toml"
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

NODE = (
    int(subprocess.run(["node", "-p", "parseInt(process.versions.node)"], capture_output=True).stdout or 0)
    if shutil.which("node")
    else 0
)

built = pytest.mark.skipif(not page.is_built(), reason="the page is not built: `make page` needs Node 18 and rustup")
has_node = pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir(), reason="Node, or web/node_modules, is missing"
)


@pytest.fixture(autouse=True)
def _consoles():
    cli.terminal.out.cache_clear()
    cli.terminal.errors.cache_clear()


@built
def test_the_command_writes_one_file_of_bounded_size(tmp_path, capsys):
    out = tmp_path / "page.html"
    assert cli.invoke(["page", str(SCENARIO), "--set", "link.up.queue.limit=15 packets", "--out", str(out)]) == 0
    text = out.read_text()
    assert len(text.encode()) < 2_500_000
    baked = json.loads(re.search(r'id="baked">(.*?)</script>', text, re.S)[1])
    assert baked["settings"] == {"link.up.queue.limit": "15 packets"}
    assert baked["description"]["line"]["up"]["limit_packets"] == 15
    assert not re.search(r'<[^>]*(src|href)="', text.split('id="baked"')[0])
    assert cli.invoke(["page", str(SCENARIO), "--out", str(out)]) != 0, "a file that is there is kept"
    assert "--overwrite" in capsys.readouterr().err


@built
def test_a_name_cannot_end_the_script_that_holds_it():
    evil = "</script><script>alert(1)</script><!--"
    text = SCENARIO.read_text().replace("Download and upload on a 2400/196 kbit/s line", evil)
    html = page.page(lop.Scenario.from_text(text))
    assert evil not in html and "\\u003c/script>" in html


def test_without_a_bundle_the_error_explains_how_to_build_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(page, "BUNDLE", tmp_path)
    page._page.cache_clear()
    assert cli.invoke(["page", "--out", str(tmp_path / "page.html")]) != 0
    assert "make page" in capsys.readouterr().err
    page._page.cache_clear()


def test_the_first_picture_has_the_digest_and_the_verdict_of_the_run():
    run = lop.Scenario.load(SCENARIO).run()
    block = _native.page_picture(SCENARIO.read_text(), [], 480, (90.0, 95.0))
    length = int.from_bytes(block[:4], "little")
    head = json.loads(block[4 : 4 + length])
    assert head["digest"] == run.digest
    from lopsided.studies.verdict import verdict

    assert head["verdict"] == verdict(run)
    assert {series["chart"] for series in head["series"]} == {"goodput", "cwnd", "rtt", "queue", "wait", "drops"}


def test_python_code_cannot_run_in_the_page():
    class Mine(lop.WindowAlgorithm):
        def cong_avoid(self, window, acked):
            return window

        def ssthresh(self, window):
            return window

    with pytest.raises(UsageError, match="the page runs no Python"):
        page.bake(lop.Scenario.load(SCENARIO, {"mine": Mine}))


@built
def test_runs_are_served_only_to_the_local_machine(tmp_path):
    folder = tmp_path / "runs" / "sub" / "adsl"
    lop.Scenario.load(SCENARIO).run().save(folder)
    (folder / "secret.txt").write_text("secret")
    (tmp_path / "runs" / "sweep.csv").write_text("flow,goodput_bps\n<b>one</b>,12\n")
    (tmp_path / "runs" / "other.csv").write_text("a,b\n1,2\n")
    with served.serving(tmp_path / "runs") as server:
        port = int(server.address.rsplit(":", 1)[1].strip("/"))

        def get(path, host="127.0.0.1", method="GET"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request(method, path, headers={"Host": f"{host}:{port}"})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")

        status, text = get("/")
        assert status == 200 and '"name":"sub/adsl"' in text
        assert get("/runs/sub/adsl/report.html")[0] == 200
        status, text = get("/tables/sweep.csv")
        assert status == 200 and "&lt;b&gt;one&lt;/b&gt;" in text and "<b>one" not in text
        assert get("/tables/other.csv")[0] == 404
        for path in ("/runs/sub/adsl/secret.txt", "/runs/../secret", "/runs/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"):
            assert get(path)[0] == 404, path
        assert get("/", host="evil.example")[0] == 403
        assert get("/", method="POST")[0] == 501


def test_a_port_that_is_in_use_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(served, "page", lambda **_: "")
    with served.serving(tmp_path) as server:
        port = int(server.address.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(UsageError, match=f"port {port} is in use"), served.serving(tmp_path, port):
            pass


@built
def test_a_run_can_be_explored_in_a_notebook():
    pytest.importorskip("anywidget")
    widget = lop.Scenario.load(SCENARIO).run(seed=3).explore()
    assert widget.baked["settings"] == {"scenario.seed": "3"}
    assert len((page.BUNDLE / "widget.js").read_bytes()) < 2_000_000


@built
def test_a_report_contains_the_page_only_on_request():
    run = lop.Scenario.load(SCENARIO).run()
    assert "Play with this run" in run.report(play=True)
    plain = run.report()
    assert "Play with this run" not in plain and len(plain) < 700_000
    assert plain.count('<script type="application/json">') == plain.count("<svg")


def _node(*arguments, **environment):
    done = subprocess.run(
        ["node", "--test", "--test-reporter=spec", *arguments],
        cwd=WEB,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )
    print(done.stdout[-4000:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@built
@has_node
def test_the_module_reproduces_recorded_digests_without_imports():
    _node("tests/module.test.mjs")


@built
@has_node
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing: run `tools/setup test`")
@pytest.mark.skipif(NODE < 20, reason=f"Playwright needs Node 20 or later, not {NODE}")
def test_the_page_in_a_browser(tmp_path):
    out, report = tmp_path / "page.html", tmp_path / "report.html"
    out.write_text(page.page(lop.Scenario.load(SCENARIO)))
    report.write_text(lop.Scenario.load(SCENARIO).run().report(play=True))
    _node("--test-concurrency=1", "tests/browser.test.mjs", LOPSIDED_PAGE=str(out), LOPSIDED_REPORT=str(report))
