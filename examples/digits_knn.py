"""A table and no graph: handwritten digits with ten labels per class, linked to their nearest neighbours."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from hiergcn import Graph, HGCNClassifier, NodeClassifier

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
known = np.concatenate([rng.permutation(np.flatnonzero(y == digit))[:10] for digit in range(10)])
few = np.full(y.size, -1)  # -1: unknown
few[known] = y[known]
hidden = np.flatnonzero(few < 0)

graph = Graph.from_table(X, few, k=10, standardise=False)  # pixels have the same unit
answers = graph.with_labels(y)
print(graph)
for name, classifier in (("support vectors", SVC()), ("nearest neighbour", KNeighborsClassifier(1))):
    print(f"{name:18} {classifier.fit(X[known], y[known]).score(X[hidden], y[hidden]):.1%}")
for name, node_classifier in (
    ("label propagation", NodeClassifier("label-propagation")),
    ("H-GCN+", HGCNClassifier(seed=0)),
):
    print(f"{name:18} {node_classifier.fit(graph).score(answers, hidden):.1%}")
