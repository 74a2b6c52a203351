"""What PyTorch's API does to devices, as tables without control flow."""
