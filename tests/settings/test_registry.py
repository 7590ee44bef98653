"""The table of methods."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import hiergcn
from hiergcn.choose.adapt import GraphFacts
from hiergcn.choose.portfolio import checked_method
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.model.baselines.mlp import MLPMethod
from hiergcn.model.method import Method
from hiergcn.reports.palette import method_colour
from hiergcn.settings import registry
from hiergcn.settings.fields import Count, setting
from hiergcn.settings.methods import MLPConfig
from hiergcn.settings.registry import config_class, imported, method_info, method_names, method_title
from hiergcn.settings.settings import Choice, method_settings


@pytest.mark.parametrize("name", method_names())
def test_every_entry_has_a_title_and_its_classes(name: str) -> None:
    assert method_title(name)
    method = imported(method_info(name).method)
    assert issubclass(method, Method)
    assert method(config_class(name)()).config == config_class(name)()


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean hgcn"):
        method_title("hgnc")
    with pytest.raises(InputError, match=r"choose one of hgcn, .*grand"):
        method_title("zzz")


@dataclass(frozen=True)
class OwnConfig(MLPConfig):
    """Settings of a method that this test registers."""

    hidden: Count = setting(8, "Width of the only layer.")


class OwnMethod(MLPMethod):
    pass


def keep_defaults(facts: GraphFacts) -> list[Choice]:
    return []


def test_a_method_from_outside_is_like_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    hiergcn.register_method(
        "own", OwnConfig, OwnMethod, title="Own method", about="A perceptron.", colour="#123456", adapt=keep_defaults
    )
    with pytest.raises(InputError, match="exists already"):
        hiergcn.register_method("own", MLPConfig, OwnMethod, title="Other", about="Another one.")
    assert checked_method("own", None, None, {"hidden": "4"}) == "own"
    with pytest.raises(InputError, match=r"hidden is 0; give a whole number of at least 1\."):
        checked_method("own", None, None, {"hidden": "0"})
    assert method_settings("own")["hidden"].about == "Width of the only layer."
    assert method_colour("own+harmonic") == "#123456"

    graph = planted_graph(60, classes=2, seed=0)
    run = hiergcn.fit(graph, "own", device="cpu", epochs=3, harmonic=True)
    assert run.settings.model.hidden == 8
    run.write(tmp_path / "run")
    assert hiergcn.load(tmp_path / "run").settings.model == run.settings.model
    page = tmp_path / "report.html"
    hiergcn.report(run, page)
    assert "Own method" in page.read_text(encoding="utf-8")
    compared = hiergcn.compare(graph, ["own", "mlp"], seeds=1, device="cpu", epochs=3)
    assert [one.model for one in compared.runs] == ["own", "mlp"]
    assert all(one.failure is None for one in compared.runs)
