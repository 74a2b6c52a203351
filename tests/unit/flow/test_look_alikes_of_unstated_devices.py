"""TDV106 by what a function's text shows: beside each that is told, the nearest one that is right."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom pool import dense, moments\n\n\n"


def _told(program: str) -> list[str]:
    config = Config(select=("TDV106",))
    text = HEAD + textwrap.dedent(program)
    return [one.message for one in findings(text, "pool/program.py", config)]


PAIRS = {
    "a sum of a layer's parts starts on the CPU": (
        """
        class ChainTransform(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.parts = nn.ModuleList(parts)

            @staticmethod
            def run(rows, parts, context):
                count = rows.shape[0]
                logs = torch.zeros(count)
                for part in parts:
                    rows, log = part(rows, context)
                    logs += log
                return rows, logs
        """,
        "torch.zeros(count)",
        "rows.new_zeros(count)",
    ),
    "filled with what comes from elsewhere": (
        """
        def padded(rows, groups, size):
            spread, counts = dense(rows, groups)
            many, most, width = spread.size()
            wide = torch.full((many, size, width), 0.0)
            wide[:, :most, :] = spread
            return wide
        """,
        "torch.full((many, size, width), 0.0)",
        "torch.full((many, size, width), 0.0, device=spread.device)",
    ),
    "made with the type of a thing's own tensor": (
        """
        def softened(op, value, dim):
            found = op(value.expanded(), dim)
            scale = torch.tensor(0.5, dtype=value.scale.dtype)
            return dense(found, scale)
        """,
        "torch.tensor(0.5, dtype=value.scale.dtype)",
        "torch.tensor(0.5, dtype=value.scale.dtype, device=value.scale.device)",
    ),
    "another branch says where": (
        """
        class Graph:
            def chosen(self, index, count):
                if isinstance(index, slice):
                    index = torch.arange(0, count, device=self.edges.device)
                else:
                    index = torch.as_tensor(index)
                    index = index.long().view(-1)
                return index
        """,
        "torch.as_tensor(index)",
        "torch.as_tensor(index, device=self.edges.device)",
    ),
    "as large as a tensor, in what is handed on": (
        """
        class Steps(nn.Module):
            def asked(self, tokens, model):
                found = model.prepare(tokens)
                ids = found.unsqueeze(0)
                given = {"mask": torch.tensor([[1] * ids.shape[1]])}
                return model.run(ids, **given)
        """,
        "torch.tensor([[1] * ids.shape[1]])",
        "torch.tensor([[1] * ids.shape[1]], device=ids.device)",
    ),
    "in place of a parameter that is a list of tensors": (
        """
        from typing import List


        class Trainer:
            def step(self, scores: List[torch.FloatTensor]):
                scores = torch.tensor(scores)
                mean, deviation = self.running.update(scores)
                return mean
        """,
        "torch.tensor(scores)",
        "torch.tensor(scores, device=self.place.device)",
    ),
    "kept in a dict by a class that has a device": (
        """
        class Brain:
            def fit(self, rows):
                return rows.to(self.device)

            def labels(self):
                found = {}
                for key, count in self.settings.items():
                    found[key] = torch.arange(count)
                return self.combined(found)
        """,
        "torch.arange(count)",
        "torch.arange(count, device=self.device)",
    ),
    "an entry per row of a tensor, in a dict": (
        """
        def states(labels: torch.Tensor, weights: torch.Tensor) -> dict:
            tasks = labels.shape[0]
            sums = torch.zeros(tasks, dtype=torch.double)
            for i in range(tasks):
                sums[i] = moments(labels[i], weights[i])
            return {"sums": sums, "count": tasks}
        """,
        "torch.zeros(tasks, dtype=torch.double)",
        "torch.zeros(tasks, dtype=torch.double, device=labels.device)",
    ),
    "indexed by what comes from elsewhere": (
        """
        def sparse(matrix, count):
            places = torch.argsort(dense(matrix), dim=0)
            names = torch.arange(count)
            return names[places]
        """,
        "torch.arange(count)",
        "torch.arange(count, device=places.device)",
    ),
    "joined with the parts of a list": (
        """
        def line(rays):
            gap = torch.Tensor([[float("nan")] * 3])
            points = dense(rays)
            for ray in points:
                yield torch.cat((gap, ray))
        """,
        'torch.Tensor([[float("nan")] * 3])',
        'torch.tensor([[float("nan")] * 3], device=rays.device)',
    ),
}


@pytest.mark.parametrize(("program", "wrong", "right"), PAIRS.values(), ids=PAIRS)
def test_told_without_a_device_and_silent_with_one(program: str, wrong: str, right: str) -> None:
    assert wrong in program
    assert len(_told(program)) == 1
    assert _told(program.replace(wrong, right)) == []


SUM = """
    def total(rows):
        found = dense(rows)
        start = torch.zeros(3, 1){made}
        {between}
        return {end}
"""

RIGHT = {
    "meets what is unknown": (SUM.format(made="", between="pass", end="start + found")),
    "moved first": SUM.format(
        made="", between="start = start.to(found.device)", end="torch.cat([start, found])"
    ),
    "taken to the other's type": SUM.format(
        made=".type_as(found)", between="pass", end="torch.cat([start, found])"
    ),
    "a tensor type's name": SUM.format(
        made=".type(found.type())", between="pass", end="torch.cat([start, found])"
    ),
    "moved under a condition": SUM.format(
        made="", between="start = start.cuda() if found.is_cuda else start", end="torch.cat([start, found])"
    ),
    "brought to the CPU": SUM.format(
        made="", between="found = found.detach().cpu().clone()", end="torch.cat([start, found])"
    ),
    "read as NumPy's": SUM.format(
        made="", between="held = found.numpy()", end="torch.cat([start, found]), held"
    ),
    "a number": SUM.format(made="", between="start = torch.tensor(0.5)", end="found.exp() * start"),
    "an array of numbers": """
        def total(path):
            found = torch.from_numpy(np.load(path))
            return torch.cat([torch.zeros(3), found])
    """,
    "a helper brings it there": """
        def total(rows, bring):
            found = dense(rows).detach()
            start = bring.to_same_device(torch.zeros(found.shape[0]), found)
            return torch.cat([start, found])
    """,
    "what it is given to works on the CPU": """
        def total(rows):
            rows = dense(rows).detach()
            grid = dense([torch.arange(rows.size(i)) for i in range(rows.dim())])
            return torch.stack(grid).to(rows.device)
    """,
    "on the device of what is made here": """
        def table(width, length):
            steps = torch.arange(0, width, 2).float() / width
            places = torch.arange(length, device=steps.device)
            return torch.outer(places, steps)
    """,
    "copied into the rows of what is moved as a whole": """
        class Encoder:
            def __init__(self, net, device):
                self.net, self.device = net, device

            def encode(self, texts):
                ids = torch.zeros(len(texts), 8, dtype=torch.long)
                for row, text in enumerate(texts):
                    ids[row, : len(text)] = torch.tensor([ord(letter) for letter in text])
                return self.net(ids.to(self.device))
    """,
    "indices of what is filled": """
        def spread(rows: torch.Tensor, columns):
            held = dense(rows).float()
            places = torch.arange(rows.shape[0]).repeat_interleave(4)
            return held.index_put((places, columns), rows)
    """,
    "indexes what comes from elsewhere": """
        def shuffled(rows: torch.Tensor):
            return rows[torch.randperm(rows.shape[0])]
    """,
    "drawn for tensors": """
        def drawn(rows: torch.Tensor):
            mean = dense(rows).detach()
            return mean + torch.normal(mean.new_zeros(3), mean.new_ones(3))
    """,
    "holds sizes": """
        def sized(rows: torch.Tensor):
            pixels = torch.prod(torch.tensor(rows.shape[2:]))
            return moments(rows, pixels)
    """,
    "entries of a file": """
        from typing import Dict


        def renamed(state_dict: Dict[str, torch.Tensor]):
            found = {}
            found["head.bias"] = torch.zeros(state_dict["head.weight"].shape[0])
            return found
    """,
    "made where the program's device is chosen": """
        def total(rows, place):
            found = dense(rows).detach()
            with torch.device(place):
                start = torch.zeros(3)
            return torch.cat([start, found])
    """,
    "may be a tensor already": """
        def total(rows):
            rows = torch.as_tensor(rows)
            return rows.view(-1)
    """,
    "indices of rows": """
        def triples(rows):
            return torch.arange(0, rows.size(0), 3), torch.arange(1, rows.size(0), 3)
    """,
    "numbers one at a time": """
        def counted(rows):
            found = torch.zeros((rows.size(0), rows.size(1)))
            for i in range(rows.size(0)):
                for j in range(rows.size(1)):
                    found[i, j] = len(rows[i, j].unique())
            return found
    """,
    "either case of one choice": """
        def graph(rows, fast):
            if fast:
                starts, ends = dense(rows.unsqueeze(0))
            else:
                starts, ends = torch.zeros(1, 3), torch.zeros(1, 3)
            return torch.cat([starts, ends]).sum().item()
    """,
    "stands for what is not given": """
        def graph(rows):
            rows = dense(rows).detach()
            return F.multi_head_attention_forward(rows, rows, rows, 4, 1, torch.empty([0]), rows, None, None, False, 0.0, rows, rows)
    """,
    "computed from what is made here": """
        def drawn(path, half):
            kept = moments(torch.from_numpy(np.load(path)["rows"]))
            chosen = (torch.rand(half) * 3).long()
            return torch.index_select(kept, 0, chosen).sum().item()
    """,
    "put into a dict with others": """
        def graph(rows):
            found = {"rows": dense(rows).unsqueeze(0)}
            found.update({"starts": torch.zeros(3, 1), "ends": torch.zeros(3, 1)})
            return moments(found)
    """,
    "copied into what is there": """
        class Mask:
            def built(self, size, device):
                mask = torch.zeros((size, size), device=device)
                mask[1:, 1:] = torch.triu(torch.full((size - 1, size - 1), -65504.0))
                self.device = mask.device
                return mask
    """,
    "pinned for copies": """
        class Pool:
            def finished(self, size):
                self.buffers = [torch.empty((size,), pin_memory=True) for _ in range(2)]
                return self.buffers[0].to(self.device)
    """,
    "what it is given to is told the device": """
        def padded(rows: torch.Tensor, pad, device):
            return pad.filled([torch.ones(3, 1), torch.zeros(4, 1)], device=device)
    """,
    "a placeholder for a second result": """
        def scored(rows: torch.Tensor):
            return rows.sum(), torch.empty(0)
    """,
    "counts of rows for the host": """
        class Brain:
            def fit(self, rows):
                return rows.to(self.device)

            def collect_lengths(self, rows):
                return torch.arange(len(rows))
    """,
}


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_is_silent(program: str) -> None:
    assert _told(program) == []


def test_what_meets_it_afterwards_is_told() -> None:
    """The pattern of the silent ones: without what cures it, it is told."""
    for made, between in (("", "pass"), ("", "held = found.cpu()"), (".float()", "pass")):
        (message,) = _told(SUM.format(made=made, between=between, end="torch.cat([start, found])"))
        assert "meets a tensor that may be there" in message


def test_a_folder_of_transforms_is_not_the_host_where_it_holds_layers() -> None:
    program, _, _ = PAIRS["a sum of a layer's parts starts on the CPU"]
    text = HEAD + textwrap.dedent(program)
    config = Config(select=("TDV106",))
    assert len(findings(text, "flows/transforms/base.py", config)) == 1
    plain = text.replace("(nn.Module)", "").replace("super().__init__()", "pass")
    assert findings(plain, "flows/transforms/base.py", config) == []


def test_no_device_is_asked_of_what_has_parts_with_names() -> None:
    program = """
        def cropped(sample):
            starts = torch.zeros(sample["rows"].unsqueeze(0).shape[1])
            ends = torch.ones(sample["rows"].shape[0])
            return moments(ends, sample["rows"])
    """
    text = HEAD + textwrap.dedent(program)
    (found,) = findings(text, "pool/program.py", Config(select=("TDV106",)))
    assert "although `sample` is at hand" in found.message
    assert found.fix is None
