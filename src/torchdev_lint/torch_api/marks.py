"""Words of which one is in every file that has to do with tensors. Light: every run asks for them."""

from __future__ import annotations

MARKS = ("torch", "return_tensors", ".detach()", ".numpy()", ".named_parameters(", ".state_dict()")
"""Of these, one is in every file that makes tensors, by PyTorch or by a tokenizer that is asked for them, or computes with those of a
module that it is given, or reads tensors on the host. Nothing but a tensor has the method `detach` without arguments; those of other
libraries have `numpy` too, and nothing is known of them."""
