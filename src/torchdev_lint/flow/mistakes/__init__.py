"""Finding mistakes that are no conflict of two operands."""
