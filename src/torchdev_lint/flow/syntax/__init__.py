"""The tree, and where things stand in it."""
