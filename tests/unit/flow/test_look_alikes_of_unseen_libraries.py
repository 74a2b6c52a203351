"""Pairs of look-alikes from libraries that no study had looked at before: what was reported there and is right, beside what is wrong."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = """\
import numpy as np
import torch
from torch import nn
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a file that demands a GPU when it is imported": (
        """
        assert torch.cuda.is_available(), "needs a GPU"
        class Trainer:
            def __init__(self, net):
                self.net = net.cuda()
            def resume(self, path):
                state = torch.load(path)
                self.net.load_state_dict(state["model"])
        """,
        """
        assert torch.__version__ > "2", "needs a new torch"
        class Trainer:
            def __init__(self, net):
                self.net = net.cuda()
            def resume(self, path):
                state = torch.load(path)
                self.net.load_state_dict(state["model"])
        """,
    ),
    "a file that raises when it is imported without a GPU": (
        """
        if not torch.cuda.is_available():
            raise SystemExit("needs a GPU")
        class Trainer:
            def __init__(self, net):
                self.net = net.cuda()
            def resume(self, path):
                state = torch.load(path)
                self.net.load_state_dict(state["model"])
        """,
        """
        if not torch.cuda.is_available():
            print("it will be slow")
        class Trainer:
            def __init__(self, net):
                self.net = net.cuda()
            def resume(self, path):
                state = torch.load(path)
                self.net.load_state_dict(state["model"])
        """,
    ),
    "a module takes the output of its own part to where both are": (
        """
        class Encoder(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.device = device
                self.items = nn.Embedding(5, 3)
            def forward(self, ids):
                return self.items(ids).to(self.device)
        """,
        """
        class Encoder(nn.Module):
            def __init__(self, items):
                super().__init__()
                self.items = items
            def forward(self, ids):
                device = next(self.items.parameters()).device
                return self.items(ids).to(device=device)
        """,
    ),
    "the branch for what is no tensor, where it may be one thing or the other": (
        """
        class Separator(Base):
            def load(self):
                if self.kind in KINDS or self.newer:
                    self.run = networks.Cascaded(self.capacity, self.kind)
                else:
                    self.run = of_capacity(self.capacity)
            def separate(self, x):
                if self.run is None:
                    self.load()
                return self.masked(x, self.device)
            def masked(self, x, device):
                def executed(x):
                    if self.backend == "mlx" and torch.device(device).type == "mps" and not self.run.training:
                        return mx.concatenate(batches, axis=2)
                    batch = torch.from_numpy(x)
                    batch = batch.to(device=device, memory_format=last) if self.last else batch.to(device)
                    found = self.run.predict_mask(batch)
                    return torch.empty(3, dtype=found.dtype, device=batch.device)
                def as_array(mask):
                    if self.cleans:
                        if not isinstance(mask, torch.Tensor):
                            mask = np.array(mask)
                    return mask
                mask = executed(x)
                if self.twice:
                    mask = (mask + executed(x)) * 0.5
                return as_array(mask)
        """,
        """
        class Separator(Base):
            def load(self):
                if self.kind in KINDS or self.newer:
                    self.run = networks.Cascaded(self.capacity, self.kind)
                else:
                    self.run = of_capacity(self.capacity)
            def separate(self, x):
                if self.run is None:
                    self.load()
                return self.masked(x, self.device)
            def masked(self, x, device):
                def executed(x):
                    if self.backend == "mlx" and torch.device(device).type == "mps" and not self.run.training:
                        return mx.concatenate(batches, axis=2)
                    batch = torch.from_numpy(x)
                    batch = batch.to(device=device, memory_format=last) if self.last else batch.to(device)
                    found = self.run.predict_mask(batch)
                    return torch.empty(3, dtype=found.dtype, device=batch.device)
                def as_array(mask):
                    if self.cleans:
                        mask = np.array(mask)
                    return mask
                mask = executed(x)
                if self.twice:
                    mask = (mask + executed(x)) * 0.5
                return as_array(mask)
        """,
    ),
    "a default device that the function insists on": (
        """
        class Voice:
            def __init__(self, device="cuda:0"):
                if "cuda" in device:
                    assert torch.cuda.is_available()
                self.model = nn.Linear(3, 3).to(device)
        def insisting(device="cuda:0"):
            if not torch.cuda.is_available():
                raise RuntimeError("a GPU is needed")
            return torch.ones(3, device=device)
        """,
        """
        class Voice:
            def __init__(self, device="cuda:0"):
                if "cuda" in device:
                    assert device
                self.model = nn.Linear(3, 3).to(device)
        """,
    ),
    "what a model of which nothing is known is given, brought to the device in place": (
        """
        from somewhere import bring, load
        def generated(device, long, names):
            model = load().to(device)
            batch = {name: torch.ones(3) for name in names}
            batch["mask"] = torch.ones(2, 3)
            bring(batch, device)
            return model(torch.ones(3, device=device), **batch)
        """,
        """
        from somewhere import look, load
        def generated(device, long, names):
            model = load().to(device)
            batch = {name: torch.ones(3) for name in names}
            batch["mask"] = torch.ones(2, 3)
            look(batch, names)
            return model(torch.ones(3, device=device), **batch)
        """,
    ),
    "a dict of one kind or another is changed in place": (
        """
        def bring(batch, device):
            for name, value in batch.items():
                if isinstance(value, torch.Tensor):
                    batch[name] = value.to(device)
        def loss(flag, device):
            model = nn.Linear(3, 3).to(device)
            if flag:
                batch = {"labels": torch.ones(2)}
            else:
                batch = {}
            batch["x"] = torch.ones(2, 3)
            bring(batch, device)
            return model(batch["x"])
        """,
        """
        def bring(batch, device):
            for name, value in batch.items():
                if isinstance(value, torch.Tensor):
                    batch[name] = value * 2
        def loss(flag, device):
            model = nn.Linear(3, 3).to(device)
            if flag:
                batch = {"labels": torch.ones(2)}
            else:
                batch = {}
            batch["x"] = torch.ones(2, 3)
            bring(batch, device)
            return model(batch["x"])
        """,
    ),
    "positions that index what a model keeps": (
        """
        from somewhere import build
        def generated(device, tokens, steps):
            model = build().to(device)
            positions = torch.arange(steps)
            batch = {"mask": torch.ones(3, 3, device=device), "input_pos": positions[None, :3]}
            return model(tokens.to(device), **batch)
        """,
        """
        from somewhere import build
        def generated(device, tokens, steps):
            model = build().to(device)
            positions = torch.arange(steps)
            batch = {"mask": torch.ones(3, 3, device=device), "tokens": positions[None, :3]}
            return model(tokens.to(device), **batch)
        """,
    ),
    "a bare module holds what was registered in it": (
        """
        def compared(count):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            tensors = [torch.ones(3, device=device) for _ in range(count)]
            holder = torch.nn.Module()
            for index, tensor in enumerate(tensors):
                holder.register_parameter(f"weight_{index}", torch.nn.Parameter(tensor.clone()))
            return [torch.allclose(one, other) for one, other in zip(list(holder.parameters()), tensors)]
        """,
        """
        def compared(count):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            tensors = [torch.ones(3, device=device) for _ in range(count)]
            holder = torch.nn.Linear(3, 1)
            return [torch.allclose(one, other) for one, other in zip(list(holder.parameters()), tensors)]
        """,
    ),
    "a worker that asks for a GPU": (
        """
        import ray
        @ray.remote(num_cpus=4, num_gpus=1)
        class Worker:
            def __init__(self):
                self.version = torch.zeros(1, device=torch.device("cuda:0"))
        """,
        """
        import ray
        @ray.remote(num_cpus=4, num_gpus=0)
        class Worker:
            def __init__(self):
                self.version = torch.zeros(1, device=torch.device("cuda:0"))
        """,
    ),
    "tests that ask for a GPU, and their helper": (
        """
        def generate(model, x):
            return model(x.to("cuda:0"))
        def test_generate(requires_cuda, model):
            assert generate(model, torch.ones(3)) is not None
            assert torch.ones(3, device="cuda:0").sum() == 3
        """,
        """
        def generate(model, x):
            return model(x.to("cuda:0"))
        def test_generate(model):
            assert torch.ones(3, device="cuda:0").sum() == 3
        """,
    ),
    "extensions that are compiled for a GPU": (
        """
        from apex.optimizers import FusedAdam
        net = nn.Linear(3, 3)
        net.load_state_dict(torch.load("checkpoint.pt"))
        """,
        """
        from apex import amp
        net = nn.Linear(3, 3).cuda()
        net.load_state_dict(torch.load("checkpoint.pt"))
        """,
    ),
    "vocabularies from a server": (
        """
        from urllib.parse import urljoin
        from torch.hub import load_state_dict_from_url
        SERVER = "https://example.org/"
        def vocabulary():
            return load_state_dict_from_url(urljoin(SERVER, "model.vocab.pt"))
        """,
        """
        from torch.hub import load_state_dict_from_url
        def weights(address):
            return load_state_dict_from_url(address)
        """,
    ),
    "weights from a hub": (
        """
        def build_from_huggingface_checkpoint(model, folder):
            model.load_state_dict(torch.load(f"{folder}/pytorch_model.bin"))
            return model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        """,
        """
        def build_from_checkpoint(model, folder):
            model.load_state_dict(torch.load(f"{folder}/pytorch_model.bin"))
            return model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        """,
    ),
    "a file that is made to be read once": (
        """
        import os
        def converted(source, folder):
            convert(source, folder)
            state_dict = torch.load(folder / "model.pth")
            torch.save(state_dict, folder / "pytorch_model.bin")
            os.remove(folder / "model.pth")
            return state_dict if torch.cuda.is_available() else None
        """,
        """
        import os
        def converted(source, folder):
            convert(source, folder)
            state_dict = torch.load(folder / "model.pth")
            torch.save(state_dict, folder / "pytorch_model.bin")
            os.remove(source)
            return state_dict if torch.cuda.is_available() else None
        """,
    ),
    "weights that come with the library": (
        """
        import os
        WEIGHTS = os.path.join(os.path.dirname(__file__), "models/weights.pt")
        class Distance(nn.Module):
            def __init__(self):
                super().__init__()
                self.load_state_dict(torch.load(str(WEIGHTS)))
        """,
        """
        import os
        WEIGHTS = os.path.join(os.getcwd(), "models/weights.pt")
        class Distance(nn.Module):
            def __init__(self):
                super().__init__()
                self.load_state_dict(torch.load(str(WEIGHTS)))
        """,
    ),
    "what is available is no name of a device": (
        """
        def restored(model, path):
            if not torch.cuda.is_available() == "cpu":
                model.load_state_dict(torch.load(path + "/model.pt", map_location="cpu"))
            else:
                model.load_state_dict(torch.load(path + "/model.pt"))
        """,
        """
        def restored(model, path):
            if not path == "cpu":
                model.load_state_dict(torch.load(path + "/model.pt", map_location="cpu"))
            else:
                model.load_state_dict(torch.load(path + "/model.pt"))
        """,
    ),
}


def _codes(program: str) -> list[str]:
    return [
        finding.code
        for finding in findings(
            HEAD + textwrap.dedent(program), "program.py", Config(off_by_default=frozenset({"TDV107"}))
        )
    ]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


SCRIPT = """
import torch
def main(path):
    model = torch.load(path)
    return model(torch.ones(3))
main("model.pth")
"""


@pytest.mark.parametrize(("saved", "found"), [('model.to("cpu")', []), ("model.state_dict()", ["TDV009"])])
def test_what_the_script_beside_saves_from_the_host(tmp_path: Path, saved: str, found: list[str]) -> None:
    """Every machine can load it."""
    (tmp_path / "train.py").write_text(f"import torch\nmodel.to('cuda')\ntorch.save({saved}, 'model.pth')\n")
    script = tmp_path / "predict.py"
    script.write_text(SCRIPT)
    told = findings(SCRIPT, str(script), Config(root=str(tmp_path)), sources=DiskSources())
    assert [finding.code for finding in told] == found


def test_a_benchmark_that_measures_an_accelerator() -> None:
    program = HEAD + textwrap.dedent(
        """
        from torch.profiler import ProfilerActivity, profile
        x = torch.ones(3).to(0)
        with profile(activities=[ProfilerActivity.{0}]):
            x.sum()
        """
    )
    for measured, found in (("CUDA", []), ("CPU", ["TDV002"])):
        told = findings(
            program.format(measured), "benchmarking/int8/speed.py", Config(), sources=DiskSources()
        )
        assert [finding.code for finding in told] == found


@pytest.mark.parametrize(("brought", "found"), [("", ["TDV103"]), (".cpu()", ["TDV005"])])
def test_a_tensor_that_goes_through_numpy_and_back(brought: str, found: list[str]) -> None:
    """Without `.cpu()` it is on the CPU already, as what it meets is: else this is never reached."""
    program = f"""
        class Pool(nn.Module):
            def __init__(self):
                super().__init__()
                self.dense = nn.Linear(3, 3)
            def forward(self, x: torch.Tensor):
                pooled = torch.from_numpy(x.detach(){brought}.numpy())
                return self.dense(pooled)
        """
    assert _codes(program) == found
