"""Explaining predictions: attribution of features and nodes, and votes of neighbours and hyper-nodes."""
