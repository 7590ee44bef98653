"""Advice before and after a fit: nodes to label next, doubtful labels, and what features and edges say alone."""
