"""Settings: what they are called, which values they take, and the recipes that hold presets of them."""
