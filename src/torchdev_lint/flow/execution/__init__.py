"""Executing statements and expressions."""
