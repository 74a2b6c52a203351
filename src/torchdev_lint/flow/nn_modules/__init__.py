"""Modules, optimizers and data."""
