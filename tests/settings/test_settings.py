"""Settings, presets and recipe files."""

from dataclasses import fields
from typing import Any

import pytest

from hiergcn.coarsening import CoarsenConfig
from hiergcn.errors import InputError
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.methods import HGCNConfig
from hiergcn.settings.registry import config_class, method_names
from hiergcn.settings.settings import GROUPS, Settings, method_settings, published, recipe_files, settings_for


def test_paper_preset_follows_the_text() -> None:
    paper = settings_for("hgcn", "paper", "cora")
    assert paper.model == HGCNConfig()
    assert paper.train == TrainConfig()
    assert paper.coarsen == CoarsenConfig()
    assert (paper.model.levels, paper.model.channels, paper.model.dropout) == (4, 4, 0.85)
    assert (paper.model.pooling, paper.model.output_relu, paper.model.channel_mix) == ("sum", True, "after_relu")
    assert settings_for("hgcn", "paper", "nell").model.levels == 5


def test_reference_preset_follows_the_authors_code() -> None:
    reference = settings_for("hgcn", "reference", "citeseer")
    assert (reference.model.pooling, reference.model.channel_mix) == ("l2", "before_relu")
    assert (reference.model.output_relu, reference.model.embed_input) == (False, False)
    assert (reference.model.hidden, reference.model.weight_embedding, reference.train.epochs) == (30, 15, 200)
    assert reference.coarsen == CoarsenConfig.reference()
    assert settings_for("hgcn", "reference", "cora").train.selection == "loss"


def test_without_a_preset_a_dataset_gets_its_recipe() -> None:
    assert settings_for("hgcn", dataset="cora").model == HGCNConfig()
    assert settings_for("hgcn", dataset="nell").model.dropout < 0.85
    assert (published("hgcn", "pubmed"), published("hgcn", "my-own-graph")) == (0.798, None)


@pytest.mark.parametrize("method", method_names())
def test_every_recipe_loads_and_names_its_source(method: str) -> None:
    assert recipe_files(method), "a method has at least one recipe"
    for name, recipe in recipe_files(method).items():
        preset, _, dataset = name.partition(".")
        assert recipe["about"], name
        assert set(recipe) <= {"about", "method", "source", "published", *GROUPS}, name
        settings_for(method, preset, dataset or None)  # every setting exists and has a value that is allowed
        for key, value in recipe.get("published", {}).items():
            assert key == "where" or 0.0 < value < 1.0, name
    assert any("source" in recipe for recipe in recipe_files(method).values())


@pytest.mark.parametrize(
    ("given", "group", "name", "value"),
    [
        ({"hidden": "64"}, "model", "hidden", 64),
        ({"dropout": "0.5"}, "model", "dropout", 0.5),
        ({"output_relu": "no"}, "model", "output_relu", False),
        ({"pooling": "mean"}, "model", "pooling", "mean"),
        ({"epochs": "7"}, "train", "epochs", 7),
        ({"l2": "1e-5"}, "train", "l2", 1e-5),
        ({"max_node_weight": "50"}, "coarsen", "max_node_weight", 50),
        ({"max_node_weight": "none"}, "coarsen", "max_node_weight", None),
        ({"patience": 5}, "train", "patience", 5),
        ({"strategy": "random"}, "coarsen", "strategy", "random"),
    ],
)
def test_overrides_are_parsed_by_type(given: dict[str, Any], group: str, name: str, value: Any) -> None:
    changed = getattr(getattr(settings_for("hgcn").override(given), group), name)
    assert changed == value
    assert type(changed) is type(value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"hiden": "3"}, "did you mean hidden"),
        ({"zzz": "3"}, "the settings are"),
        ({"hidden": "many"}, "give a whole number"),
        ({"hidden": "1.5"}, "give a whole number"),
        ({"dropout": "a lot"}, "give a number"),
        ({"output_relu": "maybe"}, "give true or false"),
        ({"pooling": "max"}, "give sum, mean or l2"),
        ({"hidden": "0"}, r"^hidden is 0; give a whole number of at least 1\.$"),
        ({"dropout": "1"}, "^dropout is 1.0; give a rate from 0"),
        ({"isolated": "far"}, "give alone or merge"),
    ],
)
def test_invalid_overrides(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        settings_for("hgcn").override(given)


@pytest.mark.parametrize("method", method_names())
def test_every_setting_says_what_it_takes_and_does(method: str) -> None:
    known = method_settings(method)
    assert len(known) == sum(len(fields(group)) for group in (config_class(method), TrainConfig, CoarsenConfig))
    assert all(one.about.endswith((".", ")")) and one.values for one in known.values())
    assert {name: one.default for name, one in known.items()} == Settings(
        method, "", config_class(method)(), TrainConfig(), CoarsenConfig()
    ).values()


def test_a_dataclass_refuses_wrong_values() -> None:
    with pytest.raises(InputError, match=r"^patience is 0; give a whole number of at least 1, or none\.$"):
        TrainConfig(patience=0)


def test_settings_of_earlier_versions_load_if_a_removed_one_had_its_default() -> None:
    settings = settings_for("hgcn-plus", "plus").override({"l2": 1e-3})
    saved = settings.to_dict()
    assert Settings.from_dict(saved) == settings
    saved["model"] |= {"drop_level": 0, "column_weight": "none"}
    assert Settings.from_dict(saved) == settings
    saved["model"]["column_weight"] = "idf"
    with pytest.raises(InputError, match=r"column_weight=idf, a setting that was removed; run the fit again\."):
        Settings.from_dict(saved)


@pytest.mark.parametrize("group", ["model", "train", "coarsen"])
def test_a_setting_of_a_later_version_is_named(group: str) -> None:
    saved = settings_for("hgcn").to_dict()
    saved[group] |= {"warmth": 3}
    with pytest.raises(InputError, match="setting 'warmth': a newer version of hiergcn wrote it; update hiergcn"):
        Settings.from_dict(saved)
