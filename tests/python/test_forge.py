"""Checks that the files for code hosting sites, package registries and archives are consistent."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())


def _satisfied(expression: str, allowed: set[str]) -> bool:
    """Returns true if an SPDX licence expression can be satisfied with the allowed licences."""
    tokens = re.findall(r"\(|\)|[\w.+-]+(?: WITH [\w.-]+)?", expression.replace("/", " OR "))
    python = [{"OR": "or", "AND": "and", "(": "(", ")": ")"}.get(token, str(token in allowed)) for token in tokens]
    return bool(eval(" ".join(python), {"__builtins__": {}}))


def test_an_expression_of_licences_is_read():
    assert _satisfied("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT", "Unicode-3.0"})
    assert not _satisfied("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT"})
    assert _satisfied("GPL-3.0 OR Apache-2.0 WITH LLVM-exception", {"Apache-2.0 WITH LLVM-exception"})
    assert not _satisfied("GPL-3.0", {"MIT"})


def test_every_crate_has_an_accepted_licence():
    # On the forge, `cargo deny check` performs the same check, and also reads security advisories from the network.
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]
    path = subprocess.run([ROOT / "tools" / "rust", *command], cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(path.stdout)["packages"]
    assert len(packages) > 50
    refused = {one["name"]: one["license"] for one in packages if not _satisfied(one["license"] or "none", allowed)}
    assert not refused


def test_every_file_with_the_version_has_the_same_version():
    version = CARGO["workspace"]["package"]["version"]
    assert json.loads((ROOT / "codemeta.json").read_text())["version"] == version
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1] == version


def test_every_file_with_the_address_has_the_same_address():
    package = CARGO["workspace"]["package"]
    meta = json.loads((ROOT / "codemeta.json").read_text())
    citation = (ROOT / "CITATION.cff").read_text()
    assert package["homepage"] == meta["url"] == re.search(r'^url: "(.*)"$', citation, re.M)[1]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert package["homepage"] == urls["Homepage"] and package["repository"] == urls["Source"]
    assert package["repository"] == meta["codeRepository"] == re.search(r'^repository-code: "(.*)"$', citation, re.M)[1]


def test_a_workflow_states_its_permissions_and_a_time_limit():
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert {path.stem for path in workflows} == {"ci", "docs", "nightly", "release", "wheels"}
    for path in workflows:
        assert re.search(r"^permissions:\n  contents: read$", path.read_text(), re.M), path.name
