"""The borders of the house: who may import whom, how long a file may be, and that each says what it is for."""

import ast
import statistics
from pathlib import Path

import pytest

import iifl

ROOT = Path(iifl.__file__).parent
FILES = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in ROOT.rglob("*.py")}

PARTS = ("tasks", "policies", "allocation", "supervisors")
SHARED = {"checks", "records", "encoders", "energy", "memory", "registry"}
JOINERS = {"loop", "assembly", "run", "cli", "experiments", "benchmarks"}
PROTOCOLS = {"tasks.fleet", "policies.base", "supervisors.base"}
"""What a part is to the others; whoever is outside the four parts may name it."""
ALLOWED = {
    **dict.fromkeys(PARTS, SHARED),
    "energy": {"records"},
    "report": {"registry"},
    "records": set(),
    "registry": set(),
    "checks": set(),
    "encoders": {"checks", "records"},
    "augmentation": {"checks", "records"},
    "memory": {"augmentation", "records"},
    "metrics": {"records"},
}
EXCEPTIONS = {
    "tasks": {"experts.cards"},  # how well the shipped expert does, which is the bar of success
    "supervisors": {"experts.expert"},  # the trained people
}


def imports_in(source: str) -> set[str]:
    """The modules of iifl that a source names, less the leading "iifl."; imports inside functions count."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import, which this reader does not resolve"
            found |= {node.module or ""} | {f"{node.module}.{name.name}" for name in node.names}
    modules = set(FILES) | {name.removesuffix(".__init__") for name in FILES}
    return {
        name[5:] for name in found if name.startswith("iifl.")
    } & modules  # the others are of libraries, or attributes


IMPORTS = {module: imports_in(path.read_text()) for module, path in FILES.items()}


def part_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def reachable(module: str) -> set[str]:
    """All that is imported when this module is."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        new = {name for name in IMPORTS.get(waiting.pop(), set()) if name not in seen}
        seen |= new
        waiting += new
    return seen


def test_the_reader_of_imports_sees_every_form():
    source = (
        "import iifl.memory\nfrom iifl.records import Decision\nfrom iifl import metrics\nimport numpy\n"
        "def late():\n    from iifl.tasks import fleet\n"
    )
    assert imports_in(source) == {"memory", "records", "metrics", "tasks", "tasks.fleet"}
    assert {"policies.learner", "policies.base", "memory"} <= reachable("policies.explicit")


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_only_itself_and_what_is_shared(part):
    members = [module for module in FILES if part_of(module) == part]
    assert members
    for module in members:
        strangers = {name for name in IMPORTS[module] if part_of(name) not in {part, *ALLOWED[part]}}
        strangers -= EXCEPTIONS.get(part, set())
        assert not strangers, f"{module} imports {sorted(strangers)}"


@pytest.mark.parametrize("part", PARTS)
def test_no_part_reaches_another_by_a_detour(part):
    others = set(PARTS) - {part}
    for module in FILES:
        if part_of(module) == part:
            reached = {name for name in reachable(module) if part_of(name) in others}
            assert not reached, f"{module} reaches {sorted(reached)}"


def test_only_the_loop_and_those_who_build_a_run_join_the_parts():
    for module, names in IMPORTS.items():
        if part_of(module) not in JOINERS:
            joined = {part_of(name) for name in names - PROTOCOLS} & set(PARTS)
            assert len(joined) < 2, f"{module} joins {sorted(joined)}"


def test_files_are_short():
    lengths = {module: len(path.read_text().splitlines()) for module, path in FILES.items()}
    too_long = {module: length for module, length in lengths.items() if length >= 500}
    assert not too_long
    assert statistics.median(lengths.values()) < 150


@pytest.mark.parametrize("module", sorted(FILES))
def test_a_module_says_what_it_is_for(module):
    docstring = ast.get_docstring(ast.parse(FILES[module].read_text()))
    assert docstring, f"{module} has no docstring"
    assert docstring.endswith((".", ":")) or "\n" in docstring, f"{module}: {docstring!r} is no sentence"
