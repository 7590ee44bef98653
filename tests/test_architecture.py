"""The rooms of the package: imports go downward only, and the lower rooms do without torch."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "hiergcn"
ROOMS = (
    *("version", "errors", "plugins", "files", "fragments", "settings", "compiled", "graph", "datasets", "coarsening"),
    *("model", "evaluate", "explanation", "advise", "workers", "train", "choose", "reports", "run", "comparison"),
    *("estimator", "api", "extend", "research", "cli", "__main__"),
)
WITHOUT_TORCH = ROOMS[: ROOMS.index("model")]
CONVERTERS = PACKAGE / "graph" / "formats"  # may import the library they convert to, when a conversion is asked for
PACKAGE_FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def imported_modules(path: Path, at_top: bool = False) -> list[str]:
    """Every module that the file imports, at its top or, unless that is asked for alone, inside a function.

    Imports for types alone do not run, so they may point upward.
    """
    modules: list[str] = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    ]
    for node in tree.body if at_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            modules += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            modules += [str(word.value) for word in node.args[:1] if isinstance(word, ast.Constant)]
    return modules


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "hiergcn" and len(parts) > 1 else None


def own_room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", PACKAGE_FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downward_lower_rooms_do_without_torch_and_nobody_writes_pickles(path: Path) -> None:
    rank, modules = ROOMS.index(own_room(path)), imported_modules(path)
    above = [room for module in modules if (room := room_of(module)) and ROOMS.index(room) > rank]
    assert not above, f"{path.name} in {ROOMS[rank]} imports from above: {above}"
    if own_room(path) in WITHOUT_TORCH:
        imported = imported_modules(path, at_top=path.parent == CONVERTERS)
        assert not [module for module in imported if module.split(".")[0] == "torch"]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not {"pickle.dump", "pickle.dumps", "torch.save", "joblib.dump"} & calls
    assert "allow_pickle=True" not in ast.unparse(tree)


def test_file_names_are_unique() -> None:
    """A tab in an editor says which file it is; a command in `cli` may share the name of what it runs."""
    names = [path.name for path in PACKAGE_FILES if path.name != "__init__.py" and own_room(path) != "cli"]
    assert not {name for name in names if names.count(name) > 1}
