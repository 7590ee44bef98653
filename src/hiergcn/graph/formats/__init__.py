"""Conversions of graphs from and to other libraries and files, one module per format; see `Graph.from_*` and `to_*`."""
