"""What PyTorch's functions and methods do."""
