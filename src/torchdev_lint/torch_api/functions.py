"""Functions that the operator table (`operators`) does not speak of: of libraries, and those that walk over parameters."""

from __future__ import annotations

OTHER_OPERATIONS = ("torchvision.ops.",)
"""Functions in these namespaces compute on the device of their tensor operands, too."""

MAY_BE_ELSEWHERE_FOR_FEW = {
    "torchvision.ops.batched_nms": (2, "idxs"),
    "torchvision.ops.boxes.batched_nms": (2, "idxs"),
}
"""Of those, the ones with an argument (its position and name) that may be anywhere as long as there is little of it, as in tests: few
boxes have their classes brought to them (torchvision/ops/boxes.py, `_batched_nms_coordinate_trick`), many do not
(`_batched_nms_vanilla`: `curr_indices[curr_keep_indices]` raises)."""

FOLLOWS_ARGUMENT = {
    "torch.nn.utils.parameters_to_vector": (0, "parameters", "tensor"),
    "torch.nn.utils.clip_grad_norm_": (0, "parameters", "scalar"),
    "torch.nn.utils.get_total_norm": (0, "tensors", "scalar"),
    "torch.nn.utils.clip_grad.clip_grad_norm_": (0, "parameters", "scalar"),
    "torch.sparse.sum": (0, "input", "tensor"),
    "torch.sparse.softmax": (0, "input", "tensor"),
    "torch.sparse.log_softmax": (0, "input", "tensor"),
    "torch.autograd.grad": (1, "inputs", "tuple"),
    "torch.nn.utils.rnn.pad_sequence": (0, "sequences", "tensor"),
    "torch.nn.utils.rnn.unpad_sequence": (0, "padded_sequences", "tuple"),
    "torch.nn.utils.rnn.pad_packed_sequence": (0, "sequence", "lengths"),
}
"""Functions whose result is where an argument (or what it contains) is: its position and name, and what comes back: with `lengths`, these
are on the CPU (torch/nn/utils/rnn.py)."""

UNUSED_WITH = {
    ("multi_head_attention_forward", "in_proj_weight"): "use_separate_proj_weight",
}
"""Parameters, by function, that are not read when another one is true (torch/nn/functional.py): programs give something empty there."""
