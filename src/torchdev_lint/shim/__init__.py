"""What `torchdev-ruff` is made of: Ruff's command line, the real Ruff, and the two tools' findings in one report."""
