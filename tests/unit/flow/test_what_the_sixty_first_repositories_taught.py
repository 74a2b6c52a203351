"""What a sixty-first batch of repositories, an eighth list of bugs, and programs that are written with libraries taught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Checked = Callable[[Path, dict[str, str], str], list[str]]
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "what was computed of an argument before it is moved": (
        """
        import torch

        def pooled(ids, table, device):
            mask = ids != 0
            ids = ids.to({0})
            found = table.to({0})[ids]
            return (found * mask{1}).sum(1)
        """,
        [
            (("device", ""), ["TDV004"]),
            (("'cuda'", ""), ["TDV004"]),
            (("device", ".to(device)"), []),
            (("table.device", ""), []),
        ],
    ),
    "an argument that is taken to the CPU": (
        """
        import torch

        def kept(ids: torch.Tensor, found: torch.Tensor, device):
            mask = ids != 0
            ids = ids.to({0})
            return ids.tolist(), found.to(device).unsqueeze(0) * mask
        """,
        [("'cpu'", []), ("'cuda'", ["TDV004"])],
    ),
    "a callee that moves what its caller has moved": (
        """
        import torch

        def pooled(ids: torch.Tensor, device):
            mask = ids != 0
            ids = ids.to(device)
            return ids * mask

        def run(ids, device):
            ids = ids{0}
            return pooled(ids, device)
        """,
        [("", ["TDV004"]), (".to(device)", [])],
    ),
    "a statistic without dimensions": (
        """
        import torch

        def scaled(x: torch.Tensor, device):
            mean = x.mean({0})
            x = x.to(device)
            return x.unsqueeze(0) - mean
        """,
        [("", []), ("0, keepdim=True", ["TDV004"])],
    ),
    "lengths that a mask chooses from": (
        """
        import torch
        from torch import nn
        from torch.nn.utils.rnn import pack_padded_sequence

        class Chars(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(8, 4)
                self.lstm = nn.LSTM(4, 4)

            def forward(self, x):
                lengths = x.ne(0).sum(-1)
                kept = lengths.gt(0)
                x = self.embed(x[kept])
                return self.lstm(pack_padded_sequence(x, lengths[kept]{0}, True, False))
        """,
        [("", ["TDV013"]), (".cpu()", [])],
    ),
    "parameters of a distribution": (
        """
        import torch
        from torch.distributions import Normal, Uniform

        def noise(x: torch.Tensor):
            return Normal(x, {0}).sample()

        def unit():
            return Uniform(torch.tensor(0.0), torch.tensor(1.0)).sample()
        """,
        [
            ("torch.tensor(0.5)", ["TDV005"]),
            ("0.5", []),
            ("torch.tensor(0.5, device=x.device)", []),
        ],
    ),
    "a loader that is not prepared": (
        """
        import torch
        from accelerate import Accelerator
        from torch.utils.data import DataLoader
        from palm import PaLM

        def cycle(loader):
            while True:
                for data in loader:
                    yield data

        class Texts(torch.utils.data.Dataset):
            def __getitem__(self, index):
                return torch.randn(4)

            def __len__(self):
                return 8

        model = PaLM(3)
        optimizer = torch.optim.SGD(model.palm_parameters(), lr=0.1)
        train, valid = cycle(DataLoader(Texts())), cycle(DataLoader(Texts()))
        accelerator = Accelerator(gradient_accumulation_steps=4)
        model, optimizer, train = accelerator.prepare(model, optimizer, train)
        for step in range(8):
            model.train()
            with accelerator.accumulate(model):
                loss = model(next(train), return_loss=True)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 0.5)
            model.eval()
            loss = model(next(valid){0}, return_loss=True)
        """,
        [("", ["TDV001"]), (".to(accelerator.device)", [])],
    ),
    "nodes and the graphs that they belong to": (
        """
        import torch
        from torch_geometric.data import Data
        from torch_geometric.loader import DataLoader
        from torch_geometric.nn import GINConv, global_add_pool

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = GINConv(torch.nn.Linear(4, 4))

            def forward(self, x, edges, batch):
                return global_add_pool(self.conv(x, edges).relu(), batch)

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader([Data(x=torch.randn(3, 4), edge_index=torch.zeros(2, 3))])
        model = Net().to(device)
        for data in loader:
            x, edges = data.x.to(device), data.edge_index.to(device)
            batch = data.batch{0}
            out = model(x, edges, batch)
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "weights that a Trainer is made with": (
        """
        import torch
        from torch import nn
        from transformers import Trainer, TrainingArguments

        class Weighted(Trainer):
            def __init__(self, *args, class_weights=None, **kwargs):
                super().__init__(*args, **kwargs)
                self.class_weights = class_weights

            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                logits = model(**inputs).logits
                criterion = nn.CrossEntropyLoss(weight=self.class_weights{0})
                return criterion(logits, inputs["labels"])

        def run(model, labels):
            weights = torch.tensor(labels, dtype=torch.float32)
            trainer = Weighted(model=model, args=TrainingArguments("out"{1}), class_weights=weights)
            trainer.train()
        """,
        [
            (("", ""), ["TDV001"]),
            ((".to(self.args.device)", ""), []),
            ((".to(logits.device)", ""), []),
            (("", ", use_cpu=True"), []),
        ],
    ),
    "weights that a module of Lightning is made with": (
        """
        import lightning as L
        import torch
        from torch import nn

        class Tagger(L.LightningModule):
            def __init__(self, counts):
                super().__init__()
                self.net = nn.Linear(3, 3)
                {0}

            def training_step(self, batch, index):
                x, y = batch
                return nn.functional.cross_entropy(self.net(x), y, weight=self.weight)

        def run(loader):
            data = torch.utils.data.TensorDataset(torch.randn(3, 3), torch.randn(3, 3))
            model = Tagger(data.tensors[1].sum(0))
            L.Trainer(max_epochs=2, accelerator="{1}").fit(model, loader)
        """,
        [
            (("self.weight = counts.clamp(max=10.0)", "auto"), ["TDV006"]),
            (("self.register_buffer('weight', counts.clamp(max=10.0))", "auto"), []),
            (("self.weight = counts.clamp(max=10.0)", "cpu"), []),
        ],
    ),
    "a module of Lightning after it was trained": (
        """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)

            def training_step(self, batch, index):
                return self.net(batch).sum(){0}

        model = Net()
        L.Trainer().fit(model, torch.utils.data.DataLoader(torch.randn(8, 3)))
        model.net(torch.randn(2, 3))
        """,
        [("", []), (" + (self.net(batch) * torch.ones(3)).sum()", ["TDV005"])],
    ),
    "a hook of a validation that there is not": (
        """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)

            def training_step(self, batch, index):
                return self.net(batch).sum()

            def {0}(self, batch, index):
                return self.net(batch).sum()

            def on_validation_epoch_end(self):
                return self.net(torch.randn(8, 3))
        """,
        [("test_step", []), ("validation_step", ["TDV005"])],
    ),
    "the backward of an autograd function": (
        """
        import torch

        class Cut(torch.autograd.Function):
            @staticmethod
            def {0}(ctx, grad):
                made = torch.zeros(3, 4)
                if grad.is_cuda:
                    made = made.cuda()
                return made * grad
        """,
        [("backward", []), ("forward", ["TDV016"])],
    ),
    "a device that checkpoints are loaded to": (
        """
        import torch
        from torch import nn

        def _resnet(name, layers, pretrained, device, **options):
            model = nn.Linear(layers, 2)
            if pretrained:
                model.load_state_dict(torch.load(name + ".pt", map_location=device))
            return model

        def resnet18(pretrained=False, device={0}, **options):
            return _resnet("resnet18", 18, pretrained, device, **options)
        """,
        [("'cpu'", []), ("None", ["TDV017"])],
    ),
    "a device that an index needs not": (
        """
        import torch

        def bones(pose, truth, count, device):
            first = torch.tensor([0 if first % 4 == 0 else first for first in range(count)])
            second = torch.arange(1, count + 1)
            return pose[:, first] - pose[:, second{0}]
        """,
        [("", []), (" - 1] + second[0", ["TDV017"])],
    ),
    "a network that a method makes": (
        """
        import torch
        from torch import nn

        class Agent:
            def __init__(self, count):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.q = self._network(count)
                self.adam = torch.optim.Adam(self.q.parameters())

            def _network(self, count):
                return nn.Linear(count, 4){0}

            def act(self, state):
                state = torch.as_tensor(state).unsqueeze(0).to(self.device)
                return int(self.q(state).argmax(1))
        """,
        [(".to(self.device)", []), ("", ["TDV001"])],
    ),
    "an accelerator that an option may forbid": (
        """
        import torch
        from accelerate import Accelerator
        from torch.utils.data import DataLoader, TensorDataset

        def run(args):
            accelerator = Accelerator({0})
            rows = TensorDataset(torch.randn(8, 6))
            train, valid = DataLoader(rows), DataLoader(rows)
            model = torch.nn.Linear(6, 1)
            model, train = accelerator.prepare(model, train)
            for (x,) in train:
                accelerator.backward(model(x).sum())
            for (x,) in valid:
                model(x)
        """,
        [
            ("cpu=args.cpu", ["TDV001"]),
            ("cpu=True", []),
            ("cpu=False", ["TDV001"]),
            ("device_placement=False", []),
        ],
    ),
    "what makes batches for a loader": (
        """
        import torch
        from torch.utils.data import DataLoader

        def padded(sequences):
            longest = max(one.size(0) for one in sequences)
            whole = torch.zeros(len(sequences), longest)
            for index, one in enumerate(sequences):
                whole[index] = torch.cat([one, torch.zeros(longest - one.size(0))])
            return whole

        def batched(rows):
            return padded(rows)

        def loader(data):
            return DataLoader(data, collate_fn={0})
        """,
        [("batched", []), ("lambda rows: batched(rows)", []), ("None", ["TDV005"])],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_look_alikes_beside_mistakes(what: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way("", *CASES[what])


TASK = """\
import torch
from torch import nn
class Task:
    def __init__(self, directory, device):
        self.net = nn.Linear(3, 3).to(device)
        self.best = f"{directory}/best.pt"
    def run(self, loader, epochs):
        for epoch in range(epochs):
            {first}
        self.save(self.best)
        self.test(loader)
    def train(self, loader):
        for x in loader:
            self.net(x).sum().backward()
    def test(self, loader):
        def on(path):
            self.load(path)
            return self.evaluate(loader)
        return on(self.best)
    def evaluate(self, loader):
        return [self.net(x) for x in loader]
    def save(self, path):
        torch.save(self.net.state_dict(), path)
    def load(self, path):
        self.net.load_state_dict(torch.load(path))
"""
RESUMES = """\
    def training(self, loader, epochs):
        self.load(self.best)
        self.run(loader, epochs)
"""
RUNS = """\
import torch
from task import Task as Training
device = "cuda" if torch.cuda.is_available() else "cpu"
task = Training("out", device)
task.{called}([], 2)
"""


@pytest.mark.parametrize(
    ("first", "called", "found"),
    [
        ("self.train(loader)", "run", []),
        ("self.evaluate(loader)", "run", ["TDV009"]),
        ("self.train(loader)", "test", ["TDV009"]),
        ("self.train(loader)", "training", ["TDV009"]),
    ],
)
def test_what_is_loaded_at_the_end_of_the_run_that_trains(
    checked: Checked, tmp_path: Path, first: str, called: str, found: list[str]
) -> None:
    resumes = RESUMES if called == "training" else ""
    files = {"task.py": TASK.replace("{first}", first) + resumes, "run.py": RUNS.format(called=called)}
    assert checked(tmp_path, files, "task.py") == found
