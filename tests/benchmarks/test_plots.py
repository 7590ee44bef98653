"""The page of plots and the tables, from the stored results."""

import re
from pathlib import Path

import pytest

import plots
from harness import HERE, read_results


def test_the_page_shows_every_stored_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(plots, "PICTURES", tmp_path / "images" / "benchmarks")
    plots.main()
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[.*\]\((.*)\)", text)
    assert len(shown) == sum(bool(read_results(plot.results)) for plot in plots.PLOTS) > 0
    for picture in shown:
        assert "<svg" in (tmp_path / picture).read_text(encoding="utf-8")
    assert "commit" in text


def test_the_tables_of_the_readme_are_those_of_the_stored_results() -> None:
    pytest.importorskip("torch_geometric")
    from tables import ONE_RESULT

    readme = (HERE / "README.md").read_text(encoding="utf-8")
    for name, table in ONE_RESULT.items():
        for result in read_results(f"{name}.json"):
            lines = "\n".join(table(result))
            assert f"<!-- {name} -->\n{lines}\n<!-- end of {name} -->" in readme, name
