"""The page of plots, from the results that are kept."""

import re
from pathlib import Path

import pytest

import plots
from measuring import read_results


def test_the_page_shows_every_result_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(plots, "PICTURES", tmp_path / "images" / "benchmarks")
    plots.main()
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[.*\]\((.*)\)", text)
    assert len(shown) == sum(bool(read_results(plot.results)) for plot in plots.PLOTS) > 0
    for picture in shown:
        assert "<svg" in (tmp_path / picture).read_text(encoding="utf-8")
    assert "commit" in text
