"""Settings of the experiments' methods."""

import pytest

from hiergcn import InputError
from hiergcn.research import settings_for


@pytest.mark.parametrize(
    ("method", "changes", "sentence"),
    [
        ("planetoid-t", {"negatives": -1}, "negatives is -1"),
        ("planetoid-i", {"graph_share": 1.5}, "graph_share is 1.5"),
        ("dgcn", {"supervised": "hinge"}, "squared or cross_entropy"),
        ("dgcn", {"walk_length": 1}, "walk_length is 1"),
        ("deepwalk", {"window": 0}, "window is 0"),
        ("graph-unet", {"pool_ratio": 1.0}, "pool_ratio is 1.0"),
        ("hgcn-exchange", {"exchange": 0}, "exchange is 0"),
    ],
)
def test_wrong_settings_are_refused(method: str, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        settings_for(method).override(changes)
