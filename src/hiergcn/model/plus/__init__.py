"""H-GCN+: random propagation through graph and hierarchy, then one small network."""
