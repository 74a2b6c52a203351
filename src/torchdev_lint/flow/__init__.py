"""Device inference: the lattice, abstract values, and the interpreter over LibCST nodes (docs/modules.md: what each module is for)."""
