"""Idioms of bugs that really happened in projects that nobody here had read: a module's own tokenizer, copies that a loop drops."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

TOLD = Config(off_by_default=OFF_BY_DEFAULT - {"TDV105"})
HEAD = "import torch\nfrom torch import nn\nfrom lib import Base, Decoder, build\n"

PAIRS: dict[str, tuple[str, str, str]] = {
    "the tokens of a module's own tokenizer": (
        """
        from transformers import AutoModel, AutoTokenizer
        class Encoder(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.tokenizer = AutoTokenizer.from_pretrained(name)
                self.model = AutoModel.from_pretrained(name)

            def forward(self, texts):
                tokens = self.tokenizer(texts, return_tensors="pt").to(self.model.device)
                return self.model(**tokens)
        """,
        """
        from transformers import AutoModel, AutoTokenizer
        class Encoder(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.tokenizer = AutoTokenizer.from_pretrained(name)
                self.model = AutoModel.from_pretrained(name)

            def forward(self, texts):
                tokens = self.tokenizer(texts, return_tensors="pt")
                return self.model(**tokens)
        """,
        "TDV004",
    ),
    "a mask beside values that are moved": (
        """
        from transformers import Wav2Vec2Model, Wav2Vec2Processor
        class Expert(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.processor = Wav2Vec2Processor.from_pretrained(name)
                self.model = Wav2Vec2Model.from_pretrained(name)

            def forward(self, sounds):
                device = sounds[0].device
                given = self.processor([one.cpu().numpy() for one in sounds], return_tensors="pt")
                mask = given.get("attention_mask")
                return self.model(given.input_values.to(device), attention_mask=mask.to(device))
        """,
        """
        from transformers import Wav2Vec2Model, Wav2Vec2Processor
        class Expert(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.processor = Wav2Vec2Processor.from_pretrained(name)
                self.model = Wav2Vec2Model.from_pretrained(name)

            def forward(self, sounds):
                device = sounds[0].device
                given = self.processor([one.cpu().numpy() for one in sounds], return_tensors="pt")
                mask = given.get("attention_mask")
                return self.model(given.input_values.to(device), attention_mask=mask)
        """,
        "TDV004",
    ),
    "what one branch makes for a part of a module": (
        """
        class Forecaster(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.decoder = Decoder(n)
                self.head = nn.Linear(n, n)

            def forward(self, given):
                if self.training:
                    x = given["x"]
                else:
                    x = torch.zeros(given["n"], 3, device=given["x"].device)
                return self.head(self.decoder(x))
        """,
        """
        class Forecaster(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.decoder = Decoder(n)
                self.head = nn.Linear(n, n)

            def forward(self, given):
                if self.training:
                    x = given["x"]
                else:
                    x = torch.zeros(given["n"], 3)
                return self.head(self.decoder(x))
        """,
        "TDV005",
    ),
    "what is made where no accelerator is wanted": (
        """
        class Forecaster(nn.Module):
            def __init__(self, n, use_cuda):
                super().__init__()
                self.decoder = Decoder(n)
                self.use_cuda = use_cuda
                self.head = nn.Linear(n, n)

            def forward(self, given):
                if self.use_cuda:
                    x = given["x"]
                else:
                    x = torch.zeros(given["n"], 3)
                return self.head(self.decoder(x))
        """,
        """
        class Forecaster(nn.Module):
            def __init__(self, n, cached):
                super().__init__()
                self.decoder = Decoder(n)
                self.cached = cached
                self.head = nn.Linear(n, n)

            def forward(self, given):
                if self.cached:
                    x = given["x"]
                else:
                    x = torch.zeros(given["n"], 3)
                return self.head(self.decoder(x))
        """,
        "TDV005",
    ),
    "many indices, not one": (
        """
        class Attack(Base):
            def forward(self, images, label):
                label = label.clone().to(self.device)
                return torch.eye(10)[label]
        """,
        """
        class Attack(Base):
            def forward(self, images, labels):
                labels = labels.clone().to(self.device)
                return torch.eye(10)[labels]
        """,
        "TDV005",
    ),
    "what draws actions, not data": (
        """
        from lib import Sampler
        class Greedy(Sampler):
            def log_prob(self, scores, action):
                best = scores.argmax(dim=1) == action.argmax(-1)
                p = torch.zeros(scores.shape[0])
                p[best] = 1.0
                return p
        """,
        """
        from lib import Sampler
        class Greedy(Sampler):
            def log_prob(self, scores: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
                best = scores.argmax(dim=1) == action.argmax(-1)
                p = torch.zeros(scores.shape[0])
                p[best] = 1.0
                return p
        """,
        "TDV105",
    ),
    "a copy that is put back": (
        """
        def move(batch, device):
            for name, part in batch.items():
                part = part.to(device)
                batch[name] = part
            return batch
        """,
        """
        def move(batch, device):
            for name, part in batch.items():
                part = part.to(device)
            return batch
        """,
        "TDV003",
    ),
    "modules that a loop moves": (
        """
        def move(models, device):
            for name, part in models.items():
                part = part.to(device)
            return models
        """,
        """
        def move(parts, device):
            for name, part in parts.items():
                if isinstance(part, torch.Tensor):
                    part = part.to(device)
            return parts
        """,
        "TDV003",
    ),
    "a copy that the rest of the turn reads": (
        """
        def total(device):
            x, y = torch.zeros(3), torch.ones(3)
            found = 0.0
            for part in (x, y):
                part = part.to(device)
                found += part.sum().item()
            return found, x, y
        """,
        """
        def total(device):
            x, y = torch.zeros(3), torch.ones(3)
            found = 0.0
            for part in (x, y):
                part = part.to(device)
                found += 1
            return found, x, y
        """,
        "TDV003",
    ),
    "a copy that is read behind the loop": (
        """
        def last(device):
            x, y = torch.zeros(3), torch.ones(3)
            for part in [x, y]:
                part = part.to(device)
            return part, x
        """,
        """
        def last(device):
            x, y = torch.zeros(3), torch.ones(3)
            for part in [x, y]:
                part = part.to(device)
            for part in range(3):
                print(part)
            return x
        """,
        "TDV003",
    ),
    "what a loader gives, of which nothing is read": (
        """
        def count(net, loader, device):
            for x, y in loader:
                x = x.to(device)
                y = y.to(device)
                net(x)
            return loader
        """,
        """
        def count(net, device, x, y):
            x, y = torch.zeros(3), torch.ones(3)
            for part in (x, y):
                part = part.to(device)
            return net(x, y)
        """,
        "TDV003",
    ),
    "what the class fills with tensors": (
        """
        class Episodes:
            def __init__(self, scheme):
                self.parts = {}
                for key, n in scheme.items():
                    self.parts[key] = build(n)

            def to(self, device):
                for key, part in self.parts.items():
                    part = part.to(device)
        """,
        """
        class Episodes:
            def __init__(self, scheme):
                self.parts = {}
                for key, n in scheme.items():
                    self.parts[key] = torch.zeros(n)

            def to(self, device):
                for key, part in self.parts.items():
                    part = part.to(device)
        """,
        "TDV003",
    ),
    "what is added to": (
        """
        def solve(rows, device):
            x = build(rows)
            x.to(device)
            for row in rows:
                row.update(x)
            return x
        """,
        """
        def solve(rows, device):
            x = build(rows)
            x.to(device)
            for row in rows:
                x += row
            return x
        """,
        "TDV003",
    ),
    "a prior that a module keeps, and what its encoder draws": (
        """
        from torch.distributions import Normal
        class Coder(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.encoder = build(n)
                self.head = nn.Linear(n, n)
                self.register_buffer("zeros", torch.zeros(n))

            def forward(self, x):
                z = self.encoder(x).rsample()
                return Normal(self.zeros, torch.ones_like(self.zeros)).log_prob(z)
        """,
        """
        from torch.distributions import Normal
        class Coder(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.encoder = build(n)
                self.head = nn.Linear(n, n)
                self.prior = Normal(torch.zeros(n), torch.ones(n))

            def forward(self, x):
                z = self.encoder(x).rsample()
                return self.prior.log_prob(z)
        """,
        "TDV105",
    ),
    "another type, not another device": (
        """
        def convert(batch, dtype):
            for name, part in batch.items():
                part = part.to(dtype)
            return batch
        """,
        """
        def convert(batch, device):
            for name, part in batch.items():
                part = part.to(device)
            return batch
        """,
        "TDV003",
    ),
}


def _codes(text: str) -> set[str]:
    return {one.code for one in findings(HEAD + textwrap.dedent(text), "program.py", TOLD)}


@pytest.mark.parametrize("name", PAIRS)
def test_only_the_second_of_a_pair_is_at_fault(name: str) -> None:
    right, wrong, code = PAIRS[name]
    assert _codes(right) == set()
    assert _codes(wrong) == {code}
