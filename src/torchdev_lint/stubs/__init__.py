"""What libraries do to devices: facts in TOML files (`data/`, and the user's own), read only for libraries that are imported.

The format is described in docs/stubs.md.
"""
