"""One of several left out: a part of a batch, an argument, a returned tensor is not treated as the others beside it are."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

PAIRS: dict[str, tuple[str, str, str]] = {
    "a part of what an unknown loader gives": (
        "TDV004",
        """
        def epoch(model, loader, device):
            for x, y in loader:
                x = x.to(device)
                y = y.to(device)
                total = F.cross_entropy(model(x), y)
            return total
        """,
        """
        def epoch(model, loader, device):
            for x, y in loader:
                x = x.to(device)
                total = F.cross_entropy(model(x), y)
            return total
        """,
    ),
    "a part of a batch, numbered, whose loss is handed in": (
        "TDV001",
        """
        def epoch(model, loader, criterion, device):
            for step, (x, mask, y) in enumerate(loader):
                x, mask, y = x.to(device), mask.to(device), y.to(device)
                loss = criterion(model(x) * mask, y)
            return loss
        """,
        """
        def epoch(model, loader, criterion, device):
            for step, (x, mask, y) in enumerate(loader):
                x, mask = x.to(device), mask.to(device)
                loss = criterion(model(x) * mask, y)
            return loss
        """,
    ),
    "a part of a batch that a moved model gets": (
        "TDV001",
        """
        def epoch(loader, device):
            net = nn.Linear(3, 3).to(device)
            for x, y in loader:
                y = y.to(device)
                loss = F.mse_loss(net(x.to(device)), y)
            return loss
        """,
        """
        def epoch(loader, device):
            net = nn.Linear(3, 3).to(device)
            for x, y in loader:
                y = y.to(device)
                loss = F.mse_loss(net(x), y)
            return loss
        """,
    ),
    "a part of a batch of which another is moved where it is used": (
        "TDV004",
        """
        def epoch(model, loader, device):
            for x, y in loader:
                loss = F.cross_entropy(model(x.to(device)), y.to(device))
            return loss
        """,
        """
        def epoch(model, loader, device):
            for x, y in loader:
                loss = F.cross_entropy(model(x.to(device)), y)
            return loss
        """,
    ),
    "an item of a batch": (
        "TDV004",
        """
        def step(model, batch, device):
            x = batch["x"].to(device)
            y = batch["y"].to(device)
            return F.cross_entropy(model(x), y)
        """,
        """
        def step(model, batch, device):
            x = batch["x"].to(device)
            y = batch["y"]
            return F.cross_entropy(model(x), y)
        """,
    ),
    "an item of a batch that is moved later": (
        "TDV004",
        """
        def epoch(model, loader, device):
            for batch in loader:
                x = batch[0]
                y = batch[1]
                x = x.to(device)
                y = y.to(device)
                F.cross_entropy(model(x), y)
        """,
        """
        def epoch(model, loader, device):
            for batch in loader:
                x = batch[0]
                y = batch[1]
                x = x.to(device)
                F.cross_entropy(model(x), y)
        """,
    ),
    "an argument that is read like one that is brought over": (
        "TDV010",
        """
        def curve(y_preds: torch.Tensor, y_targets: torch.Tensor):
            return y_preds.cpu().numpy(), y_targets.cpu().numpy()
        """,
        """
        def curve(y_preds: torch.Tensor, y_targets: torch.Tensor):
            return y_preds.numpy(), y_targets.cpu().numpy()
        """,
    ),
    "a tensor returned with others that are made alike and moved": (
        "TDV005",
        """
        class Buffer:
            def sample(self, picked):
                return torch.FloatTensor(self.x[picked]).to(self.device), torch.FloatTensor(self.y[picked]).to(self.device)
        """,
        """
        class Buffer:
            def sample(self, picked):
                return torch.FloatTensor(self.x[picked]).to(self.device), torch.FloatTensor(self.y[picked])
        """,
    ),
    "a range returned with others that are told where": (
        "TDV005",
        """
        def load(n, device):
            train = torch.arange(0, n, device=device)
            val = torch.arange(n, 2 * n, device=device)
            return train, val
        """,
        """
        def load(n, device):
            train = torch.arange(0, n, device=device)
            val = torch.arange(n, 2 * n)
            return train, val
        """,
    ),
    "what is added to a buffer that methods write into": (
        "TDV005",
        """
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("counts", torch.zeros(5))

            def reset(self, i):
                self.counts[i] = 0

            def update(self, i):
                self.counts += torch.ones(5, device=self.counts.device)
        """,
        """
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("counts", torch.zeros(5))

            def reset(self, i):
                self.counts[i] = 0

            def update(self, i):
                self.counts += torch.ones(5)
        """,
    ),
    "a table made here and indexed with what was moved": (
        "TDV005",
        """
        def encode(target, device):
            target = target.to(device)
            eye = torch.eye(10, device=device)
            return eye[target]
        """,
        """
        def encode(target, device):
            target = target.to(device)
            eye = torch.eye(10)
            return eye[target]
        """,
    ),
    "a move thrown away that the next turn would need": (
        "TDV003",
        """
        def decode(n, decoder, hidden):
            x = torch.zeros(3).cuda()
            for i in range(n):
                out, hidden = decoder(x, hidden)
                x = torch.tensor([i])
                x = x.cuda()
            return hidden
        """,
        """
        def decode(n, decoder, hidden):
            x = torch.zeros(3).cuda()
            for i in range(n):
                out, hidden = decoder(x, hidden)
                x = torch.tensor([i])
                x.cuda()
            return hidden
        """,
    ),
}

SILENT: dict[str, str] = {
    "a list whose items are moved one by one": """
        def epoch(model, loader, device):
            model.to(device)
            for x, blocks in loader:
                x = x.to(device)
                for i in range(len(blocks)):
                    blocks[i] = blocks[i].to(device)
                model(blocks)
        """,
    "lengths beside what is moved": """
        def epoch(model, loader, device):
            model.to(device)
            for x, lengths in loader:
                x = x.to(device)
                model(x, lengths)
        """,
    "the target is moved, the input is for DataParallel": """
        def epoch(model, loader, criterion):
            model.train()
            for i, (x, y) in enumerate(loader):
                y = y.cuda()
                z = torch.autograd.Variable(x)
                out = model(z)
                loss = criterion(out, y)
                print(x.size(0))
        """,
    "an input beside a moved one, for a model that may bring it": """
        def epoch(model, loader, device):
            for x, y in loader:
                y = y.to(device)
                model(x.float(), y).sum().backward()
                x.unsqueeze(0)
        """,
    "a number beside what is moved": """
        def scale(pairs, device):
            for x, w in pairs:
                x = x.to(device)
                yield x * w
        """,
    "a part that goes where another one is": """
        def epoch(model, loader, device):
            for x, y in loader:
                x = x.to(device)
                y = y.to(x.device)
                F.cross_entropy(model(x), y)
        """,
    "a part of which another was only cast": """
        def epoch(model, loader, dtype):
            for x, y in loader:
                x = x.to(dtype)
                F.cross_entropy(model(x), y)
        """,
    "a part of a batch that is unpacked twice": """
        def epoch(model, loader, other, device):
            for x, y in loader:
                x = x.to(device)
                F.cross_entropy(model(x), y.to(device))
            for x, y in other:
                F.cross_entropy(model(x), y)
        """,
    "an item of a batch that is moved as a whole": """
        def step(model, batch, device):
            batch = {name: part.to(device) for name, part in batch.items()}
            x = batch["x"].to(device)
            y = batch["y"]
            return F.cross_entropy(model(x), y)
        """,
    "an item that is a number": """
        def step(model, batch, device):
            x = batch["x"].to(device)
            weight = batch["weight"]
            return model(x) * weight
        """,
    "arguments that are both read where they are": """
        def curve(y_preds: torch.Tensor, y_targets: torch.Tensor):
            return y_preds.numpy(), y_targets.numpy()
        """,
    "an argument that is brought over before": """
        def curve(y_preds: torch.Tensor, y_targets: torch.Tensor):
            y_preds = y_preds.cpu()
            return y_preds.numpy(), y_targets.cpu().numpy()
        """,
    "something else returned with what is moved": """
        def sample(x, y, device):
            return torch.FloatTensor(x).to(device), torch.LongTensor(y)
        """,
    "lengths returned with what is moved": """
        def collate(x, lengths, device):
            return torch.tensor(x).to(device), torch.tensor(lengths)
        """,
    "an attribute that a method may set to what is anywhere": """
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.counts = torch.zeros(5)

            def set(self, counts):
                self.counts = counts

            def update(self, x: torch.Tensor):
                self.counts += x
        """,
    "a move that is timed": """
        host = torch.rand(3)
        for _ in range(5):
            print(host.shape)
            host.cuda()
        """,
    "a move thrown away before the next turn makes another": """
        def decode(n, decoder):
            for i in range(n):
                x = torch.tensor([i])
                decoder(x)
                x.cuda()
        """,
}


def _codes(program: str) -> list[str]:
    config = Config(off_by_default=OFF_BY_DEFAULT)
    return [found.code for found in findings(HEAD + textwrap.dedent(program), "program.py", config)]


@pytest.mark.parametrize(("_code", "right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(_code: str, right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("code", "_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(code: str, _right: str, wrong: str) -> None:
    assert code in _codes(wrong)


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_silent(program: str) -> None:
    assert _codes(program) == []


def test_what_is_returned_alone_goes_where_the_others_go() -> None:
    _, _, wrong = PAIRS["a range returned with others that are told where"]
    (found,) = findings(HEAD + textwrap.dedent(wrong), "program.py", Config())
    assert "returns it with others that it moves to `device`" in found.message
    assert found.fix is not None
    assert found.fix.edits[0].content == ", device=device"


def test_a_file_of_data_may_place_it(tmp_path: Path) -> None:
    _, _, wrong = PAIRS["a range returned with others that are told where"]
    config = Config(root=str(tmp_path), off_by_default=OFF_BY_DEFAULT)
    path = str(tmp_path / "data_loading.py")
    found = findings(HEAD + textwrap.dedent(wrong), path, config, sources=DiskSources())
    assert [one.code for one in found] == ["TDV005"]
