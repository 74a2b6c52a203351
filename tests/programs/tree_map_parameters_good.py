import torch
from torch.utils._pytree import tree_map, tree_flatten

DEV = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


def put(tree, device=DEV):
    return tree_map(lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, tree)


def zeros_like_tree(tree):
    return tree_map(torch.zeros_like, tree)


params = put({"w": torch.randn(3, 3), "b": [torch.zeros(3), torch.ones(3)]})
velocity = zeros_like_tree(params)
grads = tree_map(lambda p: torch.full_like(p, 0.1), params)
velocity = {"w": velocity["w"] * 0.9 + grads["w"], "b": [v * 0.9 + g for v, g in zip(velocity["b"], grads["b"])]}
params = {"w": params["w"] - velocity["w"], "b": [p - v for p, v in zip(params["b"], velocity["b"])]}
leaves, _ = tree_flatten(params)
print(len(leaves), put(torch.rand(2, 3)).matmul(params["w"]).shape)
