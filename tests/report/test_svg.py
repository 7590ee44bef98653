"""Colours of classes, and figures as files."""

from pathlib import Path

import numpy as np

from hiergcn.report.figures import levels_figure
from hiergcn.report.svg import CLASS_COLOURS, OTHER, class_colours, save_figure


def test_a_figure_is_saved_as_svg_and_png_with_the_same_bytes_every_time(tmp_path: Path) -> None:
    first, again = ([path.read_bytes() for path in saved(tmp_path / name)] for name in ("first", "again"))
    assert first == again
    svg, png = first
    assert b"<text" in svg  # text is not converted to outlines
    assert b"level 1" in svg
    assert png.startswith(b"\x89PNG")


def saved(folder: Path) -> tuple[Path, ...]:
    folder.mkdir()
    paths = save_figure(levels_figure([5, 3], [4, 2]), folder, "levels")
    assert paths == (folder / "levels.svg", folder / "levels.png")
    return paths


def test_the_most_frequent_classes_have_colours_of_their_own() -> None:
    counts = np.arange(1, 15)
    colours = class_colours(counts.tolist())
    assert colours[:4] == [OTHER] * 4
    assert set(colours[4:]) == set(CLASS_COLOURS)
    assert class_colours([1, 2]) == list(CLASS_COLOURS[:2])
