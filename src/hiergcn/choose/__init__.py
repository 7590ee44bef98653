"""The automatic choice: settings for a graph, the candidates, the search among them, and what to expect of a fit."""
