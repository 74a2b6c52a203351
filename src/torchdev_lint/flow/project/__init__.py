"""The project around a file: who calls it, with what, on which machines."""
