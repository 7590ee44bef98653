"""A `Data` object of PyTorch Geometric with its masks; embeddings and hyper-nodes are stored back in it."""

import torch

from hiergcn import Graph, HGCNClassifier, Split, load_dataset

cora = load_dataset("cora")
data = cora.graph.to_pyg()  # in place of your own Data object
for name, nodes in (
    ("train_mask", cora.split.train),
    ("val_mask", cora.split.validation),
    ("test_mask", cora.split.test),
):
    data[name] = torch.zeros(data.num_nodes, dtype=torch.bool).index_fill(0, torch.tensor(nodes), True)
print(data)

graph = Graph.from_pyg(data)
split = Split.from_masks(data.train_mask, data.val_mask, data.test_mask)
classifier = HGCNClassifier(seed=0, epochs=100).fit(graph, split)
print(f"correct for {classifier.score(graph):.1%} of the test nodes")

assert classifier.embedding_ is not None
assert classifier.hierarchy_ is not None
data.embedding = torch.from_numpy(classifier.embedding_)
data.hyper_node = torch.from_numpy(classifier.hierarchy_.hyper_nodes(2))
print(f"embedding {tuple(data.embedding.shape)}, {int(data.hyper_node.max()) + 1} hyper-nodes at level 2")
