"""H-GCN+: `network` is the method; `propagation` and `components` are its parts."""
