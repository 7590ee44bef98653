"""A short form of the fault campaign, `python scripts/faults.py`.

Signals and full disks are also in `cli/test_cli_interrupt.py` and `cli/test_cli_full_disk.py`.
"""

import sys
from pathlib import Path

import pytest

from faults import COMMANDS, Campaign, Ended, answer, lost, resumed, run_command
from mutated_files import Outcome, call, problem_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the campaign looks for processes in /proc")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("faults"), seed=1)


def test_damaged_files(campaign: Campaign) -> None:
    part = campaign.files(27)
    assert part.problems == []
    assert set(part.outcomes) == {"accepted", "refused in a sentence"}


def test_a_killed_fit_goes_on(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its predictions are those of a fit that nobody disturbed."""
    killed, whole = campaign.folder("fit"), campaign.folder("fit")
    ended = run_command("fit", killed, limit=300, kill_after="seed 0: validation")
    assert (ended.outcome, ended.problem() or lost("fit", killed, ended)) == ("killed", None)
    for folder in (killed, whole):
        monkeypatch.chdir(folder)
        assert call(*COMMANDS["fit"], *resumed(folder)).code == 0
    assert answer("fit", killed) == answer("fit", whole)
    Path("out.checkpoint").mkdir()
    assert call(*COMMANDS["fit"], "--resume").code == 0  # killed at the very end: it is complete
    assert not Path("out.checkpoint").exists()


@pytest.mark.parametrize(
    ("code", "err", "problem"),
    [
        (2, "a.csv is damaged; get it again.\n", None),
        (0, "Note: column 'city' became 3 columns\n", None),
        (1, "hiergcn failed with KeyError.\n", "a bug"),
        (2, "Traceback (most recent call last):\n  a.csv\n", "a bug"),
        (2, "RuntimeWarning: overflow\na.csv is damaged.\n", "not a sentence"),
        (2, "Something is damaged.\n", "no path"),
        (0, "RuntimeWarning: overflow\n", "an odd line"),
    ],
)
def test_problems_with_files_are_seen(code: int, err: str, problem: str | None) -> None:
    assert problem_of(Outcome(("check",), code, "", err), ["a.csv"]) == problem


def test_problems_with_processes_are_seen(tmp_path: Path) -> None:
    fine = Ended(2, "", "out cannot be written (No space left on device); make room.\n", 1.0, orphan=False)
    assert fine.problem("out") is None
    assert "no path" in str(fine.problem("elsewhere"))
    assert "outlived" in str(Ended(-9, "", "", 1.0, orphan=True).problem())
    assert "hung" in str(Ended(-9, "", "", 200.0, orphan=False, hung=True).problem())
    assert "exit code 1" in str(Ended(1, "", "hiergcn failed.\n", 1.0, orphan=False).problem())
    printed = Ended(2, "predictions, test   83.3\n", "", 1.0, orphan=False)
    assert "predictions are lost" in str(lost("fit", tmp_path, printed))
    assert "1 were said to be done, and 0 are kept" in str(
        lost("tune", tmp_path, Ended(-9, "trial 0: validation 90 %\n", "", 1.0, False))
    )
