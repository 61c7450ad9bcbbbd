"""The layers of the package: a module imports its own layer or those below, at its head, in functions, or for types."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import lopsided

PACKAGE = Path(lopsided.__file__).parent
LAYERS = (
    {"_native", "errors", "accessors", "interrupts", "own_code", "run_options", "settings"},
    {"data", "metrics"},
    {"controllers", "queues", "scenario"},
    {"worlds", "fetching"},
    {"studies"},
    {"views"},
    {"papers"},
    {"cli"},
    {"__init__", "__main__"},
)
"""From the lowest; `__init__` names what people import and fills in the accessors."""


def test_every_arrow_points_down():
    up = [
        f"{source} imports {target} (line {line})" for source, target, line in arrows() if rank(target) > rank(source)
    ]
    assert not up, "\n".join(up)


def test_no_ring_of_modules():
    graph: dict[str, set[str]] = {}
    for source, target, _ in arrows():
        if source != target:
            graph.setdefault(source, set()).add(target)
    assert not (ring := a_ring(graph)), " -> ".join(ring)


def test_every_folder_has_its_layer():
    assert {name(path).partition(".")[0] for path in modules()} <= set().union(*LAYERS)


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "guest" not in path.parts)


def name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def rank(module: str) -> int:
    top = module.partition(".")[0]
    return next(number for number, layer in enumerate(LAYERS) if top in layer)


@cache
def arrows() -> list[tuple[str, str, int]]:
    """Source, target and line of each import of the package's own modules."""
    known = {name(path) for path in modules()} | {"_native"}
    return [
        (name(path), target, node.lineno)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        for target in targets(node, path, known)
    ]


def targets(node: ast.AST, path: Path, known: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        found = [alias.name.removeprefix("lopsided.") for alias in node.names if alias.name.startswith("lopsided.")]
    elif isinstance(node, ast.ImportFrom):
        home = (node.module or "").split(".")
        if node.level:
            home = ["lopsided", *path.relative_to(PACKAGE).parent.parts[: None if node.level == 1 else 1 - node.level]]
            home += node.module.split(".") if node.module else []
        if home[0] != "lopsided":
            return
        base = ".".join(home[1:])
        inner = [f"{base}.{alias.name}" if base else alias.name for alias in node.names]
        found = [each if each in known else base or "__init__" for each in inner]
    else:
        return
    yield from dict.fromkeys(each for each in found if each in known)


def a_ring(graph: dict[str, set[str]]) -> list[str]:
    """One ring of the graph, or nothing."""
    done: set[str] = set()

    def walk(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            if found := walk(target, [*trail, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node, []))), [])
