"""What the forty-ninth to the fifty-second batch of repositories taught: look-alikes that were told, beside mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst
import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.read_alone.host_functions import mapped_over_data
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "what a state that was loaded holds": (
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def widen({0}):
                kept = {1}["embed.weight"]
                more = torch.zeros(3, kept.size(1))
                return torch.cat([kept, more])
        """,
        [
            (("self, state_dict", "state_dict"), []),
            (("self, checkpoint, name", "checkpoint"), []),
            (("self, batch", "batch"), ["TDV005"]),
        ],
    ),
    "a branch for what FX traces": (
        """
        import torch
        from torch import nn
        from transformers.utils.fx import {0}

        class Model(nn.Module):
            def forward(self, ids):
                if {0}(ids):
                    first = torch.full((1,), 3)
                    return torch.cat([first, ids])
                return ids
        """,
        [("is_torch_fx_proxy", []), ("is_first_of_its_kind", ["TDV005"])],
    ),
    "a buffer that is changed in place from outside": (
        """
        import torch
        from torch import nn

        class Detect(nn.Module):
            def __init__(self, anchors):
                super().__init__()
                {0}

        class Net(nn.Module):
            def __init__(self, blocks):
                super().__init__()
                self.model = nn.Sequential(*[eval(block)(*args) for block, args in blocks])
                last = self.model[-1]
                if isinstance(last, Detect):
                    last.stride = torch.tensor([8 / x.shape[-2] for x in self.forward(torch.zeros(1, 3, 8, 8))])
                    last.anchors {1} last.stride.view(-1, 1, 1)

            def forward(self, x):
                return self.model(x)

        def targets_of(net, targets):
            anchors = net.model[-1].anchors[0]
            return anchors[targets[:, 0].long()]

        def main():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = Net([["Detect", [[1.0]]]])
            net = net.to(device)
            for targets in torch.utils.data.DataLoader([torch.zeros(3)]):
                print(targets_of(net, targets.to(device)))

        main()
        """,
        [
            (('self.register_buffer("anchors", torch.tensor(anchors))', "/="), []),
            (("pass", "= 1 /"), ["TDV004"]),
        ],
    ),
    "a module made of a list of others that are moved": (
        """
        import torch
        from torch import nn
        from losses import FocalLoss

        class HeadsLoss(nn.Module):
            def __init__(self, losses):
                super().__init__()
                self.losses = nn.ModuleList(losses)

        def get_loss(config, device):
            classes = nn.BCEWithLogitsLoss(pos_weight=torch.Tensor([config.classes])).to(device)
            boxes = nn.BCEWithLogitsLoss(pos_weight=torch.Tensor([config.boxes])).to(device)
            losses = [{0}]
            loss = HeadsLoss(losses)
            return config.wrap(loss)
        """,
        [("classes, boxes", []), ("nn.BCELoss(), nn.L1Loss()", ["TDV021"])],
    ),
    "a method written for a class elsewhere": (
        """
        import torch

        def predict({0}, cases):
            found = []
            for data in cases:
                found.append({1}(torch.from_numpy(data)).cpu())
            return found
        """,
        [(("self", "self.predict_logits"), []), (("model", "model"), ["TDV005"])],
    ),
    "a matcher of torchvision": (
        """
        import torch
        from {0} import {1}

        def accuracy(boxes, found):
            overlaps = (boxes[:, None] * found.to(boxes.device)).sum(-1)
            return {1}(0.5, 0.5)(overlaps.cuda())
        """,
        [
            (("torchvision.models.detection._utils", "Matcher"), []),
            (("torchvision.models.detection.rpn", "RPNHead"), ["TDV001"]),
        ],
    ),
    "a zero that stands for nothing": (
        """
        import torch
        from torch import nn
        from hands import HandLayer

        class Branch(nn.Module):
            def __init__(self, use_shift):
                super().__init__()
                self.use_shift = use_shift
                self.poses, self.shifts = nn.Linear(8, 6), nn.Linear(8, 3)
                self.layer = HandLayer(joints=6)

            def forward(self, features):
                if self.use_shift:
                    shift = self.shifts(features)
                else:
                    shift = {0}
                return self.layer(self.poses(features), shift=shift)
        """,
        [("torch.Tensor([0])", []), ("torch.Tensor([0.0])", []), ("torch.Tensor([1])", ["TDV005"])],
    ),
    "a table of devices, and a name for the key": (
        """
        import torch

        class Engine:
            def __init__(self, kind="auto"):
                if kind == "auto":
                    kind = "gpu" if torch.cuda.is_available() else "cpu"
                self.device = {"gpu": torch.device("cuda", 0), "cpu": {0}}[kind]
        """,
        [('torch.device("cpu")', []), ('torch.device("mps", 0)', ["TDV002", "TDV002"])],
    ),
    "parts of parts of what a thing holds": (
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def forward(self, task):
                return [torch.cat([torch.zeros(1), part]) for {0}]
        """,
        [
            ("rows in task.answers for part in rows", []),
            ("part in task.answers", ["TDV005"]),
            ("i in range(3) if (part := task.answers[i][:3]) is not None", ["TDV005"]),
        ],
    ),
    "layers that take no device": (
        """
        import torch
        from torch import nn

        class Series(nn.Module):
            def __init__(self, width, device=None):
                super().__init__()
                self.first = nn.Linear(width, width, device=device)
                {0}

            def forward(self, x):
                return self.rest(self.first(x))
        """,
        [
            ("self.rest = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 2, device=device), 2)", []),
            ("self.rest = nn.TransformerEncoderLayer(width, 2)", ["TDV020"]),
        ],
    ),
    "what stands in for something in a test": (
        """
        import torch

        class Inputs:
            def make_{0}(self, size, device="cpu"):
                return torch.zeros(size)
        """,
        [("dummy", []), ("inputs", ["TDV017"])],
    ),
    "modules of an attribute, by the flag that chose it": (
        """
        import torch
        from torch import nn

        class Player:
            def __init__(self, use_gpu=False):
                self.use_gpu = use_gpu
                if self.use_gpu:
                    self.net = nn.Linear(3, 3).cuda()
                else:
                    self.net = nn.Linear(3, 3)

            def value(self, batch):
                if {0}:
                    return self.net(torch.FloatTensor(batch).cuda())
                return self.net{1}(torch.FloatTensor(batch))
        """,
        [
            (("self.use_gpu", ""), []),
            (("self.use_gpu", ".forward"), []),
            (("len(batch) > 3", ""), ["TDV001"]),
            (("not self.use_gpu", ""), ["TDV001"]),
        ],
    ),
    "the module of what a tensor is of": (
        """
        import numpy as np
        import torch

        def kind(x):
            return type(x).__module__

        def as_array(x):
            if kind(x) == {0}:
                return x.cpu().numpy()
            return x

        features = torch.zeros(3).cuda()
        print(np.dot(as_array(features), 3))
        """,
        [("torch.__name__", []), ("np.__name__", ["TDV010"])],
    ),
    "an input that is taken to the host for a call": (
        """
        import torch
        from parts import Base

        class Solver(Base):
            def step(self):
                features = torch.zeros(4, 3).cuda()
                texts = torch.ones(4, 3){0}
                return self.loss(features, texts{1})
        """,
        [((".cuda()", '.to(device="cpu")'), []), (("", ""), ["TDV001"])],
    ),
    "weights that are brought to the host before they are saved": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def train(net, path):
            net.to(device).train()
            {0}
            torch.save(net.state_dict(), path)

        def restore(net, path):
            net.load_state_dict(torch.load(path))
            return net.to(device)
        """,
        [("net.eval().cpu()", []), ("net.eval()", ["TDV009"])],
    ),
    "what only a type checker reads": (
        """
        {0}
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self, wanted, has_policy):
                super().__init__()
                if TYPE_CHECKING:
                    self.table = torch.tensor([])
                self.wanted = wanted
                self.embedding = nn.Embedding(4, 3)
                if has_policy and wanted:
                    self.register_buffer("table", torch.zeros(4, 3))

            def forward(self, x):
                rows = self.embedding(x[:, 0])
                if self.wanted:
                    rows = torch.cat((rows, self.table[x[:, 0]]), dim=-1)
                return rows
        """,
        [("from typing import TYPE_CHECKING", []), ("TYPE_CHECKING = True", ["TDV006"])],
    ),
    "a loss that this version of PyTorch has not": (
        """
        import torch
        from torch import nn

        def train(model, data, device, kind):
            model.to(device)
            criterion = nn.MSELoss() if kind != "mae" else nn.{0}
            for x, y in data:
                criterion(model(x.to(device)), y.to(device)).backward()
        """,
        [("MAELoss()", []), ("Bilinear(3, 3, 1)", ["TDV001"])],
    ),
    "a module that is spread over a mesh": (
        """
        import torch
        from torch.distributed.fsdp import fully_shard

        def run(mesh):
            inputs = torch.randn(8, 8).cuda()
            model = torch.nn.Linear(8, 8)
            {0}
            return model(inputs)
        """,
        [("fully_shard(model, mesh=mesh)", []), ("print(model, mesh)", ["TDV001"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])


@pytest.mark.parametrize(
    ("text", "mapped"),
    [
        ("rows = MaskTokensDataset.apply_mask(rows, words=starts)", {"rows", "starts"}),
        ("words = starts\nrows = MaskTokensDataset(4, words=words)", {"words", "starts"}),
        ("words = starts\nrows = model.compute(4, words=words)", set()),
    ],
)
def test_functions_that_data_sets_are_given(text: str, mapped: set[str]) -> None:
    assert mapped_over_data(cst.parse_module(text)) == mapped


@pytest.mark.parametrize(
    ("name", "told"),
    [("convolution_gpu_test.py", []), ("test_cuda_layers.py", []), ("test_layers.py", ["TDV002"])],
)
def test_files_of_tests_for_an_accelerator(tmp_path: Path, name: str, told: list[str]) -> None:
    text = 'import torch\n\ndevice = torch.device("cuda:0")\n'
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = check_source(text, str(tmp_path / name), DEFAULT, DiskSources())
    assert [one.code for one in found] == told
