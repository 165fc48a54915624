"""Nothing of the project is kept by pickle, which runs whatever code a file holds and breaks with the next version."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
CALLS = {"torch.load", "torch.save", "np.save", "np.savez", "np.savez_compressed"}


def pickling(source: str) -> list[str]:
    """What in this source pickles, with its line."""
    found = []
    nodes = list(ast.walk(ast.parse(source)))
    imported = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    short = {"numpy": "np"}
    called = {alias.asname or alias.name: short.get(alias.name, alias.name) for alias in imported}
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if MODULES & set(alias.name.split("."))]
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = short.get(node.module, node.module)
            full = [f"{module}.{alias.name}" for alias in node.names]
            names = [name for name in full if MODULES & set(name.split(".")) or name in CALLS]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{called.get(node.value.id, node.value.id)}.{node.attr}"
            names = [name] if name in CALLS or node.attr in {"to_pickle", "read_pickle", *MODULES} else []
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            names = [] if ast.unparse(node.value) == "False" else ["allow_pickle"]
        found += [f"line {node.lineno}: {name}" for name in names]
    return found


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_nothing_pickles(folder):
    found = {path: pickling(path.read_text()) for path in (ROOT / folder).rglob("*.py")}
    assert {str(path): what for path, what in found.items() if what} == {}
    assert found or folder != "src"


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import dumps as d",
        "import os, cloudpickle",
        "from joblib import dump",
        "import dill",
        "from ray import cloudpickle",
        "import ray\nray.cloudpickle.dumps(x)",
        "from torch import load",
        "import torch as t\nt.load(f)",
        "from numpy import savez",
        "import torch\nx = torch.load(f, weights_only=True)",
        "import numpy\nnumpy.savez('x')",
        "np.load(f, allow_pickle=True)",
        "np.load(f, allow_pickle=trusted)",
        "frame.to_pickle('x')",
    ],
)
def test_the_search_finds_what_it_is_for(source):
    assert len(pickling(source)) == 1


def test_the_search_lets_other_things_be():
    assert pickling("import json\nnp.load(f, allow_pickle=False)\npolicy.load(x)\nsafetensors.torch.load(x)") == []
