"""Help, completion, lists of methods and settings, and sentences about commands typed wrongly."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Command

from hiergcn.cli import _COMMANDS
from hiergcn.settings.registry import method_names

COMMANDS = [name for names in _COMMANDS.values() for name in names]
WRONG = {
    "fit cora --model gnc": "There is no model named 'gnc'; did you mean gcn?",
    "fit cora --model gcn --set hiden=3": "gcn has no setting named 'hiden'; did you mean hidden?",
    "fit cora --model gcn --set dropout=2": "dropout is 2.0; give a rate from 0 up to, but not including, 1.",
    "fit nodes.csv --set hiden=3": "No candidate has a setting 'hiden'; did you mean hidden?",
    "fit cora --preset papr": "hgcn has no preset named 'papr'",
    "fit corra": "There is no dataset and no file named 'corra'; did you mean cora?",
    "fit nodes.csv other.csv": "There is no file named 'other.csv'",
    "fit cora --device gpu": "There is no device named 'gpu' here; give auto, cpu or cuda.",
    "fit cora --out .": "already holds files",
    "compare cora --models gcn,foo": "There is no model named 'foo'",
    "tune cora --set hiden=3": "hgcn has no setting named 'hiden'",
    "predict nowhere": "There is no folder nowhere; name one that `hiergcn fit` wrote.",
    "settings foo": "There is no model named 'foo'",
    "fit": "hiergcn fit needs DATA; see hiergcn fit --help.",
    "explain run": "hiergcn explain needs --node; see hiergcn explain --help.",
    "fit cora --modle gcn": "hiergcn fit has no option --modle; did you mean --model?",
    "fti cora": "There is no command 'fti'; did you mean 'fit'?",
    "fit cora --seeds 0": "--seeds must be a whole number of at least 1; see hiergcn fit --help.",
    "fit cora --coverage x": "--coverage must be a number; see hiergcn fit --help.",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_no_types_and_fills_the_width(command: Command, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for width in (70, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        out = command(name, "-h").out
        assert out == command(name, "--help").out
        lines = out.splitlines()
        assert max(map(len, lines)) <= width
        assert not [line for line in lines if any(word in line for word in ("<", "int range", "list[", "{", " VALUE"))]
    if name in ("fit", "compare", "tune", "check"):
        assert max(map(len, lines)) > 100
        assert all(f" {option} " in out for option in ("--label", "--id", "--weight", "--split-column", "--drop"))
    listed = command("--help").out
    assert f"\n  {name} " in listed
    assert "--install-completion" in listed


def test_options_of_fit_stand_in_groups(command: Command) -> None:
    out = command("fit", "--help").out
    places = [out.index(f"\n{title}:\n") for title in ("Arguments", "Your files", "Method and settings", "Running")]
    assert places == sorted(places)
    assert out.index("--label COLUMN") < out.index("\nMethod and settings:") < out.index("--set KEY=VALUE")


@pytest.mark.parametrize(("words", "sentence"), WRONG.items(), ids=list(WRONG))
def test_wrong_words_are_answered_in_one_sentence(command: Command, folder: Path, words: str, sentence: str) -> None:
    (folder / "nodes.csv").touch()
    outcome = command(*words.split())
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1
    assert sentence in outcome.err
    assert outcome.err.rstrip()[-1] in ".?"
    assert outcome.out == ""  # nothing was begun


def test_wrong_words_are_answered_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").touch()
    code = (
        "import sys\nfrom hiergcn.cli import main\n"
        f"for words in {list(WRONG)}:\n"
        "    sys.argv = ['hiergcn', *words.split()]\n"
        "    try:\n        main()\n    except SystemExit:\n        pass\n"
        "print([name for name in ('torch', 'numpy', 'pandas', 'scipy', 'rich') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"


def test_models_and_settings_are_explained(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = command("models").out
    for name in method_names():
        assert f"\n{name} " in listed
    assert "Classes only." in listed
    monkeypatch.setenv("COLUMNS", "160")
    out = command("settings", "gcn").out
    words = out.split()
    assert words[words.index("hidden") : words.index("hidden") + 2] == ["hidden", "16"]
    assert "a whole number of at least 1" in out
    assert "Width of the hidden layers." in out
    assert "equivalence_limit" not in out  # gcn does not coarsen
    assert "Learning rate" not in command("settings", "label-propagation").out
    assert "H-GCN+" in command("settings", "hgcn", "--preset", "plus").out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fit cora --model gcn", {"gcn", "gcnii"}),
        ("fit cora --preset pl", {"plus", "plus-few"}),
        ("fit cora --preset lo", {"long-range"}),
        ("fit cora --model gat --set head", {"heads="}),
        ("fit cite", {"citeseer"}),
        ("fit edg", {"edges.csv"}),
        ("compare cora --models gcn,gr", {"gcn,graph-unet", "gcn,graphsage", "gcn,grand"}),
        ("sett", {"settings"}),
    ],
)
def test_completion(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, words: str, expected: set[str]
) -> None:
    (folder / "edges.csv").touch()
    monkeypatch.setenv("_HIERGCN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"hiergcn {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    assert set(command().out.split()) == expected
