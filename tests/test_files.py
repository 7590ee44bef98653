"""Files appear whole or not at all."""

from pathlib import Path

import pytest

from hiergcn.errors import InputError
from hiergcn.files import written_whole


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with written_whole(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def write_half(target: Path) -> None:
    with written_whole(target) as part:
        part.write_text("ne")
        raise RuntimeError("half way")


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half way"):
        write_half(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_others_may_read_it(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    with written_whole(tmp_path / "whole") as part:
        part.touch()
    assert (tmp_path / "whole").stat().st_mode == ordinary.stat().st_mode


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder .*absent"), written_whole(tmp_path / "absent" / "a.txt"):
        pass
