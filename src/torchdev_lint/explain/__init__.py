"""Understanding a pasted PyTorch error: its traceback, what it says, and which finding explains it."""
