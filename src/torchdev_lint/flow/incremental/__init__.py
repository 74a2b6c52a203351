"""Reading again after an edit, for the language server."""
