"""Pairs of look-alikes of further unseen repositories: helpers that are given CPU tensors, files that need no `map_location`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = """\
import shutil
from pathlib import Path

import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PAIRS: dict[str, tuple[str, str]] = {
    "the best of what this run has copied": (
        """
        def main(args, log, loader):
            model = nn.Linear(3, 3).to(device)
            for epoch in range(3):
                if train(model, loader) > 0:
                    shutil.copy(log.path("latest"), log.path("best"))
            model.load_state_dict(torch.load(log.path("best")))
        """,
        """
        def main(args, log, loader):
            model = nn.Linear(3, 3).to(device)
            for epoch in range(3):
                if tested(model, loader) > 0:
                    print(log.path("latest"), log.path("best"))
            model.load_state_dict(torch.load(log.path("best")))
        """,
    ),
    "after a loop that trains and saves": (
        """
        def main(args, log, loader):
            model = nn.Linear(3, 3).to(device)
            for epoch in range(3):
                train(model, loader)
                torch.save(model.state_dict(), log.best)
            model.load_state_dict(torch.load(log.path("best.pth")))
        """,
        """
        def main(args, log, loader):
            model = nn.Linear(3, 3).to(device)
            if args.training:
                for epoch in range(3):
                    train(model, loader)
                    torch.save(model.state_dict(), log.best)
            model.load_state_dict(torch.load(log.path("best.pth")))
        """,
    ),
    "weights beside the file, by a name of the function": (
        """
        class Matcher(nn.Module):
            def __init__(self, kind):
                super().__init__()
                path = Path(__file__).parent
                path = path / "weights/matcher_{}.pth".format(kind)
                self.load_state_dict(torch.load(str(path)))
        """,
        """
        class Matcher(nn.Module):
            def __init__(self, kind, folder):
                super().__init__()
                path = Path(folder).parent
                path = path / "weights/matcher_{}.pth".format(kind)
                self.load_state_dict(torch.load(str(path)))
        """,
    ),
    "a program that goes on with a GPU only": (
        """
        def demo(path):
            model = nn.DataParallel(nn.Linear(3, 3))
            model.load_state_dict(torch.load(path + "/checkpoint.pth"))
            model = model.module
            model.to("cuda")
        """,
        """
        def demo(path, fast):
            model = nn.DataParallel(nn.Linear(3, 3))
            model.load_state_dict(torch.load(path + "/checkpoint.pth"))
            model = model.module
            if fast:
                model.to("cuda")
        """,
    ),
    "what is saved was brought to the CPU, item by item": (
        """
        def save(model, path):
            state_dict = model.state_dict()
            for key in list(state_dict.keys()):
                value = state_dict[key]
                state_dict[key] = value.detach().clone().to("cpu").to(torch.float16)
            torch.save(state_dict, path)
        def resumed(model, path):
            model.load_state_dict(torch.load(path + "/model.pth"))
            return model.to(device)
        """,
        """
        def save(model, path):
            state_dict = model.state_dict()
            for key in list(state_dict.keys()):
                value = state_dict[key]
                state_dict[key] = value.detach().clone().to(torch.float16)
            torch.save(state_dict, path)
        def resumed(model, path):
            model.load_state_dict(torch.load(path + "/model.pth"))
            return model.to(device)
        """,
    ),
    "addresses of torchvision": (
        """
        from torch.hub import load_state_dict_from_url
        from torchvision.models.resnet import model_urls
        def built(model, arch):
            model.load_state_dict(load_state_dict_from_url(model_urls[arch]))
        """,
        """
        from torch.hub import load_state_dict_from_url
        from somewhere.resnet import model_urls
        def built(model, arch):
            model.load_state_dict(load_state_dict_from_url(model_urls[arch]))
        """,
    ),
    "shards of fairscale": (
        """
        from fairscale.nn import FullyShardedDataParallel
        def filled(model, file):
            model.load_state_dict(torch.load(file + "/checkpoint.pth"))
        """,
        """
        from fairscale.nn import Pipe
        def filled(model, file):
            model.load_state_dict(torch.load(file + "/checkpoint.pth"))
        """,
    ),
    "brought to the CPU where it is used": (
        """
        def picked(timesteps: torch.Tensor, schedule):
            table = torch.index_select(schedule.alphas, 0, timesteps.cpu())
            return table + 1
        """,
        """
        def picked(timesteps: torch.Tensor, schedule):
            table = torch.index_select(schedule.alphas, 0, torch.arange(len(timesteps)))
            return table + 1
        """,
    ),
    "a number is no tensor": (
        """
        def ids(rows, fixed: int = 4096):
            found = []
            for row in rows:
                start = found[-1].max() + 1 if len(found) > 0 else 0
                found.append(torch.arange(3).view(1, -1) + start)
                if row:
                    if fixed > 0:
                        fixed = fixed - start
                    found.append(torch.arange(3) + fixed + start)
            return found
        """,
        """
        def ids(rows, fixed: torch.Tensor):
            found = []
            for row in rows:
                start = found[-1].max() + 1 if len(found) > 0 else 0
                found.append(torch.arange(3).view(1, -1) + start)
                if row:
                    if fixed > 0:
                        fixed = fixed - start
                    found.append(torch.arange(3) + fixed + start)
            return found
        """,
    ),
    "what comes of it is moved afterwards": (
        """
        def positions(x: torch.Tensor, times: torch.Tensor):
            rows = {"t": times, "h": torch.arange(3)}
            ids = torch.cartesian_prod(rows["t"], rows["h"])
            return x, ids.to(x.device)
        """,
        """
        def positions(x: torch.Tensor, times: torch.Tensor):
            rows = {"t": times, "h": torch.arange(3)}
            ids = torch.cartesian_prod(rows["t"], rows["h"])
            return x.to(times.device), ids
        """,
    ),
    "by default what a method called cuda is asked for": (
        """
        class Features:
            def cuda(self, device: str = "cuda:0"):
                return self.moved(device)
        """,
        """
        class Features:
            def loaded(self, device: str = "cuda:0"):
                return self.moved(device)
        """,
    ),
    "a loader with a stream of its own": (
        """
        class Loader:
            def __init__(self, data, device: torch.device = torch.device("cuda", 0)):
                self.device = device
                self.stream = torch.cuda.Stream(device=device)
        """,
        """
        class Loader:
            def __init__(self, data, device: torch.device = torch.device("cuda", 0)):
                self.device = device
                self.data = data
        """,
    ),
    "one of several GPUs": (
        """
        def divided(model, count):
            for index, block in enumerate(model.blocks):
                block.device = torch.device(f"cuda:{index % count}")
            model.blocks[-1].output_device = torch.device("cuda:0")
        """,
        """
        def divided(model, count):
            for index, block in enumerate(model.blocks):
                block.device = torch.device(f"cpu:{index % count}")
            model.blocks[-1].output_device = torch.device("cuda:0")
        """,
    ),
    "a process among others has its own device": (
        """
        def shuffled(x, device: torch.device):
            order = torch.randperm(len(x))
            if device.type == "cuda":
                order = order.cuda()
            torch.distributed.broadcast(order, src=0)
            return order
        """,
        """
        def shuffled(x, device: torch.device):
            order = torch.randperm(len(x))
            if device.type == "cuda":
                order = order.cuda()
            return order
        """,
    ),
    "a model that is built, filled and put on a GPU, in whichever order": (
        """
        from nets import Flow
        def main(path):
            net = Flow(3).cuda()
            held = torch.load(path + "/checkpoint.pth")
            net.load_state_dict(held["state_dict"])
        def resumed(path, arguments):
            net = Flow(3)
            if arguments.resume:
                held = torch.load(arguments.resume)
                net.load_state_dict(held["state_dict"])
            net = nn.DataParallel(net).cuda()
        def spoken(path):
            glow = torch.load(path + "/model.pth")["model"]
            glow = glow.remove_norm(glow)
            glow.cuda().eval()
        """,
        """
        from nets import Flow
        def main(path, arguments):
            net = Flow(3)
            held = torch.load(path + "/checkpoint.pth")
            net.load_state_dict(held["state_dict"])
            if arguments.fast:
                net = nn.DataParallel(net).cuda()
        """,
    ),
    "a fixture that gives the CPU": (
        """
        import pytest
        @pytest.fixture
        def device():
            return "cpu"
        def test_noise(device):
            assert (torch.ones(3) * torch.rand(3, device=device)).sum()
        """,
        """
        import pytest
        @pytest.fixture
        def device():
            return "cuda" if torch.cuda.is_available() else "cpu"
        def test_noise(device):
            assert (torch.ones(3) * torch.rand(3, device=device)).sum()
        """,
    ),
    "a state of no size": (
        """
        def run(decoder, x, device):
            decoder.eval()
            x = x.to(device)
            state = torch.zeros(0)
            for part in x:
                out, state = decoder(part, state)
            return out
        """,
        """
        def run(decoder, x, device):
            decoder.eval()
            x = x.to(device)
            state = torch.zeros(2)
            for part in x:
                out, state = decoder(part, state)
            return out
        """,
    ),
    "one of several losses is called as only it can be": (
        """
        def trained(options, model, images):
            if options.kind == "ctc":
                criterion = nn.CTCLoss().to(device)
            else:
                criterion = nn.CrossEntropyLoss().to(device)
            options.prepare()
            predicted = model(images.to(device))
            sizes = torch.IntTensor([predicted.size(1)] * 4)
            return criterion(predicted, images.to(device), sizes, sizes)
        """,
        """
        def trained(options, model, images):
            if options.kind == "ctc":
                criterion = nn.CTCLoss().to(device)
            else:
                criterion = nn.CrossEntropyLoss().to(device)
            options.prepare()
            predicted = model(images.to(device))
            sizes = torch.IntTensor([predicted.size(1)] * 4)
            return criterion(predicted, sizes)
        """,
    ),
    "a number as it was had of a loss once": (
        """
        def trained(model, batches):
            model = nn.Linear(3, 3).cuda()
            total = 0
            for x, y in batches:
                total += nn.MSELoss()(model(x.cuda()), y.cuda()).data[0]
            return np.exp(total / 3)
        """,
        """
        def trained(model, batches):
            model = nn.Linear(3, 3).cuda()
            total = 0
            for x, y in batches:
                total += nn.MSELoss()(model(x.cuda()), y.cuda()).data
            return np.exp(total / 3)
        """,
    ),
    "a loss of an older name has no parameters": (
        """
        def trained(x, y):
            return nn.NLLLoss2d()(x.cuda(), y.cuda())
        """,
        """
        def trained(x, y):
            return nn.Bilinear(2, 2, 2)(x.cuda(), y.cuda())
        """,
    ),
    "the same run has saved it under a name made of this one": (
        """
        def main(log, model):
            path = log.path("best.pth")
            torch.save(model.state_dict(), with_folder(path))
            model.load_state_dict(torch.load(path))
            return model.to(device)
        """,
        """
        def main(log, model):
            path = log.path("best.pth")
            torch.save(model.state_dict(), with_folder(log))
            model.load_state_dict(torch.load(path))
            return model.to(device)
        """,
    ),
    "a test need not use the fixtures that it asks for": (
        """
        class TestFlip:
            def test_same(self, device):
                image = torch.eye(3).unsqueeze(dim=0)
                assert flipped(image).shape == image.shape
        """,
        """
        class Flip:
            def same(self, device):
                image = torch.eye(3).unsqueeze(dim=0)
                return flipped(image)
        """,
    ),
    "a device that a test only speaks of": (
        """
        def test_name():
            meta = {"machine": "x", "device": "cuda:0"}
            assert name_of(meta) == "x-cuda"
        """,
        """
        def test_name():
            x = torch.ones(3, device="cuda:0")
            assert name_of(x) == "x-cuda"
        """,
    ),
    "a helper of tests brings the target": (
        """
        from tests.helpers import check_updated
        def test_embedding():
            model = nn.Linear(3, 3).to("cuda")
            check_updated(model, torch.randn(2, 3))
        """,
        """
        from tests.helpers import check_updated
        def embedded():
            model = nn.Linear(3, 3).to("cuda")
            check_updated(model, torch.randn(2, 3))
        """,
    ),
}


def _codes(program: str) -> list[str]:
    told = findings(HEAD + textwrap.dedent(program), "program.py", Config())
    return [finding.code for finding in told if not finding.code.startswith(("TDV1", "TDV018"))]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


@pytest.mark.parametrize(("folder", "found"), [("datasets", []), ("models", ["TDV005"])])
def test_a_folder_of_data_sets(tmp_path: Path, folder: str, found: list[str]) -> None:
    """What prepares data does so on the host."""
    file = tmp_path / folder / "sampling.py"
    file.parent.mkdir()
    program = """
        def sampled(frames: torch.Tensor, count):
            return torch.index_select(frames, 0, torch.arange(count))
        """
    text = HEAD + textwrap.dedent(program)
    file.write_text(text)
    told = findings(text, str(file), Config(root=str(tmp_path)), sources=DiskSources())
    assert [finding.code for finding in told] == found


GEOMETRY = """\
import torch
def centered(poses: torch.Tensor):
    return torch.eye(4) @ poses
class Viewer:
    def wrong(self, labels, predictions: torch.Tensor):
        kept = torch.ones(len(labels), dtype=torch.bool)
        return (predictions.argmax(-1) == labels) & kept
"""

CALLERS: dict[str, tuple[str, list[str]]] = {
    "nobody": ("", ["TDV005", "TDV005"]),
    "a reader": (
        """
        from geometry import centered
        def read(path, scale):
            poses = torch.from_numpy(np.load(path)).float()
            poses = poses * scale
            return centered(poses[:, :3])
        """,
        ["TDV005"],
    ),
    "a reader that moves first": (
        """
        from geometry import centered
        def read(path, scale):
            poses = torch.from_numpy(np.load(path)).to(device)
            return centered(poses * scale)
        """,
        ["TDV005", "TDV005"],
    ),
    "a reader and a trainer": (
        """
        import geometry
        def read(path):
            return geometry.centered(torch.tensor(np.load(path)))
        def train(batch):
            return geometry.centered(batch.cuda())
        """,
        ["TDV005", "TDV005"],
    ),
    "one that is given what a reader has read": (
        """
        from geometry import centered
        def moved(poses, offset):
            return centered(poses + offset)
        def read(path):
            return moved(torch.from_numpy(np.load(path)), 0)
        """,
        ["TDV005"],
    ),
    "who brings back what a model gave": (
        """
        from geometry import Viewer
        def seen(model, batch, labels, viewer=Viewer()):
            predictions = model(batch.cuda())
            predictions, labels = predictions.cpu(), labels.cpu()
            viewer.wrong(labels, predictions=predictions.detach())
        """,
        ["TDV005"],
    ),
    "who does not": (
        """
        from geometry import Viewer
        def seen(model, batch, labels, viewer=Viewer()):
            predictions = model(batch.cuda())
            viewer.wrong(labels.cuda(), predictions=predictions.detach())
        """,
        ["TDV005", "TDV005"],
    ),
    "a function of another module": (
        """
        from shapes import centered
        def read(path):
            return centered(torch.from_numpy(np.load(path)))
        """,
        ["TDV005", "TDV005"],
    ),
}


@pytest.mark.parametrize(("caller", "found"), CALLERS.values(), ids=CALLERS)
def test_callers_in_other_files(tmp_path: Path, caller: str, found: list[str]) -> None:
    """Where the callers hand over tensors of the CPU, and none of them any other, the argument is there."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "reading.py").write_text(HEAD + textwrap.dedent(caller))
    file = tmp_path / "geometry.py"
    file.write_text(GEOMETRY)
    told = findings(GEOMETRY, str(file), Config(root=str(tmp_path)), sources=DiskSources())
    assert [finding.code for finding in told] == found


@pytest.mark.parametrize("name", ["tests/reading.py", "test_geometry.py"])
def test_what_tests_hand_over_says_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(HEAD + textwrap.dedent(CALLERS["a reader"][0]))
    file = tmp_path / "geometry.py"
    file.write_text(GEOMETRY)
    told = findings(GEOMETRY, str(file), Config(root=str(tmp_path)), sources=DiskSources())
    assert len(told) == 2
