"""`hiergcn --help` is instant because it imports little."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Command

from hiergcn.version import __version__

HEAVY = ("torch", "numpy", "pandas", "scipy", "numba", "sklearn", "rich", "jinja2")


def imported_by(words: list[str], folder: Path) -> list[str]:
    """Return which heavy packages a command imports, in a process of its own."""
    code = (
        "import sys\n"
        f"sys.argv = ['hiergcn', *{words}]\n"
        "from hiergcn.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('\\n', *[name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["fit", "--help"], ["datasets", "--help"]])
def test_help_imports_nothing_heavy(tmp_path: Path, words: list[str]) -> None:
    assert not imported_by(words, tmp_path)


@pytest.mark.parametrize("words", [["fit"], ["fit", "--model", "gcn"], ["compare"], ["tune"], ["suggest"], ["check"]])
def test_a_wrong_column_is_named_before_torch_is_imported(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,topic\na,x\nb,y\n")
    found = imported_by([*words, "edges.csv", "nodes.csv", "--label", "topik"], tmp_path)
    assert "pandas" in found
    assert "torch" not in found


def test_version(command: Command) -> None:
    assert command("--version").out == f"hiergcn {__version__}\n"


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["fit", "nowhere.csv"], 2)])
def test_the_process_ends_with_the_code_of_the_command_and_calls_what_is_registered(
    words: list[str], code: int, tmp_path: Path
) -> None:
    program = (
        "import atexit, sys\nfrom hiergcn.cli import shell\n"
        f"sys.argv = ['hiergcn', *{words}]\natexit.register(print, 'last words')\nshell()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout.endswith("last words\n")
