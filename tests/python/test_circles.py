"""Checks that no crate has a dependency cycle between files.

The test parses `use` declarations and paths, and skips re-exports. It does not resolve other names, such as methods of
traits.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

CRATES = Path(__file__).parents[2] / "crates"
TYPES_THAT_HOLD_THEMSELVES = {
    "queue": {"qdisc.rs", "classful/classes.rs", "classful/class.rs", "classful/child.rs"},
    "spec": {"value.rs", "part.rs", "family.rs"},
}
"""Dependency cycles that are allowed, because the types refer to each other: queues contain classes, and classes
contain queues."""

Module = tuple[str, ...]
ITEM = (
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|unsafe\s+|async\s+)*(?:fn|struct|enum|trait|const|static|type)\s+(\w+)"
)
TABLE = r"^\s*(\w+) of (\w+) as\b"
"""Matches the names of the table type and the row type that the macro `table!` defines."""
USE = r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);"


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir()))
def test_crates_have_no_dependency_cycle_between_files(crate):
    files = Crate(CRATES / crate / "src")
    allowed = TYPES_THAT_HOLD_THEMSELVES.get(crate, set())
    circles = [circle for circle in files.circles() if set(circle) != allowed]
    assert not circles, "\n".join(" -> ".join(circle) for circle in circles)


def test_the_folders_of_tcp_have_no_dependency_cycle():
    folders = Crate(CRATES / "tcp" / "src").folders()
    assert not cycles(folders)
    # Since there is no cycle, `send` does not depend on `recovery`, and neither depends on `sender` or `connection`.
    assert "send" in folders["recovery"]
    assert {"recovery", "send"} <= folders["sender"]
    assert "sender" in folders["connection"]


def test_a_dependency_cycle_is_found(tmp_path):
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use a::{A, make};\n")
    (tmp_path / "a.rs").write_text("use super::b::B;\npub struct A(B);\npub fn make() {}\n")
    (tmp_path / "b.rs").write_text('table! {\n    /// Rows.\n    B of Row as "b" {}\n}\nfn of() { crate::make(); }\n')
    assert [sorted(circle) for circle in Crate(tmp_path).circles()] == [["a.rs", "b.rs"]]
    assert cycles(Crate(tmp_path).folders()) == [{"a", "b"}]


class Crate:
    """A crate's modules, and the names that each module imports and uses."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, str] = {}
        self.texts: dict[Module, str] = {}
        for path in sorted(source.rglob("*.rs")):
            names = path.relative_to(source).with_suffix("").parts
            if "tests" not in names and names[0] != "bin":
                module = names[:-1] if names[-1] in ("mod", "lib", "main") else names
                self.files[module] = str(path.relative_to(source))
                self.texts[module] = code(path.read_text())

    @cached_property
    def items(self) -> dict[Module, set[str]]:
        return {
            module: {*re.findall(ITEM, text, re.M), *chain(*re.findall(TABLE, text, re.M))}
            for module, text in self.texts.items()
        }

    @cached_property
    def imports(self) -> dict[Module, list[tuple[Module, str]]]:
        """For each module, its imports: the path of an item in the crate, and the item's local name."""
        found: dict[Module, list[tuple[Module, str]]] = {}
        for module, text in self.texts.items():
            each = [leaf for tree in re.findall(USE, text, re.M) for leaf in leaves(tree)]
            found[module] = [(path, name) for leaf, name in each if (path := self.path(module, leaf)) is not None]
        return found

    def path(self, module: Module, written: list[str]) -> Module | None:
        """Returns the path from the crate's root, or `None` if the path belongs to another crate."""
        if written[:1] == ["crate"]:
            return tuple(written[1:])
        base = module
        while written[:1] in (["self"], ["super"]):
            base = base[:-1] if written[0] == "super" else base
            written = written[1:]
            if written[:1] not in (["self"], ["super"]):
                return (*base, *written)
        return (*module, *written) if (*module, *written[:1]) in self.files else None

    def home(self, path: Module, depth: int = 0) -> Module | None:
        """Returns the module that defines the last item of a path. Returns `None` if the item is unknown or is a
        module."""
        module = next(path[:length] for length in range(len(path), -1, -1) if path[:length] in self.files)
        rest = path[len(module) :]
        if not rest or depth > 8:
            return None
        if rest[0] in self.items[module]:
            return module
        for brought, name in self.imports[module]:
            if (name == rest[0] or name == "*") and (
                found := self.home((*brought[:-1], *rest) if name == "*" else (*brought, *rest[1:]), depth + 1)
            ):
                return found
        return None

    def used(self, module: Module) -> Iterator[Module]:
        body = re.sub(USE, "", self.texts[module], flags=re.M)
        words = set(re.findall(r"\w+", body))
        for path, name in self.imports[module]:
            if name == "*":
                yield from ((*path[:-1], word) for word in words)
            elif name in words:
                yield path
                yield from ((*path, item) for item in re.findall(rf"\b{name}::(\w+)", body))
        for written in re.findall(r"(?<![\w:])(\w+(?:::\w+)+)", body):
            if (path := self.path(module, written.split("::"))) is not None:
                yield path

    @cached_property
    def arrows(self) -> dict[Module, set[Module]]:
        """For each module, the modules of the crate that it depends on."""
        return {
            module: {home for path in self.used(module) if (home := self.home(path)) is not None and home != module}
            for module in self.files
        }

    def circles(self) -> list[list[str]]:
        """Returns the dependency cycles. Each is a group of files that depend on each other."""
        return [sorted(self.files[module] for module in circle) for circle in cycles(self.arrows)]

    def folders(self) -> dict[str, set[str]]:
        """Returns, for each folder and each file in the crate's folder, the others that it depends on."""
        found: dict[str, set[str]] = {module[0]: set() for module in self.files if module}
        for module, others in self.arrows.items():
            if module:
                found[module[0]] |= {other[0] for other in others if other} - {module[0]}
        return found


def cycles(arrows: dict[Any, set[Any]]) -> list[set[Any]]:
    """Returns the groups of nodes that can reach each other."""
    reach = {node: reachable(arrows, node) for node in arrows}
    left, found = set(arrows), []
    while left:
        node = min(left)
        circle = {node} | {other for other in reach[node] if node in reach[other]}
        left -= circle
        if len(circle) > 1:
            found.append(circle)
    return found


def reachable(arrows: dict[Any, set[Any]], start: Any) -> set[Any]:
    found, ahead = set(), [start]
    while ahead:
        new = arrows[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def code(text: str) -> str:
    """Returns the Rust source without comments, strings and test code."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', re.sub(r"//[^\n]*", "", text))
    text = re.sub(r"^#\[cfg\(test\)\]\s*[^;{]*(?:\{.*?^\}|;)", "", text, flags=re.M | re.S)
    return re.sub(r"^\s+#\[cfg\(test\)\]\s*[^;{]*\{.*?^    \}", "", text, flags=re.M | re.S)


def leaves(tree: str) -> Iterator[tuple[list[str], str]]:
    """Yields the paths of a `use` declaration with their local names."""
    tree = tree.strip()
    head, brace, inside = tree.partition("{")
    if brace:
        before = [name.strip() for name in head.split("::") if name.strip()]
        for part in re.split(r",(?![^{]*\})", inside.rpartition("}")[0]):
            for path, name in leaves(part) if part.strip() else ():
                yield [*before, *path], before[-1] if path == ["self"] else name
    else:
        path, _, name = tree.partition(" as ")
        names = [each.strip() for each in path.split("::")]
        yield (names if names[-1] != "self" or len(names) == 1 else names[:-1]), name.strip() or names[-1]
