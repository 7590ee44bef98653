"""Advice before and after a fit: nodes to label next, and doubtful labels."""
