"""More pairs of look-alikes: what the precision studies judged to be false alarms, each beside the bug that it looks like."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.activation.frame import MAX_CALL_DEPTH
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = "import torch\nfrom torch import nn\n"
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'

PAIRS: dict[str, tuple[str, str]] = {
    "a picture that is made of a tensor is shown": (
        """
        import matplotlib.pyplot as plt
        from torchvision import transforms
        def show():
            image = torch.rand(3, 8, 8, device="cuda")
            plt.imshow(transforms.ToPILImage()(image))
        """,
        """
        import matplotlib.pyplot as plt
        from torchvision import transforms
        def show():
            image = torch.rand(3, 8, 8, device="cuda")
            plt.imshow(transforms.Grayscale()(image))
        """,
    ),
    "an object that keeps a parameter of a module, which is moved in place": (
        """
        class Gaussian:
            def __init__(self, mean):
                self.mean = mean
            def sample(self):
                return self.mean + torch.zeros(2, device="cuda")
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.mean = nn.Parameter(torch.zeros(2))
                self.weight = Gaussian(self.mean)
            def forward(self, x):
                return x * self.weight.sample()
        Layer().to("cuda")(torch.ones(2, device="cuda"))
        """,
        """
        class Gaussian:
            def __init__(self, mean):
                self.mean = mean
            def sample(self):
                return self.mean + torch.zeros(2, device="cuda")
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = Gaussian(torch.zeros(2))
            def forward(self, x):
                return x * self.weight.sample()
        Layer().to("cuda")(torch.ones(2, device="cuda"))
        """,
    ),
    "items that are compared for their truth have one element": (
        """
        def count(labels: torch.Tensor, table: nn.Module):
            table.cuda()
            _, found = torch.max(table(torch.ones(4, 3).cuda()), 1)
            labels = torch.zeros(4, 2)
            return sum([1 if found[i] == labels[i] else 0 for i in range(4)])
        """,
        """
        def count(labels: torch.Tensor, table: nn.Module):
            table.cuda()
            _, found = torch.max(table(torch.ones(4, 3).cuda()), 1)
            labels = torch.zeros(4, 2)
            return sum([(found[i] == labels[i]).sum() for i in range(4)])
        """,
    ),
    "what a function of the program makes of a batch may be a list of words": (
        """
        def train(model: nn.Module, data, device):
            model.to(device)
            for images, targets in torch.utils.data.DataLoader(data, batch_size=4, collate_fn=data.collate):
                images = images.to(device)
                model(images, targets)["loss"].backward()
        """,
        """
        def train(model: nn.Module, data, device):
            model.to(device)
            for images, targets in torch.utils.data.DataLoader(data, batch_size=4, collate_fn=None):
                images = images.to(device)
                model(images, targets)["loss"].backward()
        """,
    ),
    "what a 0-dim index became with a number is read as a number": (
        """
        def assign(table, count):
            discarded = torch.full((4,), -1)
            best = (torch.argmax(table) % count).long()
            table[:, best] = discarded
        """,
        """
        def assign(table, count):
            discarded = torch.full((4,), -1)
            best = (torch.argmax(table, dim=1) % count).long()
            table[:, best] = discarded
        """,
    ),
    "a tensor without elements stands for what is not returned": (
        """
        def energy(x: torch.Tensor, derive: bool):
            y = x.square().sum(dim=0)
            if derive:
                return y, torch.autograd.grad(y.sum(), x)[0]
            return y, torch.empty(0)
        """,
        """
        def energy(x: torch.Tensor, derive: bool):
            y = x.square().sum(dim=0)
            if derive:
                return y, torch.autograd.grad(y.sum(), x)[0]
            return y, torch.zeros(2)
        """,
    ),
    "a parameter that may be a string, too": (
        """
        from typing import Union
        def place(value, device: Union[int, str, torch.device]):
            return value if device == "cpu" else value.to(device)
        def run(value):
            return place(value, torch.device("cpu"))
        """,
        """
        def place(value, device: torch.device):
            return value if device == "cpu" else value.to(device)
        def run(value):
            return place(value, torch.device("cpu"))
        """,
    ),
    "a placeholder that another method registers": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.empty(0, 0)
                self.linear = nn.Linear(2, 2)
            def prepare(self, table):
                self.register_buffer("table", table)
            def forward(self, x: torch.Tensor):
                return self.linear(x) @ torch.as_tensor(self.table)
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.eye(2)
                self.linear = nn.Linear(2, 2)
            def forward(self, x: torch.Tensor):
                return self.linear(x) @ self.table
        """,
    ),
    "a parameter that is float and contiguous already is returned itself": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 3)).float()
            def forward(self, x: torch.Tensor):
                return x @ self.weight
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 3)) * 0.1
            def forward(self, x: torch.Tensor):
                return x @ self.weight
        """,
    ),
    "an element of the indices is read as a number": (
        """
        class Bag(nn.Module):
            def __init__(self, counts):
                super().__init__()
                self.counts = torch.ones(len(counts))
            def forward(self, indices: torch.Tensor):
                return [self.counts[index] for index in indices]
        """,
        """
        class Bag(nn.Module):
            def __init__(self, counts):
                super().__init__()
                self.counts = torch.ones(len(counts))
            def forward(self, indices: torch.Tensor):
                return self.counts[indices]
        """,
    ),
    "a dict with more than tensors in it, given to a pipeline": (
        """
        from library import Pipeline
        class Diarization:
            def __init__(self, device):
                self.model = Pipeline.from_pretrained("name").to(device)
            def run(self, audio):
                return self.model({"waveform": torch.from_numpy(audio), "sample_rate": 16000})
        """,
        """
        from library import Model
        class Diarization:
            def __init__(self, device):
                self.model = Model.from_pretrained("name").to(device)
            def run(self, audio):
                return self.model(torch.from_numpy(audio))
        """,
    ),
    "a device that a function sets for its class": (
        """
        class Settings:
            DEVICE = torch.device("cpu")
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def shifted(x: torch.Tensor):
            return torch.matmul(x.to(device), torch.zeros(3, device=Settings.DEVICE))
        def use(gpu):
            Settings.DEVICE = torch.device("cuda", gpu)
        """,
        """
        class Settings:
            DEVICE = torch.device("cpu")
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def shifted(x: torch.Tensor):
            return torch.matmul(x.to(device), torch.zeros(3, device=Settings.DEVICE))
        def use(gpu):
            Settings.NUMBER = gpu
        """,
    ),
    "what a graph of a library was given moves with it": (
        DEVICE
        + """
data = load()[0]
data.x = torch.randn(4, 16)
data = data.to(device)
model = nn.Linear(16, 3).to(device)
model(data.x)
""",
        DEVICE
        + """
data = load()[0]
data = data.to(device)
data.x = torch.randn(4, 16)
model = nn.Linear(16, 3).to(device)
model(data.x)
""",
    ),
    "a program that never speaks of devices stays on the CPU": (
        """
        def loss(good: torch.Tensor, bad: torch.Tensor):
            return torch.cat([good, bad]) @ torch.ones(7)
        def score(net, x):
            return loss(net(x), net(x))
        for epoch in range(3):
            print(epoch)
        """,
        """
        def loss(good: torch.Tensor, bad: torch.Tensor):
            return torch.cat([good, bad]) @ torch.ones(7)
        def score(net, x):
            return loss(net(x), net(x))
        """,
    ),
    "what was told where to be made": (
        """
        class Net(nn.Module):
            def __init__(self, backbone):
                super().__init__()
                self.backbone = backbone
            def probe(self, n, device=None):
                return self.backbone(torch.zeros(1, n, device=device))
        """,
        """
        class Net(nn.Module):
            def __init__(self, backbone):
                super().__init__()
                self.backbone = backbone
            def probe(self, n, dtype=None):
                return self.backbone(torch.zeros(1, n, dtype=dtype))
        """,
    ),
    "an argument that is read with numpy further down": (
        """
        def projected(x: torch.Tensor, n):
            y = x @ torch.zeros(n)
            return y, x.numpy()
        """,
        """
        def projected(x: torch.Tensor, n):
            y = x @ torch.zeros(n)
            return y, x.cpu().numpy()
        """,
    ),
    "a sparse tensor is where its values are": (
        """
        def projected(x: torch.Tensor, indices: torch.Tensor, values: torch.Tensor):
            values = values.to(x.device)
            return x @ torch.sparse_coo_tensor(indices, values, (3, 3)).to_dense() @ torch.tensor(x)
        """,
        """
        def projected(x: torch.Tensor, indices, values):
            return x @ torch.sparse_coo_tensor([[0], [1]], [1.0], (3, 3), device="cpu").to_dense() @ torch.eye(3)
        """,
    ),
    "a parameter is where the module that owns it is": (
        """
        class Norm(Base, Registered):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(n))
            def forward(self, x: torch.Tensor):
                return self.weight @ x
        class Layer(Base, Registered):
            def __init__(self, norm=None, n=3):
                super().__init__()
                self.norm = norm or Norm(n)
            def forward(self, x: torch.Tensor):
                return self.norm(x)
        """,
        """
        class Norm(Base, Registered):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(n))
            def forward(self, x: torch.Tensor):
                return torch.ones(3) @ x
        """,
    ),
    "devices that are known to be there under another name": (
        """
        from library import is_torch_xpu_available, IS_MUSA_AVAILABLE
        def where():
            if is_torch_xpu_available():
                return torch.device("xpu:0")
            if IS_MUSA_AVAILABLE:
                return torch.device("musa:0")
        """,
        """
        from library import is_torch_xpu_wanted, IS_MUSA_WANTED
        def where():
            if is_torch_xpu_wanted():
                return torch.device("xpu:0")
        """,
    ),
    "the best state is loaded after the training that saved it": (
        """
        def main(model, optimizer, data):
            for x in data:
                model(x).sum().backward()
                optimizer.step()
            model.load_state_dict(torch.load("best.pt"))
        """,
        """
        def main(model, optimizer, data):
            model.load_state_dict(torch.load("best.pt"))
            for x in data:
                model(x).sum().backward()
                optimizer.step()
        """,
    ),
    "early stopping keeps its file under an attribute": (
        """
        class Stopper:
            def step(self, model):
                torch.save(model.state_dict(), self.path)
            def restore(self, model):
                model.load_state_dict(torch.load(self.path))
        """,
        """
        class Stopper:
            def restore(self, model):
                model.load_state_dict(torch.load(self.path))
        """,
    ),
    "a cell that is given the parameters of a moved layer": (
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(3, 3)
            def cell(self):
                cell = nn.GRUCell(3, 3)
                cell.weight_hh.data = self.rnn.weight_hh_l0.data
                return cell
            def generate(self, x):
                cell, h = self.cell(), torch.zeros(2, 3)
                if torch.cuda.is_available():
                    h = h.cuda()
                return cell(h)
        """,
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(3, 3)
            def cell(self):
                return nn.GRUCell(3, 3)
            def generate(self, x):
                cell, h = self.cell(), torch.zeros(2, 3)
                if torch.cuda.is_available():
                    h = h.cuda()
                return cell(h)
        """,
    ),
    "shards are loaded where there are accelerators": (
        """
        import torch.distributed.checkpoint as dcp
        def load_model(model, path):
            model.load_state_dict(torch.load(path))
        """,
        """
        import torch.distributed as dist
        def load_model(model, path):
            model.load_state_dict(torch.load(path))
        """,
    ),
    "a test runs on one machine": (
        """
        import pytest
        def test_sample(value: torch.Tensor):
            assert value.is_cuda
            if value.is_cuda:
                value = value + torch.ones(3).cuda()
        """,
        """
        def sample(value: torch.Tensor):
            if value.is_cuda:
                value = value + torch.ones(3).cuda()
            return value
        """,
    ),
    "the classes of few boxes are brought to the boxes": (
        """
        import unittest
        from torchvision.ops import boxes as box_ops
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        boxes, scores = torch.rand(4, 4, device=device), torch.rand(4, device=device)
        keep = box_ops.batched_nms(boxes, scores, torch.arange(4), 0.5)
        unittest.main()
        """,
        """
        from torchvision.ops import boxes as box_ops
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        boxes, scores = torch.rand(4, 4, device=device), torch.rand(4, device=device)
        keep = box_ops.batched_nms(boxes, scores, torch.arange(4), 0.5)
        """,
    ),
    "a literal where that very device was chosen, nobody sees how": (
        """
        def get_best_device():
            if torch.backends.mps.is_available():
                return "mps"
            elif torch.cuda.is_available():
                return "cuda:0"
            elif torch.xpu.is_available():
                return "xpu:0"
            else:
                return "cpu"
        DEVICE = get_best_device()
        x = torch.zeros(3)
        if DEVICE == "cuda:0":
            x = x.cuda()
        elif DEVICE == "xpu:0":
            x = x.to("xpu:0")
        """,
        """
        def get_best_device():
            if torch.backends.mps.is_available():
                return "mps"
            elif torch.cuda.is_available():
                return "cuda:0"
            elif torch.xpu.is_available():
                return "xpu:0"
            else:
                return "cpu"
        DEVICE = get_best_device()
        x = torch.zeros(3)
        if DEVICE != "xpu:0":
            x = x.to("xpu:0")
        """,
    ),
    "a trained model is taken to the CPU to be looked at": (
        """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(2, 2).to(device)
        optimizer = torch.optim.Adam(model.parameters())
        def train(model, data):
            for x in data:
                model(x).sum().backward()
                optimizer.step()
        train(model, [torch.randn(2, 2, device=device)])
        model.cpu()
        print(model(torch.randn(2, 2)))
        """,
        """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(2, 2).to(device)
        optimizer = torch.optim.Adam(model.parameters())
        def train(model, data):
            for x in data:
                model(x).sum().backward()
                optimizer.step()
        train(model, [torch.randn(2, 2, device=device)])
        model.cpu()
        train(model, [torch.randn(2, 2)])
        """,
    ),
    "a decorator runs the tests of a class on the CPU alone": (
        """
        from library import Case, expand
        @expand(device="cpu")
        class TestNet(Case):
            def test_output(self):
                model = nn.Linear(3, 3).to(self.device)
                model(torch.zeros(3))
        """,
        """
        from library import Case, expand
        @expand(device="cuda")
        class TestNet(Case):
            def test_output(self):
                model = nn.Linear(3, 3).to(self.device)
                model(torch.zeros(3))
        """,
    ),
    "a program of compiled kernels runs where they run": (
        """
        from exllamav2 import ExLlamaV2
        def weights(model):
            return model.weights.to("cuda:0")
        """,
        """
        from transformers import AutoModel
        def weights(model):
            return model.weights.to("cuda:0")
        """,
    ),
    "kernels that the program can do without are another matter": (
        """
        import triton
        def scores(x: torch.Tensor):
            return x.to("cuda:0")
        """,
        """
        try:
            import triton
        except ImportError:
            triton = None
        def scores(x: torch.Tensor):
            return x.to("cuda:0")
        """,
    ),
    "a device that is only asked about": (
        """
        def usage():
            return torch.cuda.max_memory_allocated("cuda:0")
        """,
        """
        def usage():
            return torch.zeros(3, device="cuda:0")
        """,
    ),
    "weights that somebody put on the web": (
        """
        from torch.hub import load_state_dict_from_url
        URLS = {"net-a": "https://example.org/net-a-5a0c40be.pth"}
        def net_a(model):
            model.load_state_dict(load_state_dict_from_url(URLS["net-a"]))
        """,
        """
        from torch.hub import load_state_dict_from_url
        def load_net(model, url):
            model.load_state_dict(load_state_dict_from_url(url))
        """,
    ),
    "a file that was downloaded": (
        """
        from library import hf_hub_download
        def convert(model):
            path = hf_hub_download(repo_id="org/net", filename="pytorch_model.bin")
            model.load_state_dict(torch.load(path))
        """,
        """
        from library import newest
        def convert(model):
            path = newest(folder="org/net", filename="pytorch_model.bin")
            model.load_state_dict(torch.load(path))
        """,
    ),
    "a file that is downloaded by its address": (
        """
        from library import download
        download(url="https://example.org/models/net.pth")
        model = nn.Linear(2, 2)
        model.load_state_dict(torch.load("net.pth"))
        """,
        """
        from library import download
        download(url="https://example.org/models/data.pth")
        model = nn.Linear(2, 2)
        model.load_state_dict(torch.load("net.pth"))
        """,
    ),
    "what others have trained": (
        """
        def build(config, model):
            model.load_state_dict(torch.load(config.pretrained_weights))
        """,
        """
        def build(config, model):
            model.load_state_dict(torch.load(config.resumed_weights))
        """,
    ),
    "every process loads what it saved itself": (
        """
        def load(model, folder, rank):
            model.load_state_dict(torch.load(f"{folder}/model_{rank}.pt"))
        """,
        """
        def load(model, folder, step):
            model.load_state_dict(torch.load(f"{folder}/model_{step}.pt"))
        """,
    ),
    "a library whose programs set the default device": (
        """
        import pyro
        def diagonal(v: torch.Tensor):
            return v.unsqueeze(-1) * torch.eye(v.shape[-1])
        """,
        """
        from pyro.distributions import constraints
        def diagonal(v: torch.Tensor):
            return v.unsqueeze(-1) * torch.eye(v.shape[-1])
        """,
    ),
    "a helper is given a list of what was brought to the CPU": (
        """
        def _projection(matrices: list[torch.Tensor]):
            return torch.cat(matrices) @ torch.eye(3)
        def project(weights):
            return _projection([weight.detach().cpu() for weight in weights])
        """,
        """
        def _projection(matrices: list[torch.Tensor]):
            return torch.cat(matrices) @ torch.eye(3)
        def project(weights):
            return _projection([weight.detach() for weight in weights])
        """,
    ),
    "a flag that is handed on is still the same flag": (
        """
        class Core:
            def __init__(self, lengths, use_gpu=True):
                self.lengths, self.use_gpu = lengths, use_gpu
            def padded(self):
                if self.use_gpu:
                    return mask_of(self.lengths.cuda(), self.use_gpu)
                return mask_of(self.lengths, self.use_gpu)
        def mask_of(lengths, use_gpu=True):
            if use_gpu:
                return torch.arange(9).cuda() <= lengths.cuda()
            else:
                return torch.arange(9) <= lengths
        """,
        """
        class Core:
            def __init__(self, lengths, use_gpu=True):
                self.lengths, self.use_gpu = lengths, use_gpu
            def padded(self):
                if self.use_gpu:
                    return mask_of(self.lengths.cuda(), self.use_gpu)
                return mask_of(self.lengths, self.use_gpu)
        def mask_of(lengths, use_gpu=True):
            if not use_gpu:
                return torch.arange(9).cuda() <= lengths.cuda()
            else:
                return torch.arange(9) <= lengths
        """,
    ),
    "taken to the CPU by default, which no call does": (
        """
        class Spikes:
            def __init__(self, count):
                self.count = count
                self.times = self.Many.apply if count else self.First.apply
            def __call__(self, record: torch.Tensor):
                if self.count:
                    return self.times(record, self.count, record.device)
                return self.times(record, record.device)
            class Many(torch.autograd.Function):
                @staticmethod
                def forward(ctx, record, count, device="cpu"):
                    return record.transpose(0, -1) * torch.arange(0, record.size(0)).to(device)
            class First(torch.autograd.Function):
                @staticmethod
                def forward(ctx, record, device="cpu"):
                    return record
        """,
        """
        class Spikes:
            def __init__(self, count):
                self.count = count
                self.times = self.Many.apply if count else self.First.apply
            def __call__(self, record: torch.Tensor):
                if self.count:
                    return self.times(record, self.count, record.device)
                return self.times(record, record.device)
            class Many(torch.autograd.Function):
                @staticmethod
                def forward(ctx, record, count, device="cpu"):
                    return record.transpose(0, -1) * torch.arange(0, record.size(0)).cpu()
            class First(torch.autograd.Function):
                @staticmethod
                def forward(ctx, record, device="cpu"):
                    return record
        """,
    ),
    "a function that is only given a model on the CPU": (
        """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.LSTM(3, 3).to(device)
        def sample(model, start):
            given = torch.tensor([[1.0, 2.0, 3.0]])
            model.eval()
            return model(given)
        model.to("cpu")
        print(sample(model, "The"))
        """,
        """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.LSTM(3, 3).to(device)
        def sample(model, start):
            given = torch.tensor([[1.0, 2.0, 3.0]])
            model.eval()
            return model(given)
        print(sample(model, "The"))
        """,
    ),
    "weights that the documentation says where to get": (
        '''
        class Hubert(nn.Module):
            """checkpoint can be downloaded at https://example.org/fairseq/hubert"""
            def __init__(self, checkpoint_path, model):
                super().__init__()
                self.model = model
                self.model.load_state_dict(torch.load(checkpoint_path))
        ''',
        '''
        class Hubert(nn.Module):
            """checkpoint is what was saved by the trainer, see https://example.org/trainer"""
            def __init__(self, checkpoint_path, model):
                super().__init__()
                self.model = model
                self.model.load_state_dict(torch.load(checkpoint_path))
        ''',
    ),
    "a placeholder that was never filled": (
        """
        class Ensemble(nn.Module):
            def __init__(self):
                super().__init__()
                self.last: torch.Tensor = torch.empty(1)
            def forward(self, x: torch.Tensor):
                if not same(self.last, x):
                    print("other shapes")
                self.last = x
                return x
        def same(last: torch.Tensor, current: torch.Tensor):
            if last.shape != current.shape:
                return False
            return bool((last == current).all().item())
        """,
        """
        class Ensemble(nn.Module):
            def __init__(self):
                super().__init__()
                self.last: torch.Tensor = torch.ones(3)
            def forward(self, x: torch.Tensor):
                if not same(self.last, x):
                    print("other shapes")
                self.last = x
                return x
        def same(last: torch.Tensor, current: torch.Tensor):
            if last.shape != current.shape:
                return False
            return bool((last == current).all().item())
        """,
    ),
    "where a flag says that no accelerator is used": (
        """
        def mask_of(lengths: torch.Tensor, stride, use_gpu=True):
            if use_gpu:
                return lengths
            return torch.arange(stride) <= lengths
        """,
        """
        def mask_of(lengths: torch.Tensor, stride, use_mask=True):
            if use_mask:
                return lengths
            return torch.arange(stride) <= lengths
        """,
    ),
    "what a thing in a thing holds": (
        """
        class Updater:
            def __init__(self, searcher):
                self.searcher = searcher
            def update(self, lengths):
                ranker = self.searcher.ranker
                ranker.lengths = torch.cat((self.searcher.ranker.lengths, torch.tensor(lengths)))
        """,
        """
        def update(old: torch.Tensor, lengths):
            return torch.cat((old, torch.tensor(lengths)))
        """,
    ),
    "a distribution has no device": (
        """
        from torch.distributions import Normal
        def moments(density):
            return torch.zeros(3, 3, device=density._device)
        def compared():
            found = moments(Normal(torch.zeros(3), torch.ones(3)))
            return torch.eye(3) - found
        """,
        """
        def moments(density):
            return torch.zeros(3, 3, device=density._device)
        def compared(model):
            found = moments(model)
            return torch.eye(3) - found
        """,
    ),
    "a test tries what may bring its inputs together": (
        """
        import pytest
        from library import Loss
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def test_loss():
            loss_fn = Loss()
            loss_fn(torch.randn(8, 4, device=device), torch.randint(0, 3, (8,)))
        """,
        """
        from library import Loss
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def train():
            loss_fn = Loss()
            loss_fn(torch.randn(8, 4, device=device), torch.randint(0, 3, (8,)))
        """,
    ),
    "what stands for an empty list": (
        """
        def boxes_of(parts):
            if len(parts) == 0:
                return torch.empty(0)
            return torch.cat(parts)
        def points(parts, coordinates: torch.Tensor):
            classes = torch.cat(parts) if len(parts) else torch.zeros(0, 4)
            return boxes_of(parts) * coordinates + classes * coordinates
        """,
        """
        def boxes_of(parts):
            if len(parts) == 0:
                return torch.empty(1)
            return torch.cat(parts)
        def points(parts, coordinates: torch.Tensor):
            return boxes_of(parts) * coordinates
        """,
    ),
    "a path is looked for on the host": (
        """
        def viterbi_decode(scores: torch.Tensor, steps):
            return [int(scores[step].argmax()) for step in range(steps)], scores + torch.zeros(3)
        """,
        """
        def greedy_scores(scores: torch.Tensor, steps):
            return [int(scores[step].argmax()) for step in range(steps)], scores + torch.zeros(3)
        """,
    ),
    "a test speaks of a device that its machine lacks": (
        """
        import pytest
        def test_moved(things):
            new_device = torch.device(4)
            assert things.moved(new_device).device == new_device
        """,
        """
        import pytest
        def test_moved(things):
            moved = torch.zeros(3).to("cuda:4")
        """,
    ),
    "a parameter whose default is made on the CPU": (
        """
        def recalls(overlaps, thresholds=None):
            if thresholds is None:
                thresholds = torch.arange(0.5, 0.95, 0.05)
            return torch.zeros(9) >= thresholds.unsqueeze(0)
        """,
        """
        def recalls(overlaps, thresholds: torch.Tensor):
            return torch.zeros(9) >= thresholds.unsqueeze(0)
        """,
    ),
    "a program sets the default device before it calls its functions": (
        """
        def with_last(distances):
            return torch.cat([distances, torch.tensor([1e10]).expand(3, 1)], -1)
        def train():
            print(with_last(torch.ones(3, 2)))
        if __name__ == "__main__":
            torch.set_default_tensor_type("torch.cuda.FloatTensor")
            train()
        """,
        """
        def with_last(distances):
            return torch.cat([distances, torch.tensor([1e10]).expand(3, 1)], -1)
        def train():
            print(with_last(torch.ones(3, 2, device="cuda")))
        if __name__ == "__main__":
            train()
        """,
    ),
    "a module of a program that never speaks of devices reads its outputs": (
        """
        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.v = nn.Linear(3, 1)
            def advantage(self, s):
                return self.v(s).detach().numpy()
        def main():
            critic = Critic()
            print(critic.advantage(torch.ones(2, 3)))
        if __name__ == "__main__":
            main()
        """,
        """
        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.v = nn.Linear(3, 1)
            def advantage(self, s):
                return self.v(s).detach().numpy()
        """,
    ),
    "a file that is named as published weights are": (
        """
        WEIGHTS = "dpt_large-ade20k-b12dca68.pt"
        model = nn.Linear(2, 2)
        model.load_state_dict(torch.load(WEIGHTS))
        """,
        """
        WEIGHTS = "dpt_large-ade20k-best.pt"
        model = nn.Linear(2, 2)
        model.load_state_dict(torch.load(WEIGHTS))
        """,
    ),
}


def _codes(program: str) -> list[str]:
    found = findings(
        HEAD + textwrap.dedent(program), "program.py", Config(off_by_default=OFF_BY_DEFAULT - {"TDV105"})
    )
    return [finding.code for finding in found]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


def test_a_device_object_equals_no_string() -> None:
    """What such a test was meant to do is not what happens: the test is told, nothing that would follow from the meaning."""
    program = DEVICE + textwrap.dedent(
        """
        model, x = nn.Linear(2, 2).to(device), torch.randn(2, 2, device=device)
        if device == "cuda":
            x = x.cpu()
        model(x)
        """
    )
    assert _codes(program) == ["TDV012"]


def test_the_fix_asks_no_module_for_its_device() -> None:
    """A plain `nn.Module` has no `.device`, unless the program shows that this one does."""
    program = textwrap.dedent(
        """
        def scaled(model: nn.Module, n):
            scale = torch.zeros(n)
            for parameter in model.parameters():
                scale = scale * parameter
            return scale
        """
    )
    for text, target in (
        (program, "device=next(model.parameters()).device"),
        (program + "\ndef where(model):\n    return model.device\n", "device=model.device"),
    ):
        (finding,) = findings(HEAD + text, "program.py", Config())
        assert finding.fix is not None
        assert target in "".join(edit.content for edit in finding.fix.edits)


@pytest.mark.parametrize("depth", [1, MAX_CALL_DEPTH])
@pytest.mark.parametrize("moves", [True, False])
def test_a_method_that_is_not_followed_may_move_its_own_parameters(depth: int, moves: bool) -> None:
    """`self.weight.data = ...` in `forward`: seen where the call is followed, reckoned with where it is too deep to be."""
    program = DEVICE + textwrap.dedent(
        f"""
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 3))
            def forward(self, x):
                {"self.weight.data = self.weight.data.to(x.device)" if moves else "pass"}
                return x.sum()
        def call_0(loss, x):
            loss(x)
            return torch.matmul(x, loss.weight)
        """
    )
    for number in range(1, depth):
        program += f"def call_{number}(loss, x):\n    return call_{number - 1}(loss, x)\n"
    program += f"call_{depth - 1}(Loss(), torch.randn(3, 3, device=device))\n"
    assert bool(_codes(program)) == (not moves and depth == 1)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("data_transforms.py", 0),
        ("collator.py", 0),
        ("inputs.py", 0),
        ("transforms/functional.py", 0),
        ("tests/tasks/moons.py", 0),
        ("metrics.py", 1),
    ],
)
def test_files_that_prepare_data_work_on_the_host(tmp_path: Path, name: str, found: int) -> None:
    """Nobody moves anything to an accelerator before it was collated."""
    program = HEAD + textwrap.dedent(PAIRS["what was told where to be made"][1])
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(program, encoding="utf-8")
    assert len(findings(program, str(path), Config(), sources=DiskSources())) == found


@pytest.mark.parametrize(("package", "found"), [(True, 1), (False, 0)])
def test_a_file_of_one_program_that_never_speaks_of_devices(
    tmp_path: Path, package: bool, found: int
) -> None:
    """Beside a script such a function prepares something; in a package anyone may call it, with anything."""
    program = HEAD + "def shifted(x: torch.Tensor):\n    return x + torch.ones(3)\n"
    path = tmp_path / "helpers.py"
    path.write_text(program, encoding="utf-8")
    (tmp_path / "main.py").touch()
    if package:
        (tmp_path / "__init__.py").touch()
    assert len(findings(program, str(path), Config(), sources=DiskSources())) == found


@pytest.mark.parametrize(("folder", "found"), [("bench", 0), ("examples", 1)])
def test_a_benchmark_waits_for_the_accelerator_that_it_measures(
    tmp_path: Path, folder: str, found: int
) -> None:
    """Nobody runs it where there is none."""
    program = HEAD + 'def timed():\n    torch.zeros(3, device="cuda:0")\n    torch.cuda.synchronize()\n'
    path = tmp_path / folder / "kernels.py"
    path.parent.mkdir()
    path.write_text(program, encoding="utf-8")
    assert len(findings(program, str(path), Config(select=("TDV002",)), sources=DiskSources())) == found


def test_the_branch_that_does_not_register_is_reported() -> None:
    """Not the one that does, although it stands first."""
    program = HEAD + textwrap.dedent(
        """
        class Levels(nn.Module):
            def __init__(self, learned):
                super().__init__()
                values = [torch.arange(3), torch.arange(4)]
                if learned:
                    self.values = nn.ParameterList([nn.Parameter(value) for value in values])
                else:
                    self.values = values
            def forward(self, x: torch.Tensor):
                return [x - value for value in self.values]
        """
    )
    (finding,) = findings(program, "program.py", Config())
    assert (finding.code, program.splitlines()[finding.range.start.row - 1].strip()) == (
        "TDV006",
        "self.values = values",
    )


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(".cuda()", "", 0), ("", "model.cuda()", 0), ("", "model.cuda() if path else model", 1)],
)
def test_loaded_into_a_model_that_is_on_an_accelerator(before: str, after: str, found: int) -> None:
    """A machine without an accelerator would not have come so far, or does not go on."""
    program = HEAD + textwrap.dedent(
        f"""
        def restored(path):
            model = nn.Linear(2, 2){before}
            model.load_state_dict(torch.load(path + "/model.pt"))
            {after or "pass"}
        """
    )
    assert len(findings(program, "program.py", Config(select=("TDV009",)))) == found


@pytest.mark.parametrize(("script", "found"), [("AddNode()\n", 0), ('AddNode().to("cuda")\n', 1)])
def test_a_module_of_a_program_that_never_speaks_of_devices(tmp_path: Path, script: str, found: int) -> None:
    """It is on an accelerator only if the script that builds it takes it there."""
    program = HEAD + textwrap.dedent(
        """
        class AddNode(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(2, 2)
            def forward(self, kind):
                return self.embed(torch.LongTensor([kind]))
        """
    )
    path = tmp_path / "model.py"
    path.write_text(program, encoding="utf-8")
    (tmp_path / "main.py").write_text("from model import AddNode\n" + script, encoding="utf-8")
    assert len(findings(program, str(path), Config(), sources=DiskSources())) == found
