"""The settings as the source says them are those of the classes."""

from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from hiergcn.coarsen import CoarsenConfig
from hiergcn.errors import InputError
from hiergcn.model.registry import config_class, method_class, method_names
from hiergcn.settings.setting_table import GROUPS, Setting, method_facts, method_settings
from hiergcn.settings.settings import default_settings, settings_for
from hiergcn.settings.train_config import TrainConfig


@pytest.mark.parametrize("method", method_names())
def test_fields_types_and_defaults(method: str) -> None:
    classes: dict[str, Any] = {"model": config_class(method), "train": TrainConfig, "coarsen": CoarsenConfig}
    found = method_settings(method)
    for group in GROUPS:
        own = {field.name: field.default for field in fields(classes[group])}
        assert {name: one.default for name, one in found.items() if one.group == group} == own
        hints = get_type_hints(classes[group], include_extras=True)
        kinds = {name: one.kind for name, one in found.items() if one.group == group and name != "strategy"}
        assert {name: _comparable(kind) for name, kind in kinds.items()} == {
            name: _comparable(hints[name]) for name in kinds
        }
    assert all(one.about.endswith((".", ")")) and one.values for one in found.values())


def _comparable(kind: Any) -> str:
    """A type without the addresses of functions."""
    words = [limits.words for limits in getattr(kind, "__metadata__", ())]
    return f"{getattr(kind, '__origin__', kind) if words else (get_args(kind) or kind)} {words}"


@pytest.mark.parametrize("method", method_names())
def test_facts_and_defaults(method: str) -> None:
    facts = method_facts(method)
    assert facts == tuple(getattr(method_class(method), name) for name in facts._fields)
    assert default_settings(method) == settings_for(method).values()


def test_values_are_parsed_and_refused() -> None:
    settings = method_settings("hgcn")
    assert settings["patience"].parsed("none") is None
    assert settings["patience"].parsed("7") == 7
    assert settings["coarsening"].parsed("no") is False
    assert settings["dropout"].parsed(0.5) == 0.5
    for name, text in {"hidden": "0", "dropout": "1", "pooling": "most", "output_relu": "perhaps"}.items():
        with pytest.raises(InputError, match=f"^{name} is .*; give .*\\.$"):
            settings[name].parsed(text)
    assert Setting("x", "model", int, 0, "").values == "a whole number"
