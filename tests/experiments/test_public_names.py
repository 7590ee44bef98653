"""Experiments use the package as any other package would: by the public names of `hiergcn` and one level below it."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments" / "hiergcn_experiments"
FILES = sorted(EXPERIMENTS.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_only_public_names_are_imported(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not [name.name for name in node.names if name.name.split(".")[0] == "hiergcn"]
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "hiergcn":
            module = import_module(str(node.module))
            names = {name.name for name in node.names}
            assert str(node.module).count(".") <= 1, f"{node.module} is not public"
            assert names <= set(getattr(module, "__all__", dir(module))), f"{module.__name__}: {sorted(names)}"
            assert not [name for name in names if name.startswith("_")]
