"""The language server: what the linter knows, in the editor. It needs the extra `lsp` (pygls).

Protocol: https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/
"""
