"""Calls and functions of the program."""
