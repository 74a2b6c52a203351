"""Pairs of look-alikes from tutorials, notebooks and hobby projects.

Options of the command line, runs that train and test, programs for one GPU, helpers of data sets.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = """\
import argparse

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
"""
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'

OPTION = """
        if __name__ == "__main__":
            parser = argparse.ArgumentParser()
            parser.add_argument("--device", default="cuda:0", help="0 or 0,1 or cpu")
            main(parser.parse_args())
"""

SCALED = """
        import pandas as pd
        class Scaler:
            def fit(self, data):
                self.mean, self.std = data.mean(0), data.std(0)
            def transform(self, data):
                mean = torch.from_numpy(self.mean).to(data.device) if torch.is_tensor(data) else self.mean
                std = torch.from_numpy(self.std).to(data.device) if torch.is_tensor(data) else self.std
                return (data - mean) / std
        class Rows(torch.utils.data.Dataset):
            def __init__(self, path):
                scaler = Scaler()
                raw = RAW
                scaler.fit(raw)
                self.data = scaler.transform(raw)
            def __getitem__(self, i):
                return self.data[i:i + 4]
        class Exp:
            def __init__(self, device):
                self.device = device
            def batch(self, y):
                return torch.cat([y, torch.zeros([y.shape[0], 3, 2])], 1).to(self.device)
            def train(self):
                for y in torch.utils.data.DataLoader(Rows("rows.csv"), 4):
                    self.batch(y)
        Exp(torch.device("cuda" if torch.cuda.is_available() else "cpu")).train()
        """
"""What scales arrays and tensors scales one of the two."""

PAIRS: dict[str, tuple[str, str]] = {
    "a scaler for arrays and tensors that is given an array": (
        SCALED.replace("RAW", "np.cumsum(np.random.randn(60, 2), 0).astype(np.float32)"),
        SCALED.replace("RAW", "torch.randn(60, 2, device='cuda')"),
    ),
    "a scaler for arrays and tensors that is given what another library has read": (
        SCALED.replace("RAW", "pd.read_csv(path).values"),
        SCALED.replace("RAW", "torch.from_numpy(pd.read_csv(path).values).cuda()"),
    ),
    "a data set keeps what it loads as its data": (
        """
        class Digits(torch.utils.data.Dataset):
            def __init__(self, path, gpu):
                self.device = "cuda" if gpu else "cpu"
                self.data, self.labels = torch.load(path)
            def __getitem__(self, index):
                return self.data[index].to(self.device), self.labels[index]
        """,
        """
        class Digits(nn.Module):
            def __init__(self, path, gpu):
                super().__init__()
                self.device = "cuda" if gpu else "cpu"
                self.layer = nn.Linear(2, 2)
                self.layer.weight.data = torch.load(path)
            def forward(self, x):
                return self.layer(x.to(self.device))
        """,
    ),
    "features are counted while the model is built, which moves itself at the end": (
        """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3)
                self.head = nn.Linear(self.count(), 10)
                self.to(device)

            def count(self):
                return self.conv(torch.zeros(1, 1, 8, 8)).numel()

            def forward(self, x):
                return self.head(self.conv(x).flatten(1))

        print(Net()(torch.zeros(1, 1, 8, 8, device=device)))
        """,
        """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3)
                self.head = nn.Linear(144, 10)
                self.to(device)

            def count(self):
                return self.conv(torch.zeros(1, 1, 8, 8)).numel()

            def forward(self, x):
                return self.head(self.conv(x).flatten(1))

        print(Net()(torch.zeros(1, 1, 8, 8, device=device)))
        """,
    ),
    "another function asks before it takes the option": (
        """
        def main(args):
            device = torch.device(args.device if torch.cuda.is_available() else "cpu")
            print(torch.ones(3, device=device))
        """
        + OPTION,
        """
        def main(args):
            device = torch.device(args.device)
            print(torch.ones(3, device=device))
        """
        + OPTION,
    ),
    "another function asks about the option, and takes it where there is one": (
        """
        def main(args):
            if "cuda" in args.device and not torch.cuda.is_available():
                device = torch.device("cpu")
            else:
                device = torch.device(args.device)
            print(torch.ones(3, device=device))
        """
        + OPTION,
        """
        def main(args):
            if torch.cuda.is_available():
                print("there is one")
            device = torch.device(args.device)
            print(torch.ones(3, device=device))
        """
        + OPTION,
    ),
    "the option is set anew where there is none": (
        """
        def main(args):
            if not torch.cuda.is_available():
                args.device = "cpu"
            print(torch.ones(3, device=args.device))
        """
        + OPTION,
        """
        def main(args):
            if not torch.cuda.is_available():
                args.workers = 0
            print(torch.ones(3, device=args.device))
        """
        + OPTION,
    ),
    "another function insists on a GPU": (
        """
        def main(args):
            assert torch.cuda.is_available(), "only on a GPU"
            print(torch.ones(3, device=args.device))
        """
        + OPTION,
        """
        def main(args):
            assert args.device, "which?"
            print(torch.ones(3, device=args.device))
        """
        + OPTION,
    ),
    "an option that is never read": (
        """
        def main(args):
            print(torch.ones(3, device=device))
        """
        + DEVICE
        + OPTION,
        """
        def main(args):
            print(torch.ones(3, device=args.device))
        """
        + OPTION,
    ),
    "tested after it was trained": (
        """
        def train(args):
            torch.save(nn.Linear(3, 3).to("cuda" if args.gpu else "cpu").state_dict(), args.checkpoint)
        def test(args):
            model = nn.Linear(3, 3)
            model.load_state_dict(torch.load(args.checkpoint))
            return model.to("cuda" if args.gpu else "cpu")
        if __name__ == "__main__":
            args = options()
            train(args)
            print("testing")
            test(args)
        """,
        """
        def train(args):
            torch.save(nn.Linear(3, 3).to("cuda" if args.gpu else "cpu").state_dict(), args.checkpoint)
        def test(args):
            model = nn.Linear(3, 3)
            model.load_state_dict(torch.load(args.checkpoint))
            return model.to("cuda" if args.gpu else "cpu")
        if __name__ == "__main__":
            args = options()
            if args.train:
                train(args)
            print("testing")
            test(args)
        """,
    ),
    "a script that goes on with a GPU": (
        """
        model = torch.load("last_model.pt")
        for data in loader:
            print(model(data.float().cuda()))
        """,
        """
        model = torch.load("last_model.pt")
        for data in loader:
            print(model(data.float().cuda() if torch.cuda.is_available() else data.float()))
        """,
    ),
    "whose only caller has put the model on a GPU": (
        """
        def resume(model, path):
            model.load_state_dict(torch.load(path)["model"])
        def main(path):
            device = "cuda"
            model = build().to(device=device)
            resume(model, path)
        """,
        """
        def resume(model, path):
            model.load_state_dict(torch.load(path)["model"])
        def main(path):
            device = "cuda" if torch.cuda.is_available() else "cpu"
            model = build().to(device=device)
            resume(model, path)
        """,
    ),
    "a script that wants to know what GPU there is": (
        """
        def main(args):
            model = nn.Linear(3, 3)
            model.load_state_dict(torch.load(args.checkpoint)["model"])
            model.to(args.device)
        if __name__ == "__main__":
            args = options()
            print(torch.cuda.get_device_name())
            main(args)
        """,
        """
        def main(args):
            model = nn.Linear(3, 3)
            model.load_state_dict(torch.load(args.checkpoint)["model"])
            model.to(args.device)
        if __name__ == "__main__":
            args = options()
            print(torch.cuda.device_count())
            main(args)
        """,
    ),
    "the state of a scheduler": (
        """
        def resume(folder, scheduler):
            scheduler.load_state_dict(torch.load(folder + "/scheduler.pt"))
        """
        + DEVICE,
        """
        def resume(folder, optimizer):
            optimizer.load_state_dict(torch.load(folder + "/optimizer.pt"))
        """
        + DEVICE,
    ),
    "weights that a network is to start from": (
        """
        class Features(nn.Module):
            def __init__(self, weights_path=None):
                super().__init__()
                self.layer = nn.Linear(3, 3)
                if weights_path is not None:
                    self.load_state_dict(torch.load(weights_path))
        """,
        """
        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
            def resume(self, weights_path=None):
                if weights_path is not None:
                    self.load_state_dict(torch.load(weights_path))
        """,
    ),
    "a file that says that it comes before": (
        """
        def main():
            net = nn.Linear(3, 3)
            net.load_state_dict(torch.load("./resnet34-pre.pth"), strict=False)
        """
        + DEVICE,
        """
        def main():
            net = nn.Linear(3, 3)
            net.load_state_dict(torch.load("./resnet34-last.pth"), strict=False)
        """
        + DEVICE,
    ),
    "a setting that a function goes on from": (
        """
        checkpoint = None  # path, None if none
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def main():
            global checkpoint
            if checkpoint is None:
                model = nn.Linear(3, 3)
            else:
                checkpoint = torch.load(checkpoint, map_location=device)
                model = checkpoint["model"]
            model = model.to(device)
        """,
        """
        checkpoint = None  # path, None if none
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def main():
            global checkpoint
            if checkpoint is None:
                model = nn.Linear(3, 3)
            else:
                checkpoint = torch.load(checkpoint)
                model = checkpoint["model"]
            model = model.to(device)
        """,
    ),
    "a file of others, under a name at the top": (
        """
        WEIGHTS = "./resnet34-pre.pth"
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def main():
            nn.Linear(3, 3).to(device).load_state_dict(torch.load(WEIGHTS), strict=False)
        """,
        """
        WEIGHTS = "./resnet34-pre/last.pth"
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def main():
            nn.Linear(3, 3).to(device).load_state_dict(torch.load(WEIGHTS), strict=False)
        """,
    ),
    "a program that only changes types": (
        """
        class Rotary(nn.Module):
            def __init__(self):
                super().__init__()
                self.frequencies = torch.arange(0, 8, 2)
            def forward(self, x, positions: torch.Tensor):
                return (self.frequencies * positions[:, None]).cos().to(dtype=x.dtype)
        if __name__ == "__main__":
            print(Rotary()(torch.ones(3, 8), torch.arange(3)))
        """,
        """
        class Rotary(nn.Module):
            def __init__(self):
                super().__init__()
                self.frequencies = torch.arange(0, 8, 2)
            def forward(self, x, positions: torch.Tensor):
                return (self.frequencies * positions[:, None]).cos().to(x)
        if __name__ == "__main__":
            print(Rotary()(torch.ones(3, 8), torch.arange(3)))
        """,
    ),
    "an index that was to be moved": (
        """
        class Mixing:
            def begin(self, x):
                self.order = torch.randperm(4)
                self.order.to("cuda")
                return x.cuda()[self.order, :2]
            def end(self, loss):
                return loss.cuda()[self.order]
        """,
        """
        class Mixing:
            def begin(self, x):
                self.order = torch.randperm(4)
                self.order.to("cuda")
                return x.cuda()[self.order, :2]
            def end(self, loss):
                return loss.cuda() + self.order
        """,
    ),
    "inputs that a model scatters by itself": (
        """
        def train(train_loader, model, criterion, meter):
            model.train()
            for i, (input, target) in enumerate(train_loader):
                target = target.cuda()
                input_var = torch.autograd.Variable(input)
                target_var = torch.autograd.Variable(target)
                output = model(input_var)
                criterion(output, target_var).backward()
                meter.update(input.size(0))
        """,
        """
        def train(train_loader, model, criterion, meter):
            model.train().cuda()
            for i, (input, target) in enumerate(train_loader):
                target = target.cuda()
                input_var = torch.autograd.Variable(input)
                target_var = torch.autograd.Variable(target)
                output = model(input_var)
                criterion(output, target_var).backward()
                meter.update(input.size(0))
        """,
    ),
    "a part of a network that is loaded is no start": (
        """
        class Whole(nn.Module):
            def __init__(self, generator_checkpoint=None):
                super().__init__()
                if generator_checkpoint:
                    self.generator = torch.load(generator_checkpoint, map_location="cpu")
        """,
        """
        class Whole(nn.Module):
            def __init__(self, generator_checkpoint=None):
                super().__init__()
                if generator_checkpoint:
                    self.generator = torch.load(generator_checkpoint)
        """,
    ),
    "a mask that is only a hint": (
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            def forward(self, x):
                mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
                return self.attention(x, x, x, need_weights=False, attn_mask=mask, is_causal=True)[0]
        """,
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            def forward(self, x):
                mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
                return self.attention(x, x, x, attn_mask=mask, is_causal=True)[0]
        """,
    ),
    "lengths among what a model returns": (
        """
        def train(loader, decoder):
            for x, lengths in loader:
                x, lengths = x.to("cuda"), lengths.to("cuda")
                scores, lengths, order = decoder(x, lengths)
                yield pack_padded_sequence(scores, lengths, batch_first=True)
        """,
        """
        def train(loader, decoder):
            for x, lengths in loader:
                x = torch.ones(3, 3, device="cuda")
                scores, order = decoder(x, lengths)
                lengths = (x > 0).sum(1)
                yield pack_padded_sequence(scores, lengths, batch_first=True)
        """,
    ),
    "the batches of a loader, whatever it is called": (
        """
        def validated(model, trainloader, device="cpu"):
            every = torch.LongTensor()
            for batch, labels in trainloader:
                every = torch.cat((every, labels), dim=0)
                yield model(batch.to(device)), labels.to(device)
        """,
        """
        def validated(model, pairs, device="cpu"):
            every = torch.LongTensor()
            for batch, labels in pairs:
                labels = labels.to("cuda")
                every = torch.cat((every, labels), dim=0)
        """,
    ),
    "asked whether it is a string": (
        """
        def parsed(x):
            if isinstance(x, str):
                x = np.fromstring(x[1:-1], sep=",")
            return float(torch.tensor(x).sum())
        def scores():
            return parsed(torch.ones(3, device="cuda"))
        """,
        """
        def parsed(x):
            x = np.fromstring(x[1:-1], sep=",")
            return float(torch.tensor(x).sum())
        def scores():
            return parsed(torch.ones(3, device="cuda"))
        """,
    ),
    "a function for a model that is exported": (
        """
        def _onnx_pasted(mask: torch.Tensor, height):
            return torch.cat((torch.zeros(height, 3), mask.to(dtype=torch.float32)))
        """,
        """
        def pasted(mask: torch.Tensor, height):
            return torch.cat((torch.zeros(height, 3), mask.to(dtype=torch.float32)))
        """,
    ),
    "a program that only seeds": (
        """
        def seed():
            torch.cuda.manual_seed(3)
        def viewed(model, image):
            x = torch.from_numpy(image)
            model.zero_grad()
            return model(x) + next(model.parameters())
        if __name__ == "__main__":
            seed()
        """,
        """
        def seed():
            torch.cuda.empty_cache()
        def viewed(model, image):
            x = torch.from_numpy(image)
            model.zero_grad()
            return model(x) + next(model.parameters())
        if __name__ == "__main__":
            seed()
        """,
    ),
}


def _codes(program: str) -> list[str]:
    told = findings(HEAD + textwrap.dedent(program), "program.py", Config())
    return [finding.code for finding in told if not finding.code.startswith("TDV1")]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


LAYER = """\
import torch
from torch import nn
class Layer(nn.Module):
    def forward(self, x):
        mask = torch.eye(3)
        if x.is_cuda:
            mask = mask.cuda()
        return x + mask
"""

GPUS: dict[str, tuple[str, list[str]]] = {
    "the current one": ("layer.cuda()", []),
    "the current one, whatever is imported": ("layer.cuda(non_blocking=True)", []),
    "one with a number": ('layer.to("cuda:1")', ["TDV016"]),
    "one that the user names": ("layer.to(torch.device(args.device))", ["TDV016"]),
    "one that is formatted": ('layer.to(f"cuda:{rank}")', ["TDV016"]),
    "the first": ("layer.cuda(0)", []),
    "a name that is always 0": ("gpu = 0\nlayer.cuda(gpu)", []),
    "a name that is 0 first": ("gpu = 0\nif twice:\n    gpu = 1\nlayer.cuda(gpu)", ["TDV016"]),
    "all of them": ("nn.DataParallel(layer.cuda(), device_ids=range(torch.cuda.device_count()))", []),
    "some of them, each of which has a copy": ("nn.DataParallel(layer.cuda(), device_ids=gpus)", []),
    "that of a process": ("layer.to(local_rank)", ["TDV016"]),
    "one that is spoken of": ("layer.cuda()  # or cuda:1", []),
    "the one that is to be seen": (
        "parser.add_argument('--gpu-id')\nos.environ['CUDA_VISIBLE_DEVICES'] = args.gpu_id\nlayer.cuda()",
        [],
    ),
    "an option": ("parser.add_argument('--gpu-id')\nlayer.cuda()", ["TDV016"]),
    "its own, which is made the current one": ("torch.cuda.set_device(rank)\nlayer.cuda(rank)", []),
}


@pytest.mark.parametrize(("script", "found"), GPUS.values(), ids=GPUS)
def test_programs_for_the_current_gpu(tmp_path: Path, script: str, found: list[str]) -> None:
    """An index is only lost where one of the project's programs has something on a GPU with a number."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(f"from layers import Layer\nlayer = Layer()\n{script}\n")
    assert _checked(tmp_path, "layers.py", LAYER) == found


def test_a_program_among_others_uses_the_gpus_that_it_names_itself(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text("from layers import Layer\nlayer = Layer().cuda()\n")
    (tmp_path / "other.py").write_text("from nets import Net\nnet = Net().to('cuda:1')\n")
    assert _checked(tmp_path, "layers.py", LAYER) == []
    (tmp_path / "other.py").write_text("import train\nnet = Net().to('cuda:1')\n")
    assert _checked(tmp_path, "layers.py", LAYER) == []
    (tmp_path / "other.py").write_text("from layers import Layer\nnet = Net(Layer()).to('cuda:1')\n")
    assert _checked(tmp_path, "layers.py", LAYER) == ["TDV016"]
    (tmp_path / "main.py").write_text("import other\nimport torch\ntorch.cuda.set_device(rank)\n")
    assert _checked(tmp_path, "layers.py", LAYER) == []


PUBLISHED = 'from setuptools import setup\nsetup(name="layers", author="Somebody")\n'


def test_a_library_is_used_on_any_gpu(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(PUBLISHED)
    (tmp_path / "nets.py").write_text("from layers import Layer\nclass Net(Layer): ...\n")
    assert _checked(tmp_path, "layers.py", LAYER) == ["TDV016"]


def test_what_only_its_own_programs_import_is_where_they_take_it(tmp_path: Path) -> None:
    """Those that import the file take their things to the current GPU themselves, so that what else is in the project does not matter."""
    (tmp_path / "setup.py").write_text(PUBLISHED)
    (tmp_path / "nets.py").write_text("from layers import Layer\nclass Net(Layer): ...\n")
    (tmp_path / "train.py").write_text("from nets import Net\nnet = Net().cuda()\n")
    (tmp_path / "other.py").write_text("import train\nx = torch.ones(3).to('cuda:1')\n")
    assert _checked(tmp_path, "layers.py", LAYER) == []
    (tmp_path / "more.py").write_text(
        "from nets import Net\nx = torch.zeros(3)\nif y.is_cuda:\n    x = x.cuda()\n"
    )
    assert _checked(tmp_path, "layers.py", LAYER) == ["TDV016"]
    (tmp_path / "more.py").write_text(
        "from nets import Net\ntorch.cuda.set_device(rank)\nnet = Net().to(rank)\n"
    )
    assert _checked(tmp_path, "layers.py", LAYER) == []
    (tmp_path / "more.py").write_text("from nets import Net\nnet = Net().to('cuda:1')\nx = x.cuda()\n")
    assert _checked(tmp_path, "layers.py", LAYER) == ["TDV016"]


def test_a_program_that_installs_its_own_parts_is_none(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(PUBLISHED.replace(', author="Somebody"', ""))
    (tmp_path / "train.py").write_text("from layers import Layer\nlayer = Layer().cuda()\n")
    assert _checked(tmp_path, "layers.py", LAYER) == []


def test_a_file_on_its_own_may_be_for_any_gpu() -> None:
    told = findings(LAYER, "layers.py", Config())
    assert [finding.code for finding in told] == ["TDV016"]


def test_lightning_makes_the_gpu_the_current_one(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(PUBLISHED)
    (tmp_path / "nets.py").write_text("from layers import Layer\nclass Net(Layer): ...\n")
    head = LAYER.replace("import torch\n", "import torch\nimport {}\n", 1)
    assert _checked(tmp_path, "layers.py", head.format("pytorch_lightning as pl")) == []
    assert _checked(tmp_path, "layers.py", head.format("sklearn")) == ["TDV016"]


CROP = """\
import torch
def overlap(ours: torch.Tensor, theirs: torch.Tensor):
    return torch.max(ours, theirs)
def cropped(image, boxes: torch.Tensor):
    frame = torch.FloatTensor([0, 0, 3, 3])
    return overlap(frame, boxes)
"""

WHO: dict[str, tuple[str, list[str]]] = {
    "a data set": (
        """
        from cropping import cropped
        def transformed(image, boxes):
            return cropped(image, given(boxes))
        class Pictures(torch.utils.data.Dataset):
            def __getitem__(self, index):
                return transformed(self.images[index], self.boxes[index])
        """,
        [],
    ),
    "a transform": (
        """
        from cropping import cropped
        class Crop:
            def __call__(self, image, boxes):
                return cropped(image, given(boxes))
        """,
        [],
    ),
    "a model": (
        """
        from cropping import cropped
        class Head(nn.Module):
            def forward(self, image, boxes):
                return cropped(image, given(boxes))
        """,
        ["TDV005"],
    ),
    "who takes weights of torchvision's": (
        """
        import torchvision
        from cropping import cropped
        def filled(image):
            known = torchvision.models.vgg16(pretrained=True).state_dict()
            return cropped(image, known["classifier.0.weight"])
        """,
        [],
    ),
}


@pytest.mark.parametrize(("caller", "found"), WHO.values(), ids=WHO)
def test_who_calls_a_helper(tmp_path: Path, caller: str, found: list[str]) -> None:
    """What gives out the items of a data set works on the host, whatever it hands on."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "calling.py").write_text(HEAD + textwrap.dedent(caller))
    assert _checked(tmp_path, "cropping.py", CROP) == found


RESUME = """\
import torch
def resume(model, path):
    model.load_state_dict(torch.load(path)["model"])
if __name__ == "__main__":
    model = build().to("cuda")
    resume(model, "last.pt")
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [("def resume(model, path):\n    print(path)\n", []), ("from loading import resume\n", ["TDV009"])],
)
def test_a_file_calls_its_own_function(tmp_path: Path, before: str, found: list[str]) -> None:
    """Who calls a function of this name calls this one only where it has none itself."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "keeping.py").write_text(
        "def keep(model):\n    model.fit()\n    model.save_checkpoint('last.pt')\n"
    )
    (tmp_path / "other.py").write_text(f"import loading\n{before}resume(build(), 'last.pt')\n")
    assert _checked(tmp_path, "loading.py", RESUME) == found


PREDICT = """\
import torch
from model import Net
net = Net()
net.load_state_dict(torch.load("Lenet.pth"))
"""


@pytest.mark.parametrize(("training", "found"), [("", []), ('net.to("cuda:0")\n', ["TDV009"])])
def test_what_a_script_beside_it_saves(tmp_path: Path, training: str, found: list[str]) -> None:
    """Weights that a program saves which never speaks of devices, loaded by one that does not either."""
    (tmp_path / "train.py").write_text(
        f"import torch\nfrom model import Net\nnet = Net()\n{training}torch.save(net.state_dict(), 'Lenet.pth')\n"
    )
    assert _checked(tmp_path, "predict.py", PREDICT) == found


def test_a_method_that_is_given_tensors_is_no_model() -> None:
    program = """
        class Agent:
            def __init__(self, device):
                self.device = device
                self.actor = nn.Linear(3, 3).to(self.device)
            def learn(self, states):
                states = torch.tensor(states, dtype=torch.float, device=self.device)
                gain = torch.zeros(3)
                self.update_actor(states, gain)
            def update_actor(self, states, gain):
                (self.actor(states) * gain).sum().backward()
        """
    assert _codes(program) == ["TDV005"]


def _checked(root: Path, name: str, text: str) -> list[str]:
    (root / name).write_text(text)
    told = findings(text, str(root / name), Config(root=str(root)), sources=DiskSources())
    return [finding.code for finding in told if not finding.code.startswith("TDV1")]


LOADER = """\
import torch
def warped(image: torch.Tensor):
    return torch.max(torch.zeros(1), image)
"""


@pytest.mark.parametrize(("folder", "found"), [("loader", []), ("models", ["TDV005"])])
def test_a_folder_that_loads(tmp_path: Path, folder: str, found: list[str]) -> None:
    """What a loader does to its items is done on the host."""
    (tmp_path / folder).mkdir()
    assert _checked(tmp_path, f"{folder}/warping.py", LOADER) == found


@pytest.mark.parametrize(("name", "found"), [("transforms.py", []), ("transformers.py", ["TDV005"])])
def test_a_file_of_transforms(tmp_path: Path, name: str, found: list[str]) -> None:
    assert _checked(tmp_path, name, LOADER) == found
