"""Bytes, encodings, newlines, which files to visit, suppression comments."""
