"""Functions outside PyTorch that are handed models and tensors, and what may be concluded from that."""

from __future__ import annotations

import re

STORES_OR_INSPECTS = re.compile(
    r"(?i)(?:^|_)(?:load|copy|set|init|assign|update|register|save|count|print|log|plot|show|export|build|make|create|"
    r"get|add|attach|wrap|prepare|setup|configure|convert|quantize|prune|freeze|replace|insert|append|push|store|watch|summary|"
    r"train|fit|to|move|send|place|put|send|scatter|distribute|shard|parallelize|accelerate)(?:_|$)"
)
"""Callees named so need not run the model on the tensor at once, or move things themselves."""

LOGS = frozenset("debug info warning warn error critical exception".split())
"""Methods of whatever writes a log."""

LEAVES_ARGUMENTS = LOGS | {"update_parameters"}
"""Methods that leave what they are given where it is: an average is brought up to date by parameters (torch/optim/swa_utils.py)."""

LOOKS_ONLY = frozenset(
    "print debug info warning warn error exception critical log write pprint len str repr format sorted list tuple set int float "
    "bool isinstance hasattr type any all enumerate load_state_dict".split()
)
"""Callees named so do not exchange what a dict holds that they are given."""

CONTAINER_CHANGES = frozenset(
    "append appendleft add extend insert update setdefault pop popleft remove clear put".split()
)
"""Methods of lists, dicts, sets and queues that change them."""

FUNCTION_FIRST = frozenset({"takewhile", "dropwhile", "filterfalse"})
"""Functions of `itertools` that take what they iterate over as their second argument."""
