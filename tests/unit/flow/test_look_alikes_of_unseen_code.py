"""Pairs of look-alikes from repositories that no study had looked at before: what was reported there and is right, beside what is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
"""
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'

PAIRS: dict[str, tuple[str, str]] = {
    "arguments are arrays together or tensors together": (
        """
        def difference(predicted, true):
            if isinstance(true, np.ndarray):
                true = torch.from_numpy(true)
            if isinstance(predicted, np.ndarray):
                predicted = torch.from_numpy(predicted)
            return predicted[:, torch.argmax(true, dim=1)]
        def loss(predict, labels, prepared):
            true = torch.ones(3, 2, device=device) if prepared else labels
            return difference(predict(labels), true)
        """,
        """
        def difference(predicted, true):
            if isinstance(true, np.ndarray):
                true = torch.from_numpy(true)
            predicted = torch.from_numpy(predicted)
            return predicted[:, torch.argmax(true, dim=1)]
        def loss(predict, labels, prepared):
            true = torch.ones(3, 2, device=device) if prepared else labels
            return difference(predict(labels), true)
        """,
    ),
    "what is indexed and its index are there under one condition": (
        """
        def picked(scores):
            if isinstance(scores, np.ndarray):
                scores = torch.from_numpy(scores)
            order = torch.argsort(scores, dim=1)
            rows = []
            for i in range(3):
                rows.append(order[i, -1])
            return scores[:, torch.stack(rows)]
        """,
        """
        def picked(scores: torch.Tensor, table):
            if isinstance(table, np.ndarray):
                table = torch.from_numpy(table)
            order = torch.argsort(scores, dim=1)
            return table[:, order]
        """,
    ),
    "a test of the type, of what may be one thing or the other": (
        """
        def reduced(labels):
            if isinstance(labels, torch.Tensor):
                return labels.float()
            return np.floor(labels)
        def prepared(labels, given):
            return reduced(torch.ones(3, device=device) if given else labels)
        """,
        """
        def reduced(labels):
            return np.floor(labels)
        def prepared(labels, given):
            return reduced(torch.ones(3, device=device) if given else labels)
        """,
    ),
    "a function inside of another has no other callers": (
        """
        def band(frequency, width):
            taps = torch.arange(width)
            def sinc(x):
                def quotient(x):
                    return torch.sin(x) / x
                return torch.cat([quotient(x[:5]), torch.ones(1), quotient(x[6:])])
            return sinc(3 * taps)
        """,
        """
        def band(frequency, width):
            taps = frequency.unsqueeze(0)
            def sinc(x):
                def quotient(x):
                    return torch.sin(x) / x
                return torch.cat([quotient(x[:5]), torch.ones(1), quotient(x[6:])])
            return sinc(3 * taps)
        """,
    ),
    "a picture, as an array or as a tensor": (
        """
        def resized(image, scale):
            if type(image).__module__ == np.__name__:
                if image.ndim == 2:
                    image = image[:, :, None]
                image = torch.from_numpy(image.transpose(2, 0, 1)).float()
            channels, height, width = image.size()
            patch = image[:, :3, :]
            return patch.index_select(1, torch.arange(patch.size(1) - 1, -1, -1))
        """,
        """
        def resized(image, scale):
            channels, height, width = image.size()
            patch = image[:, :3, :]
            return patch.index_select(1, torch.arange(patch.size(1) - 1, -1, -1))
        """,
    ),
    "the numbers that a converted tensor is unpacked to": (
        """
        def clipped(box: torch.Tensor, found):
            [left, top, right, bottom] = box.type(torch.IntTensor)
            return [torch.clamp_max(one[2] - left, (right - left).to(device)) for one in found]
        """,
        """
        def clipped(box: torch.Tensor, found):
            corner = box.type(torch.IntTensor)
            return [torch.clamp_max(one[2] - corner, torch.ones(2, device=device)) for one in found]
        """,
    ),
    "a loader of one data set or another": (
        """
        class Kept(Dataset):
            def __init__(self, samples):
                self.samples = samples.to(device)
            def __getitem__(self, index):
                return self.samples[index]
        class Scaled(Kept):
            def __getitem__(self, index):
                return self.samples[index] * 2
        def total(samples, scaled):
            weight = torch.ones(3, device=device)
            return [batch * weight for batch in DataLoader(Scaled(samples) if scaled else Kept(samples))]
        """,
        """
        class Kept(Dataset):
            def __init__(self, samples):
                self.samples = torch.ones(5, 3)
            def __getitem__(self, index):
                return self.samples[index]
        class Scaled(Kept):
            def __getitem__(self, index):
                return self.samples[index] * 2
        def total(samples, scaled):
            weight = torch.ones(3, device=device)
            return [batch * weight for batch in DataLoader(Scaled(samples) if scaled else Kept(samples))]
        """,
    ),
    "the next batch of a loop is not where the one before was brought": (
        """
        def evaluated(model, loader):
            model = model.to(device)
            for batch in loader:
                model(batch)
                batch.to("cpu")
        """,
        """
        def evaluated(model, loader):
            model = model.to(device)
            for batch in loader:
                batch.to("cpu")
                model(batch)
        """,
    ),
    "a module that is given its only parameter": (
        """
        x = torch.rand(1, 4, device=device)
        layer = nn.Linear(4, 4, bias=False)
        layer.weight = nn.Parameter(torch.eye(4, device=device))
        layer(x)
        """,
        """
        x = torch.rand(1, 4, device=device)
        layer = nn.Linear(4, 4, bias=False)
        layer.weight = nn.Parameter(torch.eye(4))
        layer(x)
        """,
    ),
    "an option that names published weights by default": (
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--model_path", default="experiments/pretrained_models/SRx4.pth")
        args = parser.parse_args()
        model = nn.Linear(2, 2)
        model.load_state_dict(torch.load(args.model_path)["params"])
        """,
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--model_path", default="experiments/net_latest.pth")
        args = parser.parse_args()
        model = nn.Linear(2, 2)
        model.load_state_dict(torch.load(args.model_path)["params"])
        """,
    ),
    "an engine that only runs on an accelerator": (
        """
        def engine(trt_file):
            from torch2trt import TRTModule
            model = TRTModule()
            model.load_state_dict(torch.load(trt_file))
            return model
        """,
        """
        def engine(trt_file):
            from mine import TRTModule
            model = TRTModule()
            model.load_state_dict(torch.load(trt_file))
            return model
        """,
    ),
    "the first device, where an engine was imported": (
        """
        def binding(engine, size, place):
            if engine:
                import tensorrt as trt
                place = torch.device("cuda:0")
            return torch.zeros(size, device=place)
        """,
        """
        def binding(engine, size, place):
            if engine:
                place = torch.device("cuda:0")
            return torch.zeros(size, device=place)
        """,
    ),
    "the first of the devices that a class has counted": (
        """
        class Pipeline:
            def __init__(self):
                self.devices = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
            def placed(self, parameter):
                return parameter.to("cuda:0")
        """,
        """
        class Pipeline:
            def __init__(self):
                self.devices = []
            def placed(self, parameter):
                return parameter.to("cuda:0")
        """,
    ),
    "a type without an index, and then the device": (
        """
        def smoothed(x: torch.Tensor):
            kernel = torch.ones(1, 1, 3).type(x.type()) / 3
            kernel = kernel.to(x.device)
            return nn.functional.conv1d(x, kernel)
        """,
        """
        def smoothed(x: torch.Tensor):
            kernel = torch.ones(1, 1, 3).type(x.type()) / 3
            return nn.functional.conv1d(x, kernel)
        """,
    ),
    "what a caller gives in place of a parameter": (
        """
        class Weighted(nn.Module):
            def __init__(self, n: int, weights=None):
                super().__init__()
                self.weights = weights if weights is not None else nn.Parameter(torch.ones(n))
            def forward(self, layers: torch.Tensor):
                return (self.weights * layers).sum(dim=0)
        """,
        """
        class Weighted(nn.Module):
            def __init__(self, n: int, weights=None):
                super().__init__()
                self.weights = weights if weights is not None else torch.ones(n)
            def forward(self, layers: torch.Tensor):
                return (self.weights * layers).sum(dim=0)
        """,
    ),
    "numbers are loaded, on no device": (
        """
        class Scheduler:
            def load(self, path, end_of_epoch=False, device=None):
                data = torch.load(path)
                self.steps = data["steps"]
        """,
        """
        class Scheduler:
            def load(self, path, end_of_epoch=False, device=None):
                state = torch.load(path)
                self.optimizer.load_state_dict(state["optimizer"])
        """,
    ),
    "the same thing is compared with the same number": (
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--cuda", action="store_true")
        args = parser.parse_args()
        net = nn.Linear(3, 3)
        x = torch.ones(1, 3)
        if args.cuda > 0:
            x = x.to(device)
            net.to(device)
        out = net(x)
        if 0 < args.cuda:
            out = out * torch.ones(3, device=device)
        else:
            out = out * torch.ones(3)
        """,
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--cuda", action="store_true")
        args = parser.parse_args()
        net = nn.Linear(3, 3)
        x = torch.ones(1, 3)
        if args.cuda > 0:
            x = x.to(device)
            net.to(device)
        out = net(x)
        if 1 < args.cuda:
            out = out * torch.ones(3, device=device)
        else:
            out = out * torch.ones(3)
        """,
    ),
    "what is written to through an index may be elsewhere": (
        """
        def directions(angles: torch.Tensor):
            found = torch.zeros(5, dtype=torch.long)
            found[angles > 0] = 1
            return found.to(angles.device)
        """,
        """
        def directions(angles: torch.Tensor):
            found = torch.zeros(5, dtype=torch.long)
            return found[angles > 0].to(angles.device)
        """,
    ),
    "a function inside of another runs while the model is where it is needed": (
        """
        def sampled(sampler, model, shape, x):
            model.to(device)
            noise = {"noise": torch.zeros(shape, device=device)}
            def denoiser(x):
                return model.generate(model.inner, x, **noise)
            result = sampler(denoiser, x)
            model.cpu()
            return result
        """,
        """
        def sampled(sampler, model, shape, x):
            model.cpu()
            noise = {"noise": torch.zeros(shape, device=device)}
            def denoiser(x):
                return model.generate(model.inner, x, **noise)
            result = sampler(denoiser, x)
            return result
        """,
    ),
    "a model that was put aside is asked for something": (
        """
        def run(prior, tokens):
            prior.to(device)
            tokens = prior(torch.zeros(4, 2, device=device))
            prior.cpu()
            return prior.encode(torch.zeros(4, 2, device=device))
        """,
        """
        def run(prior, tokens):
            prior.cpu()
            return prior.encode(torch.zeros(4, 2, device=device))
        """,
    ),
    "a method is set up with another default": (
        """
        class Layers:
            def setup(self, name):
                self.prepare(name)
            def run(self):
                layer = nn.Linear(2, 2)
                torch.set_default_tensor_type(torch.FloatTensor)
                lengths = torch.tensor([1])
                torch.set_default_tensor_type(torch.cuda.FloatTensor)
                return layer(torch.zeros(3, 2))
        """,
        """
        class Layers:
            def setup(self, name):
                self.prepare(name)
            def run(self):
                torch.set_default_tensor_type(torch.FloatTensor)
                layer = nn.Linear(2, 2)
                torch.set_default_tensor_type(torch.cuda.FloatTensor)
                return layer(torch.zeros(3, 2))
        """,
    ),
    "the object's own calls hand over what is on the host": (
        """
        class Masked(nn.Module):
            def forward(self, ids):
                return self.masked(ids, torch.full(ids.shape, 0.15))
            def masked(self, ids, probability: torch.Tensor):
                chosen = torch.bernoulli(probability).bool()
                return torch.bernoulli(torch.full(ids.shape, 0.8)).bool() & chosen
        """,
        """
        class Masked(nn.Module):
            def forward(self, ids):
                return self.masked(ids, ids.float())
            def masked(self, ids, probability: torch.Tensor):
                chosen = torch.bernoulli(probability).bool()
                return torch.bernoulli(torch.full(ids.shape, 0.8)).bool() & chosen
        """,
    ),
    "a step of what builds the object": (
        """
        class Restored(nn.Module):
            def __init__(self, path):
                super().__init__()
                self.layer = nn.Linear(2, 2)
                self.stretch(path)
            def stretch(self, path):
                for name, parameter in self.named_parameters():
                    parameter.data /= torch.ones(parameter.shape[0], 1)
        """,
        """
        class Restored(nn.Module):
            def __init__(self, path):
                super().__init__()
                self.layer = nn.Linear(2, 2)
            def forward(self, x):
                self.stretch(x)
                return self.layer(x)
            def stretch(self, path):
                for name, parameter in self.named_parameters():
                    parameter.data /= torch.ones(parameter.shape[0], 1)
        """,
    ),
    "a transfer is shown, and then made": (
        """
        x = torch.ones(3)
        x.to(device)
        print(x.is_cuda)
        x = x.to(device)
        """,
        """
        x = torch.ones(3)
        x.to(device)
        print(x.is_cuda)
        x = x + torch.ones(3, device=device)
        """,
    ),
    "a device is shown and not used": (
        """
        torch.device("cuda:0")
        print(device)
        """,
        """
        there = torch.device("cuda:0")
        print(torch.ones(3, device=there))
        """,
    ),
    "NumPy is asked whether a tensor is a number": (
        """
        def as_array(x):
            if np.isscalar(x):
                return np.array([x])
            return x.cpu().numpy()
        as_array(torch.ones(3, device=device))
        """,
        """
        def as_array(x):
            if np.ndim(x) == 0:
                return np.array([x])
            return x.cpu().numpy()
        as_array(torch.ones(3, device=device))
        """,
    ),
    "which boxes are kept is an index": (
        """
        def nms(boxes, scores, top_k=200):
            '''Find the distances.

            Args:
                boxes: (tensor) The location preds
                scores: (tensor) The class predscores
            '''
            keep = torch.Tensor(scores.size(0)).fill_(0).long()
            if boxes.numel() == 0:
                return keep
            v, idx = scores.sort(0)  # sort in ascending order
            return keep
        """,
        """
        def distances(boxes, scores, top_k=200):
            '''Find the distances.

            Args:
                boxes: (tensor) The location preds
                scores: (tensor) The class predscores
            '''
            keep = torch.Tensor(scores.size(0)).fill_(0).long()
            if boxes.numel() == 0:
                return keep
            v, idx = scores.sort(0)  # sort in ascending order
            return keep
        """,
    ),
    "an option that is said to name what others have trained": (
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--folder", default="weights/")
        parser.add_argument("--base", default="vgg.pth", help="Pretrained base model")
        args = parser.parse_args()
        def build(net):
            net.load_state_dict(torch.load(args.folder + args.base))
            return net.to(device)
        """,
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--folder", default="weights/")
        parser.add_argument("--base", default="vgg.pth", help="Model to go on with")
        args = parser.parse_args()
        def build(net):
            net.load_state_dict(torch.load(args.folder + args.base))
            return net.to(device)
        """,
    ),
    "a parameter is an address by default": (
        """
        WEIGHTS = "https://example.org/beats.pt?sv=2020"
        class Encoder(nn.Module):
            def __init__(self, checkpoint_path=WEIGHTS):
                super().__init__()
                self.layer = nn.Linear(2, 2)
                self.layer.load_state_dict(torch.load(checkpoint_path)["model"])
        net = Encoder().to(device)
        """,
        """
        WEIGHTS = "out/beats.pt"
        class Encoder(nn.Module):
            def __init__(self, checkpoint_path=WEIGHTS):
                super().__init__()
                self.layer = nn.Linear(2, 2)
                self.layer.load_state_dict(torch.load(checkpoint_path)["model"])
        net = Encoder().to(device)
        """,
    ),
    "a stand-in for what another runtime computes": (
        """
        class Suppression(torch.autograd.Function):
            @staticmethod
            def forward(ctx, boxes: torch.Tensor):
                size, count, width = boxes.shape
                return torch.randn(size, 100, 4)
            @staticmethod
            def symbolic(g, boxes):
                return g.op("TRT::EfficientNMS_TRT", boxes)
        """,
        """
        class Suppression(torch.autograd.Function):
            @staticmethod
            def forward(ctx, boxes: torch.Tensor):
                size, count, width = boxes.shape
                return torch.randn(size, 100, 4)
            @staticmethod
            def backward(ctx, gradient):
                return gradient
        """,
    ),
    "a file that was fetched": (
        """
        def restore(net, where):
            file = download_cached_file(where)
            net.load_state_dict(torch.load(file)["model"])
            return net.to(device)
        """,
        """
        def restore(net, where):
            file = newest_file(where)
            net.load_state_dict(torch.load(file)["model"])
            return net.to(device)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    config = Config(off_by_default=frozenset({"TDV106", "TDV107", "TDV109"}))
    return [finding.code for finding in findings(program, "program.py", config)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(HEAD + DEVICE + textwrap.dedent(right)) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(HEAD + DEVICE + textwrap.dedent(wrong)) != []


def test_a_class_that_counts_the_devices_may_load_what_was_saved_on_one() -> None:
    """There is none where it is loaded, perhaps: to count them is no test."""
    program = """
        class Trainer:
            def restore(self, model, path):
                model.load_state_dict(torch.load(path + "/model.pt"))
            def build(self):
                return 0 if torch.cuda.device_count() > 0 else -1
        """
    assert _codes(HEAD + textwrap.dedent(program)) == ["TDV009"]


@pytest.mark.parametrize(("moved", "found"), [("", []), ("net.to(device)", ["TDV009"])])
def test_what_a_program_that_stays_on_the_host_saves(moved: str, found: list[str]) -> None:
    """It was on the CPU when it was saved, whoever loads it."""
    program = f"""
        import os
        net = nn.Linear(2, 2)
        {moved}
        def restore():
            net.load_state_dict(torch.load("models/net.pt"))
        def keep():
            torch.save(net.state_dict(), "models/net.pt")
        """
    assert _codes(HEAD + (DEVICE if moved else "") + textwrap.dedent(program)) == found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("self.ranks[i * size : (i + 1) * size] = self.model(batch)", []),
        ("self.ranks[batch] = self.model(batch)", ["TDV016"]),
        ("self.best[i] = (self.ranks - self.model(batch)).min()", ["TDV016"]),
    ],
)
def test_what_is_only_copied_into_may_be_on_another_gpu(use: str, found: list[str]) -> None:
    program = f"""
        class Evaluator:
            def __init__(self, model, loader, n):
                self.model, self.loader = model, loader
                self.ranks = torch.empty(n)
                self.best = torch.zeros(n)
            def evaluate(self, size):
                if next(self.model.parameters()).is_cuda:
                    self.ranks = self.ranks.cuda()
                for i, batch in enumerate(self.loader):
                    {use}
                self.ranks = self.ranks.cpu()
        """
    assert _codes(HEAD + textwrap.dedent(program)) == found


@pytest.mark.parametrize(("asked", "found"), [("!=", []), ("==", ["TDV010"])])
def test_a_device_that_one_way_replaces_is_what_it_was_on_the_other(asked: str, found: list[str]) -> None:
    """`self.device` is set on the way out of memory; what is read depends on the same way."""
    program = f"""
        class Filter:
            def __init__(self, device):
                self.device = device
            def move(self, x):
                return x.to(self.device) * 2
            def run(self, x):
                try:
                    y = self.move(x)
                except RuntimeError as error:
                    if "out of memory" not in str(error):
                        raise
                    self.device = torch.device("cpu")
                    y = self.move(x)
                if self.device {asked} torch.device("cpu"):
                    y = y.cpu()
                return y.numpy()
        def read(x, small, target):
            if small:
                target = torch.device("cpu")
            y = x.to(target)
            if target {asked} torch.device("cpu"):
                y = y.cpu()
            return y.numpy()
        Filter(device).run(torch.ones(3)), read(torch.ones(3), os.environ, device)
        """
    assert sorted(set(_codes(HEAD + DEVICE + textwrap.dedent(program)))) == found


@pytest.mark.parametrize(
    ("made", "found"), [("torch.randperm(x.shape[0])", []), ("torch.rand(x.shape[0])", ["TDV005"])]
)
def test_a_permutation_that_a_model_is_given_is_an_index(made: str, found: list[str]) -> None:
    program = f"""
        class Mixed(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.fc = nn.Linear(n, n)
            def forward(self, backbone, x, y):
                mixed = {made}
                return self.fc(backbone(x, mixed)), y
        """
    assert _codes(HEAD + textwrap.dedent(program)) == found


@pytest.mark.parametrize(("entry", "found"), [("['meta']['scale']", []), ("['scale']", ["TDV010"])])
def test_what_lies_deep_in_a_batch_may_have_stayed_where_it_was(entry: str, found: list[str]) -> None:
    program = f"""
        def show(batch, output):
            boxes = output.detach().cpu().numpy()
            return boxes * batch{entry}.detach().numpy()
        """
    codes = [
        one.code
        for one in findings(
            HEAD + textwrap.dedent(program),
            "program.py",
            Config(off_by_default=frozenset({"TDV103", "TDV108"})),
        )
    ]
    assert codes == found
