"""Pairs of look-alikes from errors that users reported: what is right, and is not told, beside what raised for them."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = """\
import torch
from torch import nn
"""
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'

PAIRS: dict[str, tuple[str, str]] = {
    "a table that __init__ leaves to another method is no placeholder of that method's": (
        """
        class Graph(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.size = size
                self.entities = nn.Embedding(size, 4)
                self.build()
            def build(self):
                self.table = torch.empty(0, dtype=torch.long)
            def fill(self, table):
                self.table = table
            def forward(self, ids):
                return self.entities(ids), self.table[ids.view(-1, 1)]
        """,
        """
        class Graph(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.size = size
                self.entities = nn.Embedding(size, 4)
                self.build()
            def build(self):
                self.table = torch.empty(self.size, 3, dtype=torch.long)
                for i in range(self.size):
                    self.table[i] = torch.LongTensor([i, i, i])
            def forward(self, ids):
                return self.entities(ids), self.table[ids.view(-1, 1)]
        """,
    ),
    "a window whose name is an argument": (
        """
        class Loss(nn.Module):
            def __init__(self, size, window="hann_window"):
                super().__init__()
                self.size = size
                self.register_buffer("window", getattr(torch, window)(size))
            def forward(self, x, y):
                parts = [torch.stft(one, self.size, 4, self.size, self.window, return_complex=True) for one in (x, y)]
                return (parts[0] - parts[1]).abs().mean()
        """,
        """
        class Loss(nn.Module):
            def __init__(self, size, window="hann_window"):
                super().__init__()
                self.size = size
                self.window = getattr(torch, window)(size)
            def forward(self, x, y):
                parts = [torch.stft(one, self.size, 4, self.size, self.window, return_complex=True) for one in (x, y)]
                return (parts[0] - parts[1]).abs().mean()
        """,
    ),
    "a window of which a part of the name is an argument": (
        """
        class Spectrum(nn.Module):
            def __init__(self, size, kind):
                super().__init__()
                self.size, self.kind = size, kind
            def forward(self, x):
                window = getattr(torch, f"{self.kind}_window")(self.size).to(x.device)
                return torch.stft(x, self.size, 4, self.size, window, return_complex=True)
        """,
        """
        class Spectrum(nn.Module):
            def __init__(self, size, kind):
                super().__init__()
                self.size, self.kind = size, kind
            def forward(self, x):
                window = getattr(torch, f"{self.kind}_window")(self.size)
                return torch.stft(x, self.size, 4, self.size, window, return_complex=True)
        """,
    ),
    "what a plain object keeps that a module holds stays behind": (
        """
        class Transform:
            def __init__(self, size):
                self.size = size
                self.window = torch.hann_window(size)
            def __call__(self, x):
                return torch.stft(x, self.size, 4, self.size, self.window.to(x.device), return_complex=True)
        class Loss(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.transform = Transform(size)
            def forward(self, x, y):
                return (self.transform(x) - self.transform(y)).abs().mean()
        """,
        """
        class Transform:
            def __init__(self, size):
                self.size = size
                self.window = torch.hann_window(size)
            def __call__(self, x):
                return torch.stft(x, self.size, 4, self.size, self.window, return_complex=True)
        class Loss(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.transform = Transform(size)
            def forward(self, x, y):
                return (self.transform(x) - self.transform(y)).abs().mean()
        """,
    ),
    "a module may move what its plain object keeps": (
        """
        class Transform:
            def __init__(self, size):
                self.window = torch.hann_window(size)
            def __call__(self, x):
                return x * self.window
        class Loss(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.transform = Transform(size)
            def _apply(self, fn):
                self.transform.window = fn(self.transform.window)
                return super()._apply(fn)
            def forward(self, x: torch.Tensor):
                return self.transform(x)
        """,
        """
        class Transform:
            def __init__(self, size):
                self.window = torch.hann_window(size)
            def __call__(self, x):
                return x * self.window
        class Loss(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.transform = Transform(size)
            def forward(self, x: torch.Tensor):
                return self.transform(x)
        """,
    ),
    "what an agent carries on from call to call, its first call finds as it was made": (
        """
        class Agent:
            def __init__(self, device, recurrent=False):
                self.device = device
                self.model = nn.GRUCell(8, 8)
                self.recurrent = recurrent
                if recurrent:
                    self.memory = torch.zeros(1, 8, device=device)
                self.model.to(device)
            def act(self, seen):
                x = torch.tensor(seen, device=self.device)
                if self.recurrent:
                    chosen, self.memory = self.model(x, self.memory), x
                return x
            def end(self, done):
                self.memory *= done
        """,
        """
        class Agent:
            def __init__(self, device, recurrent=False):
                self.device = device
                self.model = nn.GRUCell(8, 8)
                self.recurrent = recurrent
                if recurrent:
                    self.memory = torch.zeros(1, 8)
                self.model.to(device)
            def act(self, seen):
                x = torch.tensor(seen, device=self.device)
                if self.recurrent:
                    chosen, self.memory = self.model(x, self.memory), x
                return x
            def end(self, done):
                self.memory *= done
        """,
    ),
    "another method may have set what a method carries on": (
        """
        class Agent:
            def __init__(self, device):
                self.device = device
                self.model = nn.GRUCell(8, 8)
                self.memory = torch.zeros(1, 8)
                self.model.to(device)
            def reset(self, count):
                self.memory = torch.zeros(count, 8, device=self.device)
            def act(self, seen):
                self.memory = self.model(torch.tensor(seen, device=self.device), self.memory)
        """,
        """
        class Agent:
            def __init__(self, device):
                self.device = device
                self.model = nn.GRUCell(8, 8)
                self.memory = torch.zeros(1, 8)
                self.model.to(device)
            def reset(self):
                self.memory.zero_()
            def act(self, seen):
                self.memory = self.model(torch.tensor(seen, device=self.device), self.memory)
        """,
    ),
    "what a class carries on may be brought along where it was found to be elsewhere": (
        """
        class Focal(nn.Module):
            def __init__(self, alpha=None):
                super().__init__()
                self.alpha = alpha
                if isinstance(alpha, list):
                    self.alpha = torch.Tensor(alpha)
            def forward(self, x, target):
                if self.alpha.type() != x.data.type():
                    self.alpha = self.alpha.type_as(x.data)
                return x * self.alpha.gather(0, target.view(-1))
        class Mean:
            def __init__(self, device):
                self.model = nn.GRUCell(8, 8)
                self.model.to(device)
                self.memory = torch.zeros(1, 8)
            def act(self, x: torch.Tensor):
                if self.memory.type() != x.type():
                    self.memory = self.memory.type_as(x)
                return self.model(x, self.memory)
        """,
        """
        class Mean:
            def __init__(self, device):
                self.model = nn.GRUCell(8, 8)
                self.model.to(device)
                self.memory = torch.zeros(1, 8)
            def act(self, x: torch.Tensor):
                self.memory = self.model(x, self.memory)
                return self.memory
        """,
    ),
    "a text encoder of which a configuration tells the class brings no ids to its device": (
        """
        from accelerate import Accelerator
        from transformers import AutoTokenizer, PretrainedConfig
        def encoder_class(path):
            if PretrainedConfig.from_pretrained(path).architectures[0] == "CLIPTextModel":
                from transformers import CLIPTextModel
                return CLIPTextModel
            from diffusers.pipelines.alt_diffusion.modeling_roberta_series import RobertaSeriesModelWithTransformation
            return RobertaSeriesModelWithTransformation
        def encoded(path):
            accelerator = Accelerator()
            encoder = encoder_class(path).from_pretrained(path)
            encoder.to(accelerator.device)
            ids = AutoTokenizer.from_pretrained(path)([""], return_tensors="pt").input_ids
            return encoder(ids.to(accelerator.device))[0]
        """,
        """
        from accelerate import Accelerator
        from transformers import AutoTokenizer, PretrainedConfig
        def encoder_class(path):
            if PretrainedConfig.from_pretrained(path).architectures[0] == "CLIPTextModel":
                from transformers import CLIPTextModel
                return CLIPTextModel
            from diffusers.pipelines.alt_diffusion.modeling_roberta_series import RobertaSeriesModelWithTransformation
            return RobertaSeriesModelWithTransformation
        def encoded(path):
            accelerator = Accelerator()
            encoder = encoder_class(path).from_pretrained(path)
            encoder.to(accelerator.device)
            ids = AutoTokenizer.from_pretrained(path)([""], return_tensors="pt").input_ids
            return encoder(ids)[0]
        """,
    ),
    "what is taken to the other operand's own device later was not computed there": (
        """
        def attack(x: torch.Tensor, scale, count, device):
            noise = scale * torch.rand(count, 3)
            noise = noise.to(device)
            return x + noise
        def perturbed(x: torch.Tensor, count, device):
            return attack(x, x.new_full((count, 3), 1), count, device)
        """,
        """
        def attack(x: torch.Tensor, scale, count):
            noise = scale * torch.rand(count, 3)
            noise = noise.to(x.device)
            return x + noise
        def perturbed(x: torch.Tensor, count):
            return attack(x, x.new_full((count, 3), 1), count)
        """,
    ),
    "the other operand may itself be taken there in between": (
        """
        def attacked(x: torch.Tensor, count, device):
            noise = x * torch.rand(count, 3)
            x = x.to(device)
            noise = noise.to(x.device)
            return x + noise
        """,
        """
        def attacked(x: torch.Tensor, count):
            noise = x * torch.rand(count, 3)
            noise = noise.to(x.device)
            return x + noise
        """,
    ),
}


OFF_BY_DEFAULT = Config(off_by_default=frozenset({"TDV101", "TDV102", "TDV105", "TDV106", "TDV109"}))


def _codes(text: str) -> list[str]:
    return [one.code for one in findings(HEAD + DEVICE + textwrap.dedent(text), "program.py", OFF_BY_DEFAULT)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


HELPER = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def one_hot(labels, count=10):
    table = torch.eye(count)
    return table[labels]
"""


@pytest.mark.parametrize(
    ("before", "given", "found"),
    [
        ("labels = labels.to(device)", "labels", ["TDV005"]),
        ("labels = labels.to(device)", "labels.cpu()", []),
        ("labels = labels.to(device).tolist()", "labels", []),
        ("labels = labels.long()", "labels", []),
    ],
)
def test_a_table_is_indexed_by_what_the_callers_have_moved(
    tmp_path: Path, before: str, given: str, found: list[str]
) -> None:
    """Of labels alone it is not known that they are a tensor; what was moved just before the call is one."""
    training = f"""
        from helpers import device, one_hot
        def train(loader, model):
            for inputs, labels in loader:
                {before}
                wanted = one_hot({given}).to(device)
        """
    (tmp_path / ".git").mkdir()
    for name, text in {"helpers.py": HELPER, "train.py": textwrap.dedent(training)}.items():
        (tmp_path / name).write_text(text)
    config = replace(OFF_BY_DEFAULT, root=str(tmp_path))
    told = findings(HELPER, str(tmp_path / "helpers.py"), config, sources=DiskSources())
    assert [one.code for one in told] == found
