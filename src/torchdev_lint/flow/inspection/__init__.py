"""Looking at the inference."""
