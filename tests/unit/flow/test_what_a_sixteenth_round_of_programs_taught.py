"""What a sixteenth to an eighteenth round of programs by others taught: look-alikes that were told, beside mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "what is no tensor is not on a device": (
        """
        import torch

        def pull(x):
            if {0}:
                return x
            if x.device.type == "cpu":
                return x
            return {1}

        class Capacity:
            def __init__(self, size):
                self.size = size
                self.load = torch.zeros(size, dtype=torch.long)

            def admit(self, ids):
                ids = pull(ids)
                self.load += torch.bincount(ids, minlength=self.size)
                return ids

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print(Capacity(3).admit(torch.tensor([1, 2], device=device)))
        """,
        [
            (("not torch.is_tensor(x)", "x.cpu()"), []),
            (("x is None", "x.cpu()"), []),
            (("not torch.is_tensor(x)", "x.clone()"), ["TDV004"]),
            (("x.is_cuda", "x.cpu()"), ["TDV004"]),
        ],
    ),
    "a device that is read from settings, which say the CPU": (
        '''
        import configparser, io
        import torch
        from torch import nn

        SETTINGS = """
        [eval]
        device = {0}
        """

        parser = configparser.ConfigParser()
        parser.read_file(io.StringIO(SETTINGS))
        device = torch.device(parser.get("eval", "device"))
        net = nn.Linear(2, 2).to(device)
        print(net(torch.zeros(3, 2)))
        ''',
        [("cpu", []), ("cuda", ["TDV001"])],
    ),
    "what a class keeps, of which it makes its own instances": (
        """
        import torch

        class Camera:
            def __init__(self, pose, size):
                self.pose, self.size = pose, size

            @classmethod
            def looking(cls, size{1}):
                return cls({0}, size)

            def rays(self):
                steps = torch.linspace(-1, 1, self.size)
                return torch.cat([self.pose[:3].expand_as(steps), steps], -1)
        """,
        [
            (("torch.eye(4)", ""), []),
            (("pose", ", pose"), ["TDV005"]),
            (("torch.eye(4).cuda()", ""), ["TDV005"]),
        ],
    ),
    "an object that moves what it finds under names": (
        """
        import torch

        class Placed:
            names = ()

            def __init_subclass__(cls, **options):
                super().__init_subclass__(**options)
                cls.names = tuple(name for base in cls.__mro__ for name in base.__dict__.get("TENSORS", ()))

            def to(self, device):
                for name in self.names:
                    value = getattr(self, name, None)
                    if value is not None:
                        {0}
                return self

        class Schedule(Placed):
            TENSORS = ("alphas",)

            def __init__(self, steps):
                self.alphas = torch.linspace(1, 0, steps)

        schedule = Schedule(8).to("cuda")
        print(schedule.alphas[torch.randint(0, 8, (4,), device="cuda")])
        """,
        [("setattr(self, name, value.to(device))", []), ("value.to(device)", ["TDV004"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])
