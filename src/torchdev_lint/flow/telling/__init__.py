"""Telling: is it certain, where is it reported, what cures it."""
