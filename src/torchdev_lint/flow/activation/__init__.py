"""The activation: what all handlers are given."""
