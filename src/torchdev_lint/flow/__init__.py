"""Device inference: the lattice, abstract values, and the one LibCST visitor that interprets a module."""
