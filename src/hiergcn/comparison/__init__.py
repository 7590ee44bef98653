"""Comparisons of methods over the same splits and seeds, and the search for settings."""
