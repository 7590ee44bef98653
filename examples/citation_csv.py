"""Two CSV files with twenty labels per class: citations, and the topic of a few papers.

The files are made from the Cora dataset with most labels left blank, so the predictions can be checked.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from hiergcn import Graph, HGCNClassifier, load_dataset

cora = load_dataset("cora")
folder = Path(tempfile.mkdtemp())
answers = cora.graph.labels
assert answers is not None
given = np.full(cora.graph.n_nodes, -1)
given[cora.split.train] = answers[cora.split.train]
cora.graph.with_labels(given).to_csv(folder / "citations.csv", folder / "papers.csv")

# From here on, the code is the same for your own files.
graph = Graph.from_csv(folder / "citations.csv", folder / "papers.csv", id="id", label="label")
print(graph)
for note in graph.notes:
    print("note:", note)

classifier = HGCNClassifier(seed=0, epochs=100).fit(graph)
table = pd.DataFrame(
    {"id": graph.ids, "predicted": classifier.predict(), "probability": classifier.predict_proba().max(axis=1).round(3)}
)
table.to_csv(folder / "predictions.csv", index=False)
print(table.head(10).to_string(index=False))

assert classifier.hierarchy_ is not None
print("nodes at each level:", *classifier.hierarchy_.sizes()[0])
names = np.array(cora.graph.class_names)[answers]
hidden = cora.split.test
print(
    f"correct for {np.mean(table['predicted'].to_numpy()[hidden] == names[hidden]):.1%} of {hidden.size:,} test papers"
)
