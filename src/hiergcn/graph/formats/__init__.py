"""Graphs from other libraries and files, and back: one format a file. `Graph.from_*` and `Graph.to_*` lead here."""
