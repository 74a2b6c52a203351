"""Random generators: who takes one, and what takes its arguments from the host.

Source: ATen/core/Generator.h (`check_generator`: the generator's device type must be the tensor's), torch/utils/data/sampler.py and
torch/utils/data/dataset.py (`random_split`), which draw indices on the default device.
"""

from __future__ import annotations

HOST_GENERATORS = frozenset({"torch.manual_seed", "torch.random.manual_seed", "torch.seed"})
"""Calls that return the CPU's default generator."""

DRAWS_INDICES = frozenset(
    {
        "torch.utils.data.DataLoader",
        "torch.utils.data.dataloader.DataLoader",
        "torch.utils.data.random_split",
        "torch.utils.data.dataset.random_split",
        "torch.utils.data.RandomSampler",
        "torch.utils.data.sampler.RandomSampler",
        "torch.utils.data.WeightedRandomSampler",
        "torch.utils.data.SubsetRandomSampler",
    }
)
"""Take a generator and draw indices with it, on the default device."""

KEEPS_GENERATOR = frozenset("manual_seed set_state clone_state".split())
"""Methods of a generator that return it (or one like it)."""

HOST_ARGUMENTS = {
    "torch.set_rng_state": (0, "new_state"),
    "torch.random.set_rng_state": (0, "new_state"),
    "torch.cuda.set_rng_state": (0, "new_state"),
    "torch.cuda.random.set_rng_state": (0, "new_state"),
}
"""Arguments that must be on the CPU, with their position: generator states (ATen/core/Generator.h, `check_rng_state`).

Those of functions of tensors are in the operator table.
"""
