"""Checks that a module imports only from its own layer and from lower layers.

Slow libraries are imported inside functions, so that commands that do not need these libraries start quickly.
"""

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
"""The layers, from lowest to highest. `__init__` re-exports the public names."""

SLOW = {
    "anywidget",
    "asyncio",
    "cyclopts",
    "distributed",
    "h11",
    "jinja2",
    "markupsafe",
    "matplotlib",
    "numpy",
    "optuna",
    "pandas",
    "polars",
    "traitlets",
}
SLOW |= {"pyroute2", "rich"}
"""Libraries whose import takes 10 ms or more."""
EVERY_START = {"__init__", "__main__", "interrupts", "cli", "cli.completion", "cli.options"}
"""Modules that are loaded for every help page and every press of TAB. They must import other modules inside
functions."""


def test_every_import_is_from_its_own_or_a_lower_layer():
    up = [
        f"{source} imports {target} (line {line})" for source, target, line in arrows() if rank(target) > rank(source)
    ]
    assert not up, "\n".join(up)


def test_modules_have_no_import_cycles():
    graph: dict[str, set[str]] = {}
    for source, target, _ in arrows():
        if source != target:
            graph.setdefault(source, set()).add(target)
    assert not (ring := a_ring(graph)), " -> ".join(ring)


def test_every_folder_belongs_to_a_layer():
    assert {name(path).partition(".")[0] for path in modules()} <= set().union(*LAYERS)


def test_an_import_in_a_function_avoids_loading_a_slow_library():
    early = [
        f"{source} imports {brought} in a function (line {line}), though that loads nothing slow: at its head"
        for source, brought, line, slow in late_imports()
        if source not in EVERY_START and not slow - loads(source)
    ]
    assert not early, "\n".join(early)


@cache
def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "guest" not in path.parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def known() -> set[str]:
    return {name(path) for path in modules()} | {"_native"}


@cache
def name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def rank(module: str) -> int:
    top = module.partition(".")[0]
    return next(number for number, layer in enumerate(LAYERS) if top in layer)


@cache
def arrows() -> list[tuple[str, str, int]]:
    """Returns the imports between modules of the package, as tuples of importing module, imported module and line
    number."""
    return [
        (name(path), target, node.lineno)
        for path in modules()
        for node in ast.walk(tree(path))
        for target in targets(node, path)
    ]


def late_imports() -> Iterator[tuple[str, str, int, set[str]]]:
    """Yields the imports inside functions: the importing module, the imported module, the line, and the slow libraries
    that are loaded."""
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for each in imports_of(node):
                    for one, own in single(each, path):
                        slow = set().union(*map(loads, own)) | (libraries(one) & SLOW)
                        guest = isinstance(one, ast.ImportFrom) and "guest" in f"{one.module}"
                        yield name(path), ast.unparse(one), each.lineno, slow | ({"pyroute2"} if guest else set())


def imports_of(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yields the imports that are executed when the code is loaded. Skips imports for type checkers and imports inside
    functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not for_types(child):
            yield from imports_of(child)


def for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def single(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[tuple[ast.Import | ast.ImportFrom, list[str]]]:
    """Yields an import statement for each imported name, with the modules of the package that the name refers to."""
    for alias in node.names:
        one = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level)
        yield one, list(targets(one, path))


def libraries(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return set() if node.level else {(node.module or "").partition(".")[0]}


@cache
def at_head() -> dict[str, tuple[set[str], set[str]]]:
    """Returns, for each module, the modules and the slow libraries that Python loads when the module is imported."""
    found = {}
    for path in modules():
        each = list(imports_of(tree(path)))
        own = {target for node in each for target in targets(node, path)}
        found[name(path)] = own | packages(name(path)), set().union(*map(libraries, each)) & SLOW
    return found


def packages(module: str) -> set[str]:
    """Returns the packages that contain a module. Python loads these packages before the module."""
    parts = module.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


@cache
def loads(module: str) -> set[str]:
    """Returns the slow libraries that Python loads when it imports a module."""
    done: set[str] = set()
    ahead = {module}
    while ahead:
        done |= ahead
        ahead = set().union(*(at_head()[each][0] for each in ahead if each in at_head())) - done
    return set().union(*(at_head()[each][1] for each in done if each in at_head()))


def targets(node: ast.AST, path: Path) -> Iterator[str]:
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
        found = [each if each in known() else base or "__init__" for each in inner]
    else:
        return
    yield from dict.fromkeys(each for each in found if each in known())


def a_ring(graph: dict[str, set[str]]) -> list[str]:
    """Returns the modules of one cycle in the graph, or an empty list if there is no cycle."""
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
