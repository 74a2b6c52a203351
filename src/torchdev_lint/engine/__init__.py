"""The run: which files, in which order, with which rules; no formats, no argument parsing."""
