"""Checks that the documentation site contains every page, and that `tools/release` updates every file that contains the
version."""

import re
import subprocess
import sys
from pathlib import Path

from of_tools import ROOT, load

api, docs, release = load("api"), load("docs"), load("release")


def test_the_navigation_lists_every_page_once():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"[\w/.-]+\.md", navigation)
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    pages |= {str(docs.place_of(Path(name))) for name in docs.ROOT_PAGES} | {"cli.md", "api.md"}
    assert sorted(listed) == sorted(pages)


def test_links_on_the_site_are_valid():
    text = "[a](../README.md#start) [b](queues.md) [c](../examples/own-queue/src/main.rs) [d](https://example.org/x)"
    assert docs.relinked(text, Path("docs/live.md"), Path("live.md")) == (
        "[a](index.md#start) [b](queues.md) "
        "[c](https://lopsided.example/lopsided/blob/main/examples/own-queue/src/main.rs) [d](https://example.org/x)"
    )
    text = "[a](docs/page.md) [b](ARCHITECTURE.md)"
    assert docs.relinked(text, Path("README.md"), Path("index.md")) == "[a](page.md) [b](ARCHITECTURE.md)"
    text = "[a](../fidelity.md) [b](../../CONTRIBUTING.md)"
    page = Path("fidelity/values.md")
    assert docs.relinked(text, "docs" / page, page) == "[a](../fidelity.md) [b](../CONTRIBUTING.md)"


def test_pages_load_nothing_from_servers():
    page = '<script src="https://a.test/x.js"></script><link rel="stylesheet" href="https://b.test/y.css">'
    assert docs.from_servers(page + '<img src="z.png"><a href="https://c.test">c</a>') == [
        "https://a.test/x.js",
        "https://b.test/y.css",
    ]
    # The plugin `offline` adds a script that is loaded from a server, unless mkdocs.yml names a local script.
    (script,) = re.findall(
        r"^extra: \{ polyfills: \[(\S*iframe-worker\S*)\] \}$", (ROOT / "mkdocs.yml").read_text(), re.M
    )
    assert (ROOT / "docs" / script).is_file()


def test_a_long_table_of_values_is_a_download(tmp_path):
    rows = "".join(f"| `cell {number}` | **{number} %** | a \\| b |\n" for number in range(docs.MOST_ROWS + 1))
    short = "| a |\n|---|\n| 1 |\n"
    text = f"Before\n\n{short}\n| cell | value | note |\n|---|---|---|\n{rows}\nAfter\n"
    found = docs.with_downloads(text, tmp_path / "values.md")
    assert found.startswith(f"Before\n\n{short}\n| cell |") and found.endswith("\nAfter\n")
    assert found.count("| `cell") == docs.SHOWN_ROWS and "[All 31 rows as CSV](values-table-1.csv)" in found
    lines = (tmp_path / "values-table-1.csv").read_text().splitlines()
    assert lines[:2] == ["cell,value,note", "cell 0,0 %,a | b"]
    assert len(lines) == docs.MOST_ROWS + 2


def test_a_release_changes_every_version_and_closes_the_changelog():
    files = release.written("9.8.7", "https://forge.test/owner/name", "2031-02-03")
    assert set(files) == {*release.HOLDERS, "CHANGELOG.md", "pyproject.toml"}
    cargo = files["Cargo.toml"]
    assert 'version = "9.8.7"\nedition' in cargo and 'path = "crates/tcp", version = "9.8.7"' in cargo
    assert 'rust-version = "1.85"' in cargo and 'proptest = { version = "1"' in cargo
    assert 'version: 9.8.7\ndate-released: "2031-02-03"' in files["CITATION.cff"]
    assert '"version": "9.8.7"' in files["codemeta.json"]
    assert "uses: owner/name@v9.8.7\n" in files["docs/check.md"]
    assert 'Issues = "https://forge.test/owner/name/issues"' in files["pyproject.toml"]
    assert not any("lopsided.example" in text for text in files.values())
    assert "\n## 9.8.7 (2031-02-03)\n" in release.closed("# Changes\n\n## Unreleased\n\n- a\n", "9.8.7", "2031-02-03")
    assert release.section("# C\n\n## 2.0.0 (x)\n\n- b\n\n## 1.0.0 (y)\n\n- a\n", "2.0.0") == "- b"


def test_links_in_the_description_of_a_package_are_absolute():
    text = "[a](docs/page.md#use) ![b](docs/images/b.png) [c](https://example.org/x) [d](#here)"
    assert release.absolute(text, "https://forge.test/owner/name", "1.2.3") == (
        "[a](https://forge.test/owner/name/blob/v1.2.3/docs/page.md#use) "
        "![b](https://forge.test/owner/name/raw/v1.2.3/docs/images/b.png) [c](https://example.org/x) [d](#here)"
    )
    readme = release.absolute(release.read("README.md"), "https://forge.test/owner/name", "1.2.3")
    assert not re.findall(r"\]\((?!https:)[^)]*\)", readme)


def test_a_dry_run_shows_the_changes_and_writes_nothing():
    before = {name: release.read(name) for name in (*release.HOLDERS, "CHANGELOG.md")}
    command = [sys.executable, ROOT / "tools" / "release", "0.1.0", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "would refuse: the address is still the placeholder" in done.stderr
    assert "make test" in done.stdout
    assert before == {name: release.read(name) for name in before}
    command = [sys.executable, ROOT / "tools" / "release", "0.1"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


def test_a_wrong_version_is_reported_for_every_file():
    command = [sys.executable, ROOT / "tools" / "release", "99.0.0", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert {line.split()[0] for line in done.stderr.splitlines()} == {*release.HOLDERS, "CHANGELOG.md"}


def test_the_public_rust_api_equals_the_recorded_api():
    done = subprocess.run([sys.executable, ROOT / "tools" / "api"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_public_items_are_found_and_private_items_are_not():
    source = """
    /// pub fn in_a_comment() {}
    pub struct Shown { pub field: Vec<u8>, hidden: u8 }
    pub struct Unnamed;
    pub(crate) fn inner() {}
    pub enum Choice { One, Two(u8, u16) }
    impl<T: Clone> Shown { pub fn made(t: T) -> Self { fn nested() {} loop {} } fn own(&self) {} }
    impl Clone for Shown { fn clone(&self) -> Self { loop {} } }
    pub trait Acts { fn act(&self); fn rest(&self) { let text = "pub fn x() {"; } }
    #[cfg(test)]
    mod tests { pub fn only_here() {} }
    """
    found = set(api.items(api.stripped(source), {"Shown", "Choice", "Acts"}, everything=False))
    assert found == {
        "pub struct Shown",
        "Shown: pub field: Vec<u8>",
        "pub enum Choice",
        "Choice: One",
        "Choice: Two(u8, u16)",
        "Shown: pub fn made(t: T) -> Self",
        "pub trait Acts",
        "Acts: fn act(&self)",
        "Acts: fn rest(&self)",
    }
