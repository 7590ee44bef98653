"""Graphs from tables of edges and nodes. Read `csv_files.py` first."""
