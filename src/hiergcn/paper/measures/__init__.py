"""What is measured rather than trained: a file for each, with a function `measure` that gives figures for JSON."""
