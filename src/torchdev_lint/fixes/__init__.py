"""Text edits: applying them to a fixed point, writing files safely."""
