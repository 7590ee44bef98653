"""H-GCN+ through the classifier: `preset="plus"`, saved and loaded."""

from pathlib import Path

import numpy as np

from hiergcn import HGCNClassifier
from hiergcn.datasets import planted_graph
from hiergcn.graph import Split


def test_plus_fits_saves_and_loads(tmp_path: Path) -> None:
    graph = planted_graph(200, classes=3, depth=1, degree=8, homophily=0.9, features=12, noise=0.7, seed=1)
    assert graph.labels is not None
    split = Split.random(graph.labels, per_class=10, validation=50, seed=2)
    classifier = HGCNClassifier(preset="plus", epochs=30, levels=2, device="cpu").fit(graph, split)
    assert classifier.settings_.method == "hgcn-plus"
    assert classifier.embedding_ is not None
    assert classifier.embedding_.shape == (200, 32)
    classifier.save(tmp_path / "run")
    again = HGCNClassifier.load(tmp_path / "run", device="cpu")
    assert again.get_params() == classifier.get_params()
    np.testing.assert_allclose(again.predict_proba(graph), classifier.predict_proba(graph), rtol=0, atol=1e-6)
