"""Tensor operations of the models: sparse products, dropout and channels, for CPU and GPU."""
