"""The automatic choice: settings for a graph, the candidates, and the search among them."""
