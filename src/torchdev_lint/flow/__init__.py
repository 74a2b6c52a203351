"""Device inference: the lattice, abstract values, and the interpreter over LibCST nodes.

Its packages, roughly from the ground up, and what each module is for: docs/modules.md. `domain`, `syntax` and `activation` need
nothing of the others; `execution`, `calling`, `instances`, `torch_calls` and `nn_modules` are the interpreter, whose parts call each other.
"""
