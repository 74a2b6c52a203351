"""What an eleventh round of blind programs, the fortieth batch of repositories and mined bugs taught, each wrong and right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import argparse

import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

CASES: dict[str, tuple[str, Ways]] = {
    "NumPy reads a tensor that is computed with an array": (
        """
        weights = np.ones(3, dtype=np.float32)
        x = torch.rand(3).to(device)
        print(({0}).sum())
        """,
        [
            ("x * weights", ["TDV010"]),
            ("x - weights.astype(np.float32)", ["TDV010"]),
            ("x @ np.array([1.0, 2.0, 3.0], dtype=np.float32)", ["TDV010"]),
            ("x * torch.from_numpy(weights).to(device)", []),
            ("x.cpu() * weights", []),
            ("x * weights.sum()", []),
            ("x * np.float32(3)", []),
            ("x[np.array([0, 1])]", []),
        ],
    ),
    "a model that cannot be read is told a device": (
        """
        from somewhere import create_model, tokenize

        model = create_model("clap")
        model.to(device)
        ids = torch.ones(2, 3).long()
        print(model({0}))
        """,
        [("None, ids, device", []), ("ids, device=device", []), ("ids, None", ["TDV001"])],
    ),
    "what is pinned is on the CPU": (
        """
        def get_batch(data, n):
            rows = [data[i]["input_ids"].long() for i in torch.randint(len(data), (n,))]
            longest = max(len(row) for row in rows)

            def pad_right(x, pad):
                return torch.cat((x, torch.full((longest - len(x),), pad, dtype=x.dtype)))

            x = torch.stack([pad_right(row, 0) for row in rows])
            return x.{0}
        """,
        [("pin_memory().cuda(non_blocking=True)", []), ("contiguous()", ["TDV005"])],
    ),
    "a loss of the program's own is given several things as one": (
        """
        from registry import LOSSES


        class Head(nn.Module):
            def __init__(self, module_loss):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 1)
                self.module_loss = LOSSES.build(module_loss)

            def loss(self, inputs, data):
                maps = self.conv(inputs)
                labels = torch.from_numpy(np.stack(data))
                return self.module_loss({0})
        """,
        [("(maps, labels), data", []), ("maps, labels", ["TDV005"])],
    ),
    "what is printed is called": (
        """
        def evaluate(model, loader, device):
            return [model(x.{0}) for x, _ in loader]


        def main():
            model = nn.Linear(3, 3).to(device)
            print("outputs", evaluate(model, [(torch.ones(2, 3), None)], device))


        main()
        """,
        [("cuda()", ["TDV018"]), ("to(device)", [])],
    ),
    "what is compared is moved": (
        """
        def right(model, x, y, device):
            scores = model(x.to(device))
            return (scores.argmax(1) == y.{0}).sum().item()


        print(right(nn.Linear(3, 3).to(device), torch.ones(2, 3), torch.ones(2).long(), device))
        """,
        [("cuda()", ["TDV018"]), ("to(device)", [])],
    ),
    "an option says the CPU where nobody says another": (
        """
        def evaluate(model, x, device):
            return model(x.cuda())


        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--device", default="{0}")
            where = torch.device(parser.parse_args().device)
            evaluate(nn.Linear(3, 3).to(where), torch.ones(2, 3), where)


        main()
        """,
        [("cpu", ["TDV018"]), ("cuda", [])],
    ),
    "a device that names the CPU is written where a thing on a GPU is asked for": (
        """
        def beside(x: torch.Tensor):
            where = "cpu"
            if x.is_cuda:
                where = {0}
            print(x.to("cuda:1"))
            return torch.zeros(3, device=where) + x
        """,
        [('"cuda"', ["TDV016"]), ("x.device", [])],
    ),
    "in which mode a module is nobody follows": (
        """
        def collect(module: nn.Module):
            return module.register_forward_hook(lambda m, a, out: {0})


        class Service:
            def __init__(self):
                self.device = device
                self.model = nn.Linear(3, 3).to(device)
                collect(self.model)

            @torch.no_grad()
            def __call__(self, x):
                return self.model(x.to(self.device)).numpy()


        print(Service()(torch.ones(2, 3)))
        """,
        [("out.cpu() if not m.training else out", []), ("out.cpu()", []), ("out * 2", ["TDV010"])],
    ),
    "a hook moves the module before each call": (
        """
        class Offload:
            def before(self, module, args, kwargs):
                module.{0}
                return tuple(one.to(device) for one in args), kwargs

            def after(self, module, args, kwargs, output):
                module.to("cpu")
                return output


        net, hook = nn.Linear(3, 3), Offload()
        net.register_forward_pre_hook(hook.before, with_kwargs=True)
        net.register_forward_hook(hook.after, with_kwargs=True)
        x = torch.ones(2, 3, device=device)
        for _ in range(2):
            x = x + net(x)
        """,
        [("to(device)", []), ("train()", ["TDV004"])],
    ),
    "a part replaces its parameters by others": (
        """
        class Adapter(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base
                self.low = nn.Parameter(torch.zeros(2, 3))

            def finalize(self):
                weight = self.base.weight
                for name, p in list(self._parameters.items()):
                    if p is not None:
                        {0}
                return self

            def forward(self, x):
                return self.base(x) + x @ self.low.T @ self.low


        def adapted(model):
            for name in [name for name, part in model.named_modules() if isinstance(part, nn.Linear)]:
                parent, _, leaf = name.rpartition(".")
                setattr(model.get_submodule(parent), leaf, Adapter(model.get_submodule(name)).finalize())
            return model


        net = nn.Sequential(nn.Linear(3, 3))
        net.to(device)
        print(adapted(net)(torch.ones(2, 3).to(device)))
        """,
        [
            ("setattr(self, name, nn.Parameter(p.data.to(device=weight.device, dtype=weight.dtype)))", []),
            ("p.requires_grad_(True)", ["TDV008"]),
        ],
    ),
    "what a dataset holds is made on the default device": (
        """
        from torch.utils.data import DataLoader, TensorDataset

        {0}


        def corpus(n):
            return torch.rand(n, 3), torch.rand(n, 3)


        def main():
            net = nn.Linear(3, 3).to(device)
            for x, _ in DataLoader(TensorDataset(*corpus(8))):
                print(net(x))


        main()
        """,
        [("torch.set_default_device(device)", []), ("torch.manual_seed(0)", ["TDV001"])],
    ),
    "a class applies what moves it to tensors that are there under a condition": (
        """
        class Carrier(nn.Module):
            def _apply(self, fn, recurse=True):
                super()._apply(fn, recurse)
                for name, held in list(vars(self).items()):
                    if torch.is_tensor(held):
                        {0}
                return self


        class Block(Carrier):
            def __init__(self, n, shift):
                super().__init__()
                self.layer = nn.Linear(n, n)
                self.mask = torch.ones(n) if shift else None

            def forward(self, x):
                h = self.layer(x)
                return h if self.mask is None else h + self.mask


        print(Block(3, True).to(device)(torch.ones(2, 3).to(device)))
        """,
        [("setattr(self, name, fn(held))", [])],
    ),
    "a function is called without any of its further options": (
        """
        from types import SimpleNamespace


        def options(**overrides):
            opt = SimpleNamespace(device=device)
            for name, value in overrides.items():
                setattr(opt, name, value)
            return opt


        net = nn.Linear(3, 3).to(options({0}).device)
        print(net(torch.ones(2, 3)))
        """,
        [("", ["TDV001"]), ('device="cpu"', [])],
    ),
    "a flag says that something comes to the CPU": (
        """
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def encode(self, x, {0}: bool = True, as_array: bool = False):
                out = self.layer(x).detach()
                if {0}:
                    out = out.cpu()
                return out.numpy() if as_array else out
        """,
        [("output_to_cpu", []), ("rounded", ["TDV010"])],
    ),
    "a module brings to the CPU what it keeps": (
        """
        class Stft(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("basis", torch.ones(4, 1, 3))

            def transform(self, x):
                y = {0}
                return y[:, :2], y[:, 2:]

            def forward(self, x):
                self.magnitude, self.phase = self.transform(x)
                return nn.functional.conv_transpose1d(torch.cat([self.magnitude, self.phase], 1), self.basis)
        """,
        [("nn.functional.conv1d(x.cuda(), self.basis).cpu()", []), ("torch.zeros(1, 4, 5)", ["TDV006"])],
    ),
    "a script makes all on an accelerator": (
        """
        def create(path):
            net = nn.Linear(3, 3).to(device)
            if path:
                net.load_state_dict(torch.load(path)["net"])
            return net


        def train(args):
            net = create(args.path)
            torch.save({{"net": net.state_dict()}}, args.path)


        if __name__ == "__main__":
            {0}
            train(parse())
        """,
        [
            ('torch.set_default_tensor_type("torch.cuda.FloatTensor")', ["TDV018"]),
            ("torch.manual_seed(0)", ["TDV009"]),
        ],
    ),
}


@pytest.mark.parametrize(("code", "ways"), CASES.values(), ids=CASES)
def test_each_is_told_wrong_and_not_right(
    code: str, ways: Ways, told_each_way: Callable[[str, str, Ways], None]
) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    told_each_way(START, code, ways)


OF_OPTIONS = """
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="{1}")
    args = parser.parse_args()
    net = nn.Linear(3, 3).to({0})
    return net(torch.ones(2, 3).cuda())


main()
"""


def test_a_program_takes_its_device_from_where_its_options_are(
    told_each_way: Callable[[str, str, Ways], None],
) -> None:
    """The CPU by default, and an accelerator is named without asking."""
    ways: Ways = [
        (("args.device", "cpu"), ["TDV018"]),
        (("args.device", "cuda"), []),
        (('"cuda"', "cpu"), []),
    ]
    told_each_way(START.rpartition("device =")[0], OF_OPTIONS, ways)


# -- what only those who select it are told


def _told(program: str, rule: str, path: str = "net.py") -> list[str]:
    return [one.code for one in findings(textwrap.dedent(program), path, Config(select=(rule,)))]


OPTED: dict[str, tuple[str, str, Sequence[tuple[str, bool]]]] = {
    "a function holds tensors of the one around it": (
        "TDV006",
        """
        import torch
        from functools import partial
        from torch import nn


        def normalized(x, mean):
            return x - mean


        class Detector(nn.Module):
            def __init__(self, means, where):
                super().__init__()
                mean = torch.Tensor(means).to(where).view(-1, 1, 1)
                self.normalizer = {0}

            def forward(self, images):
                return [self.normalizer(image) for image in images]
        """,
        [
            ("lambda x: x - mean", True),
            ("partial(normalized, mean=mean)", True),
            ("lambda x: x - mean.to(x.device)", False),
            ("lambda x, mean: x - mean", False),
            ("partial(normalized, mean=0.5)", False),
        ],
    ),
    "a function of another file makes a table": (
        "TDV006",
        """
        from torch import nn
        from .layers import {0} as make


        class Reader(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.table = make(100, width)

            def forward(self, x):
                return x + self.table[:, : x.size(1)]
        """,
        [("positional_encoding", True), ("sincos_pos_embed", True), ("build_layer", False)],
    ),
    "a table that nothing shows to be one": (
        "TDV006",
        """
        from torch import nn
        from .layers import positional_encoding


        class Reader(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.table = positional_encoding(100, width)

            def forward(self, x):
                return {0}
        """,
        [("x + self.table[:, : x.size(1)]", True), ("self.table(x)", False), ("x + self.table[0]", False)],
    ),
    "an accelerator is written out where there is no other machine": (
        "TDV104",
        """
        import torch
        from exllamav2 import ExLlamaV2


        def framed(model: ExLlamaV2, embeddings: torch.Tensor, end: int):
            last = model.forward(torch.tensor([end])).to({0})
            rows = embeddings.size(0)
            embeddings = embeddings.view(rows, -1)
            return torch.cat((embeddings, last))
        """,
        [('"cuda:0"', True), ("embeddings.device", False)],
    ),
    "a number is told apart from its device": (
        "TDV016",
        """
        import torch
        from whisper import Model, Voice


        def load(name, device, device_index=0):
            model = Model(name, device=device, device_index=device_index)
            return model, Voice({0})
        """,
        [
            ("torch.device(device)", True),
            ('device == "cuda"', False),
            ("torch.device(device, device_index)", False),
            ('torch.device(f"{device}:{device_index}")', False),
        ],
    ),
}


@pytest.mark.parametrize(("rule", "code", "ways"), OPTED.values(), ids=OPTED)
def test_each_is_told_to_those_who_select_it(rule: str, code: str, ways: Sequence[tuple[str, bool]]) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    for put, wrong in ways:
        assert bool(_told(code.replace("{0}", put), rule)) == wrong, put


def test_a_tensor_that_gets_another_shape_later_says_where_it_is() -> None:
    """What was moved by then can be moved where the argument is, which was not bound anew before."""
    _, code, _ = OPTED["an accelerator is written out where there is no other machine"]
    program = textwrap.dedent(code.replace("{0}", '"cuda:0"'))
    (found,) = findings(program, "net.py", Config(select=("TDV104",)))
    assert found.fix is not None
    assert [edit.content for edit in found.fix.edits] == ["embeddings.device"]


def _told_there(root: Path, path: str, program: str, *rules: str) -> list[str]:
    """The same of a file of a repository."""
    (root / ".git").mkdir(exist_ok=True)
    (root / ".git" / "HEAD").touch()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    text = textwrap.dedent(program)
    (root / path).write_text(text, encoding="utf-8")
    told = check_source(text, str(root / path), Config(select=rules), DiskSources())
    return [one.code for one in told]


ELBO = """
import torch


class Elbo:
    def loss(self, log_pq):
        rank = torch.argsort(log_pq)
        return torch.index_select(torch.arange(self.num_particles) + 1, -1, rank)
"""


@pytest.mark.parametrize(
    ("path", "rules"), [("pyro/infer/elbo.py", ["TDV106"]), ("other/elbo.py", ["TDV005"])]
)
def test_a_default_device_of_a_library_is_no_answer_to_where(
    path: str, rules: list[str], tmp_path: Path
) -> None:
    """Of Pyro's own functions nothing is told by default, since programs set a default device; but to those who want every place told."""
    assert _told_there(tmp_path, path, ELBO, "TDV005", "TDV106") == rules


@pytest.mark.parametrize(("written", "rules"), [('"cuda"', ["TDV109"]), ("x.device", [])])
def test_an_index_is_lost_where_nothing_is_on_a_second_gpu(
    written: str, rules: list[str], tmp_path: Path
) -> None:
    """By default it is told of where a second one is used; else to those who want all doubts."""
    program = f"""
    import torch


    def beside(x: torch.Tensor):
        where = "cpu"
        if x.is_cuda:
            where = {written}
        return torch.zeros(3, device=where) + x
    """
    assert _told_there(tmp_path, "beside.py", program, "TDV016", "TDV109") == rules


@pytest.mark.parametrize(
    ("given", "rules"), [("", ["TDV107"]), (', map_location="cpu"', [])], ids=["nowhere", "to the CPU"]
)
def test_weights_of_an_address_are_mapped(given: str, rules: list[str], tmp_path: Path) -> None:
    """Of a project that saves none nothing is told by default: whoever published its weights may have saved them on a GPU."""
    program = f"""
    from torch.utils import model_zoo


    def load_pretrained(model, cfg):
        model.load_state_dict(model_zoo.load_url(cfg["url"]{given}))
    """
    (tmp_path / "other.py").write_text("import torch\n", encoding="utf-8")
    assert _told_there(tmp_path, "helpers.py", program, "TDV009", "TDV107") == rules


@pytest.mark.parametrize(
    ("note", "rules"), [("np.ndarray", ["TDV103"]), ("npt.NDArray[np.float32]", ["TDV103"]), ("float", [])]
)
def test_an_argument_is_said_to_be_an_array(note: str, rules: list[str]) -> None:
    """A tensor that somebody else has placed is read by NumPy where it meets an array."""
    program = f"""
    import numpy as np
    import numpy.typing as npt
    import torch


    def masked(grad: torch.Tensor, mask: {note}):
        return grad * mask
    """
    assert _told(program, "TDV103") == rules


def test_a_function_that_brings_its_tensors_is_the_cure() -> None:
    """A lambda that holds tensors brings them to its argument, whatever else has their names."""
    program = """
    import torch
    from torch import nn


    class Detector(nn.Module):
        def __init__(self, means):
            super().__init__()
            mean = torch.Tensor(means)
            self.normalizer = lambda x: x.mean(keepdim=True) - clip(mean, mean=1)

        def forward(self, images):
            return self.normalizer(images)
    """
    (found,) = findings(textwrap.dedent(program), "net.py", Config(select=("TDV006",)))
    assert found.fix is not None
    (edit,) = found.fix.edits
    assert edit.content == (
        "self.normalizer = lambda x: x.mean(keepdim=True) - clip(mean.to(x.device), mean=1)"
    )


# -- projects


SCRIPT = """\
import torch
import helpers
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    net = nn.Linear(3, 3).to(device)
    print(net(helpers.halved(torch.ones(2, 3))))


"""


@pytest.mark.parametrize(
    ("last", "found"), [('if __name__ == "__main__":\n    main()\n', ["TDV001"]), ("", [])]
)
def test_a_script_in_a_package_imports_what_stands_beside_it(
    last: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """Python looks first in the directory of the script that it runs, whatever `__init__.py` makes of it."""
    files = {
        "styles/neural/__init__.py": "",
        "styles/neural/train.py": SCRIPT + last,
        "styles/neural/helpers.py": "def halved(batch):\n    return batch.div(2)\n",
    }
    assert checked(tmp_path, files, "styles/neural/train.py") == found


@pytest.mark.parametrize(
    ("starts", "found"),
    [
        ("mp.spawn(run, nprocs=4)", []),
        ("run(0)", ["TDV016"]),
        ("mp.spawn(run, nprocs=4) if alone else run(0)  # torchrun run.py", ["TDV016"]),
    ],
)
def test_ranks_are_indices_where_all_who_import_start_their_processes(
    starts: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """A program that starts its processes itself has them on one machine."""
    loads = """
    import torch
    import torch.distributed as dist


    def load(name):
        return torch.load(name, map_location=torch.device("cuda", dist.get_rank()))
    """
    run = f"""
    import torch.multiprocessing as mp
    from weights import load


    def run(rank):
        load("net.pt")


    {starts}
    """
    files = {"weights.py": textwrap.dedent(loads), "run.py": textwrap.dedent(run), "pyproject.toml": ""}
    assert checked(tmp_path, files, "weights.py") == found


@pytest.mark.parametrize(("body", "found"), [("ids = ids.to(device)", []), ("ids = ids.long()", ["TDV001"])])
def test_a_device_that_nobody_reads_brings_nothing(
    body: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """The project's `forward` says what becomes of the device that an unknown model is told."""
    model = f"""
    from torch import nn


    class Clap(nn.Module):
        def forward(self, words, device=None):
            ids = words
            {body}
            return self.table(ids)
    """
    train = """
    import torch
    from somewhere import create_model

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = create_model("clap").to(device)
    print(model(torch.ones(2, 3).long(), device))
    """
    files = {"model.py": textwrap.dedent(model), "train.py": textwrap.dedent(train), "pyproject.toml": ""}
    assert checked(tmp_path, files, "train.py") == found


PENALTY = """
import torch


def penalty(critic, real, fake):
    share = torch.rand(real.size(0), 1)
    mixed = (share * real + (1 - share) * fake).requires_grad_(True)
    score = {0}
    return torch.autograd.grad(score.sum(), mixed, create_graph=True)[0].norm()
"""


@pytest.mark.parametrize(("score", "found"), [("critic(mixed)", ["TDV005"]), ("mixed.square()", [])])
def test_what_runs_a_model_and_differentiates_prepares_nothing(
    score: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """A plain function of a program whose file speaks of no device works where the model does that it is given."""
    train = """
    import torch
    from losses import penalty
    from options import options


    class Trainer:
        def __init__(self, opt, critic):
            self.device, self.critic = opt.device, critic.to(opt.device)

        def step(self, real, fake):
            return penalty(self.critic, real.to(self.device), fake.to(self.device))
    """
    files = {"losses.py": PENALTY.format(score), "train.py": textwrap.dedent(train)}
    assert checked(tmp_path, files, "losses.py") == found


LORA = """
import torch
from torch import nn


class Lora(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.low = nn.Parameter(torch.zeros(2, 3))

    def forward(self, x):
        return self.base(x) + x @ self.low.T @ self.low


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)

    def forward(self, x):
        return x + self.query(x)


class Net(nn.Module):
    def __init__(self, width=3, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def inject(model, names):
    hits = [(m, n, c) for m in model.modules() for n, c in m.named_children() if n in names]
    for part, name, child in hits:
        setattr(part, name, Lora(child))
    return len(hits)
"""


@pytest.mark.parametrize(
    ("moves", "again"),
    [
        (["net = Net().to(device)"], "net.to(device)"),
        (["net = Net()", "net.to(device=device)"], "net.to(device=device)"),
        (["net = Net()", "if True:", "    net.to(device)"], None),
        (["net = Net().to(device)", "device = pick(device)"], None),
    ],
    ids=["made and moved", "moved", "moved elsewhere", "another device since"],
)
def test_a_module_is_moved_again_behind_the_call_that_attaches_parts(
    moves: list[str], again: str | None, tmp_path: Path
) -> None:
    """A function of another file attaches them: the move is written once more where the call is."""
    (tmp_path / "lora.py").write_text(LORA, encoding="utf-8")
    lines = [
        "import torch",
        "from lora import Net, inject",
        "",
        "",
        "def main():",
        '    there = device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
        *(f"    {line}" for line in moves),
        '    count = inject(net, ("query",))',
        "    print(count, net(torch.ones(2, 3).to(there)))",
        "",
        "",
        "main()",
        "",
    ]
    text = "\n".join(lines)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").touch()
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    told = check_source(text, str(tmp_path / "train.py"), Config(select=("TDV008",)), DiskSources())
    fixes = [one.fix for one in told]
    assert len(fixes) == 1
    written = [edit.content for edit in fixes[0].edits] if fixes[0] is not None else None
    assert written == (None if again is None else [f"\n    {again}"])
