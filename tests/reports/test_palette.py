"""Colours: one for each class and method, in light and dark."""

import numpy as np
import pytest

from hiergcn.reports.palette import CLASS_COLOURS, COLOURS, OTHER, class_colours, light, method_colour
from hiergcn.settings.registry import method_names


def test_the_most_frequent_classes_have_colours_of_their_own() -> None:
    colours = class_colours(np.arange(1, 15).tolist())
    assert colours[:4] == [OTHER] * 4
    assert colours[4:] == CLASS_COLOURS
    assert class_colours([1, 2]) == CLASS_COLOURS[:2]


@pytest.mark.parametrize(
    ("name", "method"),
    [("hgcn", "hgcn"), ("hgcn:paper", "hgcn"), ("hgcn-plus-strong+harmonic", "hgcn-plus"), ("gcn+harmonic", "gcn")],
)
def test_a_variant_has_the_colour_of_its_method(name: str, method: str) -> None:
    assert method_colour(name) == method_colour(method) != OTHER


def test_colours_are_of_methods_that_exist() -> None:
    assert {method_colour(name) for name in method_names()} <= {*CLASS_COLOURS, OTHER}
    assert method_colour("constant") == OTHER
    assert method_colour("gcnx") == OTHER


def test_every_variable_has_a_value_in_both_themes() -> None:
    names = [colour[4:-1] for colour in (*CLASS_COLOURS, OTHER)]
    assert all(COLOURS.count(f"{name}: #") == 2 for name in names)
    assert light(f"a {CLASS_COLOURS[0]} b") == "a #0072b2 b"
