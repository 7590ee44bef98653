"""H-GCN as a plain `nn.Module` in your own training loop."""

import torch
from torch import nn

from hiergcn import HGCN, HGCNConfig, HierarchyTensors, load_dataset
from hiergcn.coarsening import coarsen

cora = load_dataset("cora")
X = torch.tensor(cora.graph.features.toarray(), dtype=torch.float32)  # type: ignore[union-attr]
X = X / X.sum(dim=1, keepdim=True).clamp(min=1)
y = torch.tensor(cora.graph.labels)
train, test = torch.tensor(cora.split.train), torch.tensor(cora.split.test)

hierarchy = coarsen(cora.graph.adjacency, levels=3)
config = HGCNConfig(hidden=32, dropout=0.5, output_relu=False)
generator = torch.Generator().manual_seed(0)
model = HGCN(HierarchyTensors(hierarchy), X.shape[1], cora.graph.n_classes, config, generator)
print(f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters,", *hierarchy.sizes()[0], "nodes")

optimiser = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.01)
for epoch in range(1, 61):
    model.train()
    optimiser.zero_grad()
    loss = nn.functional.cross_entropy(model(X)[train], y[train], label_smoothing=0.1)
    loss.backward()
    optimiser.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            accuracy = (model(X)[test].argmax(dim=1) == y[test]).double().mean()
        print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {accuracy:.1%}")
