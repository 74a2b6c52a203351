"""What calls of PyTorch give: factories, moves, device objects, operations, loaders.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- factories
    *[
        (f"{name} is on the CPU", f"x = torch.{name}", {"x": "cpu"})
        for name in (
            "zeros(2)",
            "ones(2)",
            "empty(2)",
            "full((2,), 1.0)",
            "arange(3)",
            "linspace(0, 1, 3)",
            "eye(2)",
            "rand(2)",
            "randn(2)",
            "randint(3, (2,))",
            "randperm(3)",
            "tensor([1])",
            "as_tensor([1])",
            "zeros(size=(2,))",
            "hann_window(4)",
            "tril_indices(2, 2)",
            "logspace(0, 1, 3)",
            "full(fill_value=1.0, size=(2,))",
        )
    ],
    ("device=", "x = torch.zeros(2, device='cuda:1')", {"x": "cuda:1"}),
    ("device=None", "x = torch.zeros(2, device=None)", {"x": "cpu"}),
    ("device= an index", "x = torch.zeros(2, device=1)", {"x": "cuda:1"}),
    ("device= an object", "x = torch.zeros(2, device=torch.device('cuda', 1))", {"x": "cuda:1"}),
    ("a scalar", "x, y = torch.tensor(1.0), torch.zeros(())", {"x": "0-dim cpu", "y": "0-dim cpu"}),
    ("a scalar on the device", "x = torch.tensor(1.0, device='cuda:0')", {"x": "0-dim cuda:0"}),
    ("from_numpy", "import numpy as np\nx = torch.from_numpy(np.zeros(2))", {"x": "cpu"}),
    (
        "from_numpy under a default device",
        "import numpy as np\nwith torch.device('cuda'):\n    x = torch.from_numpy(np.zeros(2))",
        {"x": "cpu"},
    ),
    ("as_tensor of a tensor", "x = torch.as_tensor(torch.zeros(2).cuda())", {"x": "cuda"}),
    ("tensor of a tensor", "x = torch.tensor(torch.zeros(2).tolist())", {"x": "cpu"}),
    ("zeros_like", "x = torch.zeros_like(torch.zeros(2).cuda())", {"x": "cuda"}),
    ("zeros_like with device=", "x = torch.zeros_like(torch.zeros(2).cuda(), device='cpu')", {"x": "cpu"}),
    ("rand_like", "x = torch.rand_like(torch.zeros(2).to('cuda:1'))", {"x": "cuda:1"}),
    ("full_like", "x = torch.full_like(torch.zeros(2).cuda(), 3.0)", {"x": "cuda"}),
    ("new_zeros", "x = torch.zeros(2).cuda().new_zeros(3)", {"x": "cuda"}),
    ("new_tensor", "x = torch.zeros(2).cuda().new_tensor([1.0])", {"x": "cuda"}),
    ("new_ones with device=", "x = torch.zeros(2).cuda().new_ones(3, device='cpu')", {"x": "cpu"}),
    ("new_full", "x = torch.zeros(2).to('cuda:1').new_full((2,), 1.0)", {"x": "cuda:1"}),
    (
        "legacy constructors",
        "x, y = torch.FloatTensor([1.0]), torch.LongTensor([1])",
        {"x": "cpu", "y": "cpu"},
    ),
    ("torch.Tensor", "x = torch.Tensor([1.0, 2.0])", {"x": "cpu"}),
    ("sampling follows its argument", "x = torch.bernoulli(torch.zeros(2).cuda())", {"x": "cuda"}),
    ("normal of tensors", "x = torch.normal(torch.zeros(2).cuda(), torch.ones(2).cuda())", {"x": "cuda"}),
    (
        "partial",
        "from functools import partial\nmake = partial(torch.zeros, device='cuda:1')\nx = make(2)",
        {"x": "cuda:1"},
    ),
    (
        "partial given again",
        """
        from functools import partial
        make = partial(torch.zeros, device='cuda:1')
        x = make(2, device='cpu')
        """,
        {"x": "cpu"},
    ),
    (
        "keywords from a dict",
        "kw = dict(device='cuda:1', dtype=torch.float64)\nx = torch.zeros(2, **kw)",
        {"x": "cuda:1"},
    ),
    # -- moves
    ("to a string", "x = torch.zeros(2).to('cuda:1')", {"x": "cuda:1"}),
    ("to an object", "x = torch.zeros(2).to(torch.device('cuda:1'))", {"x": "cuda:1"}),
    ("to an index", "x = torch.zeros(2).to(1)", {"x": "cuda:1"}),
    ("to a dtype", "x = torch.zeros(2).cuda().to(torch.float64)", {"x": "cuda"}),
    ("to a device and a dtype", "x = torch.zeros(2).to('cuda', torch.float64)", {"x": "cuda"}),
    ("to(dtype=)", "x = torch.zeros(2).cuda().to(dtype=torch.float16)", {"x": "cuda"}),
    ("to(device=)", "x = torch.zeros(2).to(device='cuda:1', non_blocking=True)", {"x": "cuda:1"}),
    ("to another tensor", "x = torch.zeros(2).to(torch.zeros(1).cuda())", {"x": "cuda"}),
    (
        "to another tensor's device",
        "y = torch.zeros(1).to('cuda:1')\nx = torch.zeros(2).to(y.device)",
        {"x": "cuda:1"},
    ),
    ("to a dtype in a name", "t = torch.float64\nx = torch.zeros(2).cuda().to(t)", {"x": "cuda"}),
    ("cuda with an index", "x = torch.zeros(2).cuda(1)", {"x": "cuda:1"}),
    ("cuda(device=)", "x = torch.zeros(2).cuda(device=1)", {"x": "cuda:1"}),
    ("cuda(non_blocking=)", "x = torch.zeros(2).cuda(non_blocking=True)", {"x": "cuda"}),
    ("cpu", "x = torch.zeros(2).cuda().cpu()", {"x": "cpu"}),
    ("type_as", "x = torch.zeros(2).type_as(torch.zeros(1).cuda())", {"x": "cuda"}),
    ("type with a dtype", "x = torch.zeros(2).cuda().type(torch.float64)", {"x": "cuda"}),
    ("casts keep the device", "x = torch.zeros(2).cuda().double().long().float().half()", {"x": "cuda"}),
    (
        "views keep the device",
        "x = torch.zeros(2, 2).cuda().view(-1).unsqueeze(0).contiguous().T.detach().clone()",
        {"x": "cuda"},
    ),
    ("pin_memory", "x = torch.zeros(2).requires_grad_()", {"x": "cpu"}),
    ("copy_", "x = torch.zeros(2)\ny = x.copy_(torch.ones(2).cuda())", {"x": "cpu", "y": "cpu"}),
    # -- device objects
    ("a device", "d = torch.device('cuda:1')", {"d": "device cuda:1"}),
    ("from type and index", "d = torch.device('cuda', 1)", {"d": "device cuda:1"}),
    ("from a device", "d = torch.device(torch.device('cpu'))", {"d": "device cpu"}),
    (
        "chosen",
        "d = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
        {"d": "device cuda or cpu"},
    ),
    ("its type", "d = torch.device('cuda:1')\nx = torch.zeros(2, device=d.type)", {"x": "cuda"}),
    ("as text", "d = str(torch.device('cuda:1'))\nx = torch.zeros(2, device=d)", {"x": "cuda:1"}),
    (
        "the default device",
        "torch.set_default_device('cuda:1')\nd = torch.get_default_device()",
        {"d": "device cuda:1"},
    ),
    ("a Generator is no tensor", "x = torch.Generator()", {"x": "?"}),
    # -- operations
    ("cat", "x = torch.cat([torch.zeros(2).cuda(), torch.zeros(2).cuda()])", {"x": "cuda"}),
    ("stack of a comprehension", "x = torch.stack([torch.zeros(2).cuda() for _ in range(3)])", {"x": "cuda"}),
    (
        "cat of a filled list",
        "xs = []\nfor i in range(3):\n    xs.append(torch.zeros(2))\nx = torch.cat(xs)",
        {"x": "cpu"},
    ),
    ("stack of scalars", "x = torch.stack([torch.tensor(1.0), torch.tensor(2.0)])", {"x": "cpu"}),
    ("where", "c = torch.zeros(2).cuda()\nx = torch.where(c > 0, c, torch.tensor(0.0))", {"x": "cuda"}),
    ("softmax", "x = torch.softmax(torch.zeros(2).cuda(), dim=0)", {"x": "cuda"}),
    ("functional", "x = nn.functional.one_hot(torch.arange(3).cuda())", {"x": "cuda"}),
    ("matmul", "x = torch.matmul(torch.zeros(2, 2).cuda(), torch.zeros(2, 2).cuda())", {"x": "cuda"}),
    ("max gives two", "v, i = torch.max(torch.zeros(2, 2).cuda(), dim=1)", {"v": "cuda", "i": "cuda"}),
    ("reduced to a scalar", "x = torch.zeros(2).cuda().sum()", {"x": "0-dim cuda"}),
    ("reduced along a dimension", "x = torch.zeros(2, 2).cuda().mean(dim=0)", {"x": "cuda"}),
    ("item", "x = torch.zeros(1).cuda().item()", {"x": "?"}),
    ("numpy", "x = torch.zeros(1).numpy()", {"x": "?"}),
    ("size", "x = torch.zeros(1).cuda().size(0)", {"x": "?"}),
    (
        "is_tensor",
        "x = torch.zeros(2).cuda()\nif not torch.is_tensor(x):\n    x = torch.zeros(2)",
        {"x": "cuda"},
    ),
    (
        "isinstance",
        "x = torch.zeros(2).cuda()\nif isinstance(x, torch.Tensor):\n    x = x.cpu()",
        {"x": "cpu"},
    ),
    # -- loaders
    (
        "batches of a TensorDataset",
        """
        from torch.utils.data import DataLoader, TensorDataset
        for x, y in DataLoader(TensorDataset(torch.zeros(4, 2), torch.zeros(4)), 2):
            pass
        """,
        {"x": "cpu", "y": "cpu"},
    ),
    (
        "batches of a dataset on the device",
        """
        from torch.utils.data import DataLoader, TensorDataset
        for x, in DataLoader(TensorDataset(torch.zeros(4, 2).cuda()), 2):
            pass
        """,
        {"x": "cuda"},
    ),
    (
        "batches of the file's own dataset",
        """
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                return torch.zeros(2), i
        for x, y in DataLoader(Rows(), batch_size=2):
            pass
        """,
        {"x": "cpu"},
    ),
    (
        "batches of dicts",
        """
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                return {"x": torch.zeros(2)}
        for batch in DataLoader(Rows(), batch_size=2):
            x = batch["x"]
        """,
        {"x": "cpu"},
    ),
    (
        "a collate function that moves",
        """
        from torch.utils.data import DataLoader
        def collate(rows):
            return torch.stack((torch.zeros(2), torch.zeros(2))).cuda()
        for x in DataLoader([1, 2, 3, 4], batch_size=2, collate_fn=collate):
            pass
        """,
        {"x": "cuda"},
    ),
    (
        "random_split",
        """
        from torch.utils.data import DataLoader, TensorDataset, random_split
        a, b = random_split(TensorDataset(torch.zeros(4, 2).cuda()), [2, 2])
        for x, in DataLoader(a, 2):
            pass
        """,
        {"x": "cuda"},
    ),
    # -- command lines
    (
        "argparse",
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda:1")
        args = parser.parse_args([])
        x = torch.zeros(2).to(args.device)
        """,
        {"x": "args.device"},
    ),
]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []


def test_a_device_from_an_index(bound: Callable[..., dict[str, str]]) -> None:
    # (the simulator has no word for it)
    assert bound("d = torch.device(1)", "d") == {"d": "device cuda:1"}
