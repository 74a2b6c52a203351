"""A function read alone: what its text shows of its arguments."""
