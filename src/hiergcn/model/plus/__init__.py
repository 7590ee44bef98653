"""H-GCN+: `network` is the method; `propagation`, `components` and `label_prior` are its parts."""
