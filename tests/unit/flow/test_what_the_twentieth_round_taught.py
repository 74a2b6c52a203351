"""What a twentieth round of programs and a seventh list of mined bugs taught: look-alikes beside mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "settings that are written out and handed to the one function that reads them": (
        """
        import torch
        from torch import nn

        SETTINGS = {0}

        def resolve(spec):
            if spec == "auto":
                spec = "cuda" if torch.cuda.is_available() else "cpu"
            return torch.device(spec)

        def main(s):
            there, back = resolve(s["train"]), resolve(s["eval"])
            net = nn.Linear(2, 2).to(there)
            x = torch.randn(2, 2)
            net(x.to(there))
            net.to(back)
            net(x)

        main(SETTINGS)
        """,
        [
            ('{"train": "auto", "eval": "cpu"}', []),
            ('{"train": "auto", "eval": "auto"}', ["TDV001"]),
            ('{"train": "auto", "eval": input()}', ["TDV001"]),
        ],
    ),
    "a constructor that converts what a program gives it": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        class Normalization(nn.Module):
            def __init__(self, mean):
                super().__init__()
                self.mean = torch.as_tensor(mean).view(-1, 1, 1)
            def forward(self, img):
                return img - self.mean

        def build(mean):
            return nn.Sequential(Normalization(mean), nn.Flatten())

        build({0})(torch.rand(1, 2, 3, 3, device=device))
        """,
        [
            ("torch.tensor([0.4, 0.2]).to(device)", []),
            ("[0.4, 0.2]", ["TDV006"]),
        ],
    ),
    "what unpacking a tensor of bounds gives are numbers": (
        """
        import torch
        from torch import nn

        class Rating(nn.Module):
            def __init__(self, bounds):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.bounds = torch.tensor({0})
            def forward(self, x):
                low, high = self.bounds
                return torch.minimum(torch.maximum(self.lin(x), low), high)
        """,
        [("bounds", []), ("[bounds, bounds]", []), ("[[1.0, 2.0], [3.0, 4.0]]", ["TDV006"])],
    ),
    "a name of an accelerator that is looked up, where another name is a device": (
        """
        import torch

        def root(accelerator):
            return torch.zeros(2, device={0})
        """,
        [
            ('{"gpu": "cuda:0"}.get(accelerator, accelerator)', []),
            ('{"gpu": "cuda:0"}.get(accelerator, accelerator + ":0")', ["TDV002"]),
        ],
    ),
    "a context manager of the program's that enters a device": (
        """
        import contextlib
        import torch
        from torch import nn

        @contextlib.contextmanager
        def on(device):
            with {0}:
                yield torch.device(device)

        def main():
            where = "cuda" if torch.cuda.is_available() else "cpu"
            with on(where) as device:
                net = nn.Linear(2, 2)
            for step in range(3):
                x = torch.randn(2, 2)
                with torch.no_grad():
                    net(x.to(device))
        """,
        [("torch.device(device)", []), ("torch.no_grad()", ["TDV001"])],
    ),
    "a generator that is told to be the CPU's, beside what is given": (
        """
        import torch

        class Decoder:
            def __init__(self, seed=0):
                self.generator = torch.Generator({0}).manual_seed(seed)
            def pick(self, p):
                return {1}
        """,
        [
            (('"cpu"', "torch.multinomial(p, 1, generator=self.generator)"), []),
            (("", "torch.multinomial(p, 1, generator=self.generator)"), ["TDV011"]),
            (('"cpu"', "torch.rand(p.shape, generator=self.generator, device=p.device)"), ["TDV011"]),
        ],
    ),
    "a function whose documentation says that it is given tensors of the host": (
        '''
        import torch

        def damped(W, H, damp=0.01):
            """{0}"""
            return H.clone() + damp * H.diagonal().mean() * torch.eye(len(W), dtype=H.dtype)
        ''',
        [
            ("W, H: cpu double.", []),
            ("H: on the host, as the solver is.", []),
            ("H: on the CPU or a GPU.", ["TDV005"]),
            ("W, H: square.", ["TDV005"]),
        ],
    ),
    "modules that embed tokens work where the model is": (
        """
        import torch
        from torch import nn

        class {0}(nn.Module):
            def __init__(self, cardinalities, d):
                super().__init__()
                self.offsets = torch.tensor([0] + cardinalities[:-1]).cumsum(0)
                self.embeddings = nn.Embedding(sum(cardinalities), d)
            def forward(self, x: torch.Tensor):
                return self.embeddings(x + self.offsets[None])
        """,
        [("FeatureTokenizer", ["TDV006"]), ("FeatureEncoder", ["TDV006"]), ("FeatureAugmenter", [])],
    ),
    "an attribute that is asked whether it is a tensor, moved and thrown away": (
        """
        import torch
        from torch import nn

        class Focal(nn.Module):
            def __init__(self, alpha=None):
                super().__init__()
                self.alpha = alpha
            def forward(self, input, target):
                if {0}:
                    self.alpha.to(input.device)
                    return input * self.alpha.gather(0, target)
                return input
        """,
        [
            ("torch.is_tensor(self.alpha)", ["TDV003"]),
            ("isinstance(self.alpha, torch.Tensor)", ["TDV003"]),
            ("self.alpha is not None", []),
        ],
    ),
    "options of absl": (
        """
        import numpy as np
        import torch
        from absl import app, flags
        from torch import nn

        FLAGS = flags.FLAGS
        flags.DEFINE_enum("device", "cpu", ["cpu", "cuda"], "where")

        def act(state, policy, device):
            return policy(torch.from_numpy(state).float().to(device))

        def main(argv):
            policy = nn.Linear(2, 2){0}
            act(np.zeros(2), policy, device=FLAGS.device)

        app.run(main)
        """,
        [("", ["TDV001"]), (".to(FLAGS.device)", [])],
    ),
    "who imports unittest and tests nothing": (
        """
        import unittest
        import torch
        from torch import nn
        from torch.nn import functional as F

        class Layer(nn.Module):
            def __init__(self, bias):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(3, 3))
                self.bias = bias
            def forward(self, x):
                return F.linear(x, self.weight, self.bias or torch.zeros(3))

        {0}
        """,
        [("", ["TDV005"]), ("class Checks(unittest.TestCase):\n    pass", [])],
    ),
    "a list that is moved": (
        """
        import torch

        def main(device, batch):
            xs = {0}
            if {1}:
                xs = xs.to(device)
            return xs
        """,
        [
            (("[torch.zeros(2), torch.ones(2)]", "True"), ["TDV012"]),
            (("[torch.zeros(2) for _ in range(3)]", "device"), ["TDV012"]),
            (("tuple(torch.zeros(2) for _ in range(3))", "True"), ["TDV012"]),
            (("[torch.zeros(2), torch.ones(2)]", 'hasattr(xs, "to")'), []),
            (("torch.stack([torch.zeros(2), torch.ones(2)])", "True"), []),
            (("batch", "True"), []),
            (("[one for one in batch]", "True"), []),
        ],
    ),
    "what is called to make a device, and a legacy constructor that is told one": (
        """
        import torch

        def main(rank, device):
            return {0}
        """,
        [
            ("torch.cuda(rank)", ["TDV012"]),
            ('torch.device("cuda", rank)', []),
            ("torch.FloatTensor([0, 1, 0], device=device)", ["TDV012"]),
            ("torch.LongTensor(3, device=device)", ["TDV012"]),
            ('torch.FloatTensor([0, 1, 0], device="cpu").to(device)', []),
            ("torch.tensor([0, 1, 0], device=device)", []),
        ],
    ),
    "the first GPU of each process, in a program of one file": (
        """
        import torch

        class Queue(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Linear(2, 2)
            def forward(self, x):
                logits = self.net(x)
                labels = torch.zeros(logits.shape[0], dtype=torch.long)
                if logits.is_cuda:
                    labels = labels.cuda()
                return logits, labels

        def main(gpu):
            {0}
            model = Queue().cuda(gpu)

        if __name__ == "__main__":
            main(0 if torch.cuda.is_available() else None)
        """,
        [("torch.cuda.set_device(gpu)", []), ("print(gpu)", ["TDV016"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])


def test_a_name_that_is_made_of_itself_ends(told_each_time: Callable[[str, Ways], None]) -> None:
    """`x = x + noise` in a function that draws with a generator it is given, of the CPU or another."""
    told_each_time(
        """
        import torch

        def langevin(x, score, steps, gen):
            for i in range(steps):
                noise = torch.empty_like(x).normal_(generator=gen)
                {0}
            return x

        def main():
            device = torch.device("cuda", 0) if torch.cuda.device_count() else torch.device("cpu")
            gen = torch.Generator(device=device)
            langevin(torch.randn(3, 2, device=device, generator=gen), torch.sin, 3, gen)

        main()
        """,
        [("x = x + score(x) + noise", []), ("y = x + noise", [])],
    )
