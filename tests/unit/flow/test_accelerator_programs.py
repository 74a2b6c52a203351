"""Programs for machines with an accelerator only, and their twins that show that they may do without one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.project.accelerator_programs import does_without, uses_accelerator

HEAD = "import torch\nfrom torch import nn\n"

SIGNS: dict[str, bool] = {
    "if torch.cuda.is_available(): model.cuda()": True,
    "assert torch.cuda.is_available()": False,
    "if not torch.cuda.is_available():\n    raise RuntimeError": False,
    "if not torch.cuda.is_available():\n    print('slow')": True,
    "device = 'cpu'": True,
    "images.to('cpu').numpy()": False,
    "torch.load(path, map_location='cpu')": False,
    "parser.add_argument('--device', default='cuda')": True,
    "parser.add_argument('--gpu', type=int)": False,
    "parser.add_argument('--no-cuda')": True,
    "if args.cuda: model.cuda()": True,
    "if not self.gpu_mode: model.cpu()": True,
    "parser.add_argument('--use_cpu', action='store_true')": True,
    "args.cuda()": False,
    "if opt.gpu >= 0: model.cuda()": True,
    "if torch.cuda.device_count() > 1: model = nn.DataParallel(model)": False,
    "if torch.cuda: pass": True,
    "if not dist.is_available(): return": False,
    "    print('there is one:', torch.cuda.is_available())": False,
    "print(model(x.cuda() if torch.cuda.is_available() else x))": True,
    "net.load_state_dict(torch.load(path, 'cpu'))": False,
    "if n_gpu > 1: model = nn.DataParallel(model)": False,
    "# if torch.cuda.is_available():": False,
    "accelerator = Accelerator()": True,
    "use_gpu = True\nif use_gpu: model.cuda()": False,
    "use_gpu = True\nuse_gpu = ask()\nif use_gpu: model.cuda()": True,
    "use_gpu: bool = True\ndef run(use_gpu): use(use_gpu)": True,
    "device = 'cuda' if use_gpu else 'cpu'\nuse_gpu = True": False,
    "parser.add_argument('--cuda', action='store_true', default=True)\nif args.cuda: model.cuda()": False,
    "parser.add_argument('--cuda', action='store_true')\nif args.cuda: model.cuda()": True,
    "parser.add_argument('--cuda', action='store_true', default=True)\nargs.cuda = args.gpus > 0": True,
    "pl.Trainer(accelerator='gpu', devices=len(ids()))": False,
    "pl.Trainer(max_steps=steps(f(3)), gpus=1)": False,
    "pl.Trainer(accelerator='auto')": True,
}

USES: dict[str, bool] = {
    "model.cuda()": True,
    "x = x.cuda(non_blocking=True)": True,
    "model.cuda(1)": False,
    "model.to('cuda')": True,
    "model.to('cuda:0')": False,
    "torch.device('cuda')": True,
    "torch.device('cuda') if cuda else torch.device('cpu')": False,
    "torch.cuda.FloatTensor(3)": True,
    "assert torch.cuda.is_available()": True,
    "Trainer(accelerator='gpu')": True,
    "Trainer(logger=log(), gpus=-1)": True,
    "Trainer(gpus=0)": False,
    "x = x.cpu()  # was x.cuda()": False,
}


@pytest.mark.parametrize(("text", "expected"), SIGNS.items(), ids=SIGNS)
def test_signs_of_doing_without_one(text: str, expected: bool) -> None:
    assert does_without(text) is expected


@pytest.mark.parametrize(("text", "expected"), USES.items(), ids=USES)
def test_uses_whatever_the_machine(text: str, expected: bool) -> None:
    assert uses_accelerator(text) is expected


PLACES: dict[str, tuple[str, str]] = {
    "after the model": (
        """
        def main():
            net = nn.Linear(2, 2).cuda()
            return nn.DataParallel(net.to("cuda:0"))
        asked = [torch.cuda.is_available()]
        """,
        """
        def main():
            net = nn.Linear(2, 2)
            if torch.cuda.device_count() > 1:
                net.cuda()
            return nn.DataParallel(net.to("cuda:0"))
        asked = [torch.cuda.is_available()]
        """,
    ),
    "after something of an old type": (
        """
        def main(n):
            z = torch.cuda.FloatTensor(n)
            return z, torch.eye(n).to("cuda:0")
        asked = [torch.cuda.is_available()]
        """,
        """
        def main(n):
            z = torch.FloatTensor(n)
            return z, torch.eye(n).to("cuda:0")
        asked = [torch.cuda.is_available()]
        """,
    ),
    "after a name": (
        """
        def main(net):
            where = torch.device("cuda")
            net.to(where)
            return torch.eye(3).to("cuda:0")
        asked = [torch.cuda.is_available()]
        """,
        """
        def main(net):
            where = torch.device("cuda")
            where = pick(where)
            net.to(where)
            return torch.eye(3).to("cuda:0")
        asked = [torch.cuda.is_available()]
        """,
    ),
    "called after it": (
        """
        def root(a):
            return a @ torch.eye(3).to("cuda:0")
        def distance(x):
            return root(torch.tensor(x).cuda())
        def main():
            return distance([1.0])
        asked = [torch.cuda.is_available()]
        """,
        """
        def root(a):
            return a @ torch.eye(3).to("cuda:0")
        def distance(x):
            return root(torch.tensor(x).cuda())
        def main():
            return distance([1.0]), root(4)
        asked = [torch.cuda.is_available()]
        """,
    ),
    "of an object that is on one": (
        """
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(2, 2).cuda()
            def step(self, x):
                return self.net(x.to("cuda:0"))
        asked = [torch.cuda.is_available()]
        """,
        """
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(2, 2)
            def step(self, x):
                return self.net.to("cuda:0")(x)
        asked = [torch.cuda.is_available()]
        """,
    ),
    "an attempt": (
        """
        def main(net):
            try:
                net.cuda()
            finally:
                torch.eye(3).to("cuda:0")
        asked = [torch.cuda.is_available()]
        """,
        """
        def main(net):
            try:
                net.cuda()
            except AssertionError:
                pass
            torch.eye(3).to("cuda:0")
        asked = [torch.cuda.is_available()]
        """,
    ),
    "all of it": (
        """
        def prepared(net):
            return net.to("cuda:0")
        def main(net, x):
            return prepared(net)(x.cuda())
        """,
        """
        def prepared(net):
            return net.to("cuda:0")
        def main(net, x):
            return prepared(net)(x.cuda() if torch.cuda.is_available() else x)
        """,
    ),
    "the second one is another": (
        """
        def main(net, x):
            net.cuda()
            return net(x.to("cuda:0"))
        """,
        """
        def main(net, x):
            net.cuda()
            return net(x.to("cuda:1"))
        """,
    ),
    "at the top, in order": (
        """
        net = nn.Linear(2, 2).cuda()
        x = torch.ones(2).to("cuda:0")
        """,
        """
        x = torch.ones(2).to("cuda:0")
        net = nn.Linear(2, 2)
        if torch.cuda.device_count() > 1:
            net.cuda()
        """,
    ),
    "before it": (
        """
        def trained(read):
            where = torch.device("cuda:0")
            return nn.Linear(2, 2).to(where)(read())
        trained(read)
        print(torch.cuda.get_device_name(0))
        """,
        """
        def trained(read):
            where = torch.device("cuda:0")
            return nn.Linear(2, 2).to(where)(read())
        trained(read)
        print(torch.cuda.device_count())
        """,
    ),
}


@pytest.mark.parametrize(("right", "_wrong"), PLACES.values(), ids=PLACES)
def test_the_first_accelerator_is_there(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PLACES.values(), ids=PLACES)
def test_the_first_accelerator_may_be_missing(_right: str, wrong: str) -> None:
    assert set(_codes(wrong)) == {"TDV002"}


NETS = HEAD + 'def prepared(net):\n    return net.to("cuda:0")\n'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"train.py": "from nets import prepared\nprepared(net).cuda()\n"}, []),
        ({"train.py": "from nets import prepared\nprepared(net).train()\n"}, ["TDV002"]),
        (
            {
                "train.py": "from nets import prepared\nprepared(net).cuda()\n",
                "predict.py": "import nets\nnets.prepared(net).eval()\n",
            },
            ["TDV002"],
        ),
        (
            {
                "tools.py": "from nets import prepared\nmodel = prepared(net)\n",
                "train.py": "import tools\ntools.model.cuda()\n",
            },
            [],
        ),
        (
            {
                "tools.py": "from nets import prepared\nmodel = prepared(net)\n",
                "train.py": "import tools\ntools.model.cuda() if use_cuda else tools.model\n",
            },
            ["TDV002"],
        ),
        ({"train.py": "net.cuda()\n"}, ["TDV002"]),
    ],
    ids=[
        "all that leads here",
        "nothing",
        "one of two",
        "at one remove",
        "by a flag",
        "what does not lead here",
    ],
)
def test_what_leads_to_a_file(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(HEAD + text)
    (tmp_path / "nets.py").write_text(NETS)
    told = findings(NETS, str(tmp_path / "nets.py"), Config(root=str(tmp_path)), sources=DiskSources())
    assert [finding.code for finding in told] == expected


DEFAULTS: dict[str, tuple[str, str]] = {
    "everybody gives it": (
        """
        def evaluate(net, device="cuda:0"):
            net.to(device)
        if __name__ == "__main__":
            evaluate(nn.Linear(2, 2), where())
        """,
        """
        def evaluate(net, device="cuda:0"):
            net.to(device)
        if __name__ == "__main__":
            evaluate(nn.Linear(2, 2), where())
            evaluate(nn.Linear(2, 2))
        """,
    ),
    "of a class": (
        """
        class Detector:
            def __init__(self, device=torch.device("cuda:0")):
                self.net = nn.Linear(2, 2).to(device)
        if __name__ == "__main__":
            Detector(device=where())
        """,
        """
        class Detector:
            def __init__(self, device=torch.device("cuda:0")):
                self.net = nn.Linear(2, 2).to(device)
        if __name__ == "__main__":
            run([Detector])
        """,
    ),
    "of what is run, not imported": (
        """
        def evaluate(net, device="cuda:0"):
            net.to(device)
        def main():
            evaluate(nn.Linear(2, 2), where())
        if __name__ == "__main__":
            main()
        """,
        """
        def evaluate(net, device="cuda:0"):
            net.to(device)
        def main():
            evaluated(nn.Linear(2, 2), where())
        """,
    ),
    "somebody of a library gives it": (
        """
        def evaluate(net, device=torch.device(0)) -> float:
            net.to(device)
        def best(evaluated: evaluate, nets):
            return min(evaluate(net, where()) for net in nets)
        """,
        """
        def evaluate(net, device=torch.device(0)) -> float:
            net.to(device)
        def best(evaluated: evaluate, nets):
            return min(nets, key=evaluate)
        """,
    ),
}


@pytest.mark.parametrize(("right", "_wrong"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_that_nobody_takes(tmp_path: Path, right: str, _wrong: str) -> None:
    assert _codes_of_library(tmp_path, right) == []


@pytest.mark.parametrize(("_right", "wrong"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_that_somebody_may_take(tmp_path: Path, _right: str, wrong: str) -> None:
    assert _codes_of_library(tmp_path, wrong) == ["TDV002"]


def test_a_default_that_no_file_of_a_program_takes(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = HEAD + 'def evaluate(net, device="cuda:0"):\n    net.to(device)\n'
    (tmp_path / "metrics.py").write_text(text)

    def told(call: str) -> list[str]:
        (tmp_path / "run.py").write_text(f"from metrics import evaluate\n{call}\n")
        found = findings(
            text, str(tmp_path / "metrics.py"), Config(root=str(tmp_path)), sources=DiskSources()
        )
        return [finding.code for finding in found]

    assert told("evaluate(net, 'cpu')") == []
    assert told("evaluate(net)") == ["TDV002"]
    assert told("tables = {'evaluate': evaluate}") == ["TDV002"]
    assert told("tables = {'evaluate': 1}") == []


def test_a_choice_that_is_of_no_use() -> None:
    """A flag, in a function that is only called with something that is on an accelerator."""
    function = """
        pinned = torch.cuda.is_available()

        def distance(model, x, cuda=True):
            if cuda:
                model.cuda()
            return model(x), torch.tensor(3.0).cuda()
        """
    assert _codes(function + "def main(net):\n            distance(net.cuda(), [1.0])\n") == []
    assert _codes(function + "def main(net):\n            distance(net, [1.0])\n") == ["TDV018"]


def test_a_module_of_a_library_that_is_run_may_be_imported_too(tmp_path: Path) -> None:
    right = """
        def evaluate(net, device="cuda:0"):
            net.to(device)
        if __name__ == "__main__":
            main()
        """
    assert _codes_of_library(tmp_path, right) == []
    (tmp_path / "__init__.py").touch()
    assert _codes_of_library(tmp_path, right) == ["TDV002"]


def _codes(body: str) -> list[str]:
    told = findings(HEAD + textwrap.dedent(body), "code.py", Config())
    return [finding.code for finding in told if finding.code != "TDV101"]


def _codes_of_library(root: Path, body: str) -> list[str]:
    (root / "setup.py").write_text("from setuptools import setup\nsetup()\n")
    text = HEAD + textwrap.dedent(body)
    (root / "code.py").write_text(text)
    told = findings(text, str(root / "code.py"), Config(root=str(root)), sources=DiskSources())
    return [finding.code for finding in told]


@pytest.mark.parametrize(
    ("option", "found"),
    [
        ("default=True", []),
        ("default=False", ["TDV018"]),
    ],
)
def test_an_option_that_is_true_whatever_is_typed(option: str, found: list[str]) -> None:
    body = f"""
        from argparse import ArgumentParser
        def main(model, read):
            parser = ArgumentParser()
            parser.add_argument("--cuda", action="store_true", {option})
            args = parser.parse_args()
            if args.cuda:
                model = model.cuda()
            return model(torch.randn(3).cuda())
        """
    assert _codes(body) == found


@pytest.mark.parametrize(
    ("flag", "found"),
    [("True", []), ("choose()", ["TDV009"])],
)
def test_a_flag_that_is_set_after_loading(flag: str, found: list[str]) -> None:
    body = f"""
        def restored(path, Net, choose):
            net = Net()
            net.load_state_dict(torch.load(path))
            use_gpu = {flag}
            if use_gpu:
                net = net.cuda()
            return net
        """
    assert _codes(body) == found


@pytest.mark.parametrize(("kind", "found"), [("gpu", []), ("auto", ["TDV009"])])
def test_a_trainer_that_wants_a_gpu(kind: str, found: list[str]) -> None:
    body = f"""
        def resumed(path, Net, Trainer, loader):
            net = Net()
            net.load_state_dict(torch.load(path))
            Trainer(accelerator="{kind}").fit(net, loader)
        """
    assert _codes(body) == found
