"""What nobody meets: behind calls that Python refuses, in files that cannot be imported, in classes that cannot be made, what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Checked = Callable[[Path, dict[str, str], str], list[str]]
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a constructor that has changed": (
        """
        import torch
        from torch import nn

        class Photos:
            def __init__(self, path, size, test=False, *, shuffle=False{1}):
                self.path = path

        def main():
            photos = Photos({0})
            net = nn.Linear(3, 3).to("cuda")
            net(torch.rand(3, 3))

        main()
        """,
        [
            (("'a', 3", ""), ["TDV001"]),
            (("'a', 3, test=True, shuffle=True", ""), ["TDV001"]),
            (("'a'", ""), []),
            (("'a', 3, 4, test=True", ""), []),
            (("'a', 3, 4, True", ""), []),
            (("'a', size=3, depth=2", ""), []),
            (("'a', size=3, depth=2", ", **more"), ["TDV001"]),
            (("*given", ""), ["TDV001"]),
            (("**given", ""), ["TDV001"]),
        ],
    ),
    "a function": (
        """
        import functools
        import torch
        from torch import nn

        {0}
        def crop(x, size, /, mode, *others):
            return x

        def run():
            try:
                crop({1})
            finally:
                pass
            nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

        run()
        """,
        [
            (("", "1, 2, 3"), ["TDV001"]),
            (("", "1, 2, 3, 4, 5"), ["TDV001"]),
            (("", "1, 2, mode=3"), ["TDV001"]),
            (("", "1, 2"), []),
            (("", "1, size=2, mode=3"), []),
            (("@given", "1, 2"), ["TDV001"]),
            (("@functools.cache", "1, 2"), ["TDV001"]),
        ],
    ),
    "what is expected": (
        """
        import torch
        from torch import nn
        {0}

        def crop(x, size):
            return x

        def run():
            {1}
            nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

        run()
        """,
        [
            (("", "crop(1)"), []),
            (("import pytest", "with pytest.raises(TypeError):\n                crop(1)"), ["TDV001"]),
            (
                ("", "try:\n                crop(1)\n            except TypeError:\n                pass"),
                ["TDV001"],
            ),
            (("crop = chosen(crop)", "crop(1)"), ["TDV001"]),
            (("if torch.cuda.is_available():\n            def crop(x): return x", "crop(1)"), ["TDV001"]),
        ],
    ),
    "methods": (
        """
        import torch
        from torch import nn

        class Base:
            def size(self):
                return 3

            def run(self):
                {0}
                nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

        class Other(Base):
            def size(self, of):
                return of

            def __call__(self, x):
                return x

        {1}
        """,
        [
            (("self.size()", ""), ["TDV001"]),
            (("self.size(4)", ""), ["TDV001"]),  # of another class, it may be
            (("", "Other().size()\n        nn.Linear(3, 3).to('cuda')(torch.rand(3, 3))"), ["TDV001"]),
            (("pass", "Other()(4)\n        nn.Linear(3, 3).to('cuda')(torch.rand(3, 3))"), ["TDV001"]),
        ],
    ),
    "a layer before `super().__init__()`": (
        """
        import torch
        from torch import nn
        from made import Base

        class Net({1}):
            def __init__(self, width):
                {0}

            def forward(self, x: torch.Tensor):
                return x + torch.zeros(3)
        """,
        [
            (("super().__init__()\n                self.fc = nn.Linear(3, width)", "nn.Module"), ["TDV005"]),
            (("self.fc = nn.Linear(3, width)", "nn.Module"), []),
            (("self.fc = nn.Linear(3, width)\n                super().__init__()", "nn.Module"), []),
            (("self.width = width", "nn.Module"), ["TDV005"]),
            (
                ("nn.Module.__init__(self)\n                self.fc = nn.Linear(3, width)", "nn.Module"),
                ["TDV005"],
            ),
            (
                (
                    "if width:\n                    self.begin()\n                self.fc = nn.Linear(3, width)",
                    "nn.Module",
                ),
                ["TDV005"],
            ),
            (("self.fc = nn.functional.relu(width)", "nn.Module"), ["TDV005"]),
            (("self.fc = nn.Linear(3, width)", "nn.Module, Base"), ["TDV005"]),
        ],
    ),
    "an instance of a class that cannot be made": (
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width):
                {0}
                self.fc = nn.Linear(3, width)

            def forward(self, x):
                return self.fc(x)

        def run():
            net = Net(3)
            nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

        run()
        """,
        [("super().__init__()", ["TDV001"]), ("self.width = width", [])],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_look_alikes_beside_mistakes(what: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way("", *CASES[what])


RUN = """\
import torch
from torch import nn
{imports}

def run():
    nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

run()
"""
PROJECT = {
    "pkg/__init__.py": "from .layers import Layer\n",
    "pkg/layers.py": "class Layer:\n    pass\n",
    "pkg/more/__init__.py": "",
    "pkg/stars.py": "from .layers import *\n",
    "pkg/lazy.py": "def __getattr__(name):\n    return name\n",
    "pkg/broken.py": "from .gone import Thing\n",
    "pkg/careful.py": "try:\n    from .gone import Thing\nexcept ImportError:\n    Thing = None\n",
    "pkg/compiled.pyx": "",
    "pkg/quoted.py": '"""Say:\nfrom .gone import Thing\n"""\n',
    ".gitignore": "ignored.py\n",
}


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ("from pkg.layers import Layer", ["TDV001"]),
        ("from pkg import Layer, layers, more", ["TDV001"]),
        ("from pkg.layers import Linear", []),
        ("from pkg.layers import (Layer,\n    Linear as Other)", []),
        ("from pkg.layers import Layer as Linear", ["TDV001"]),
        ("from pkg.gone import Thing", []),
        ("import pkg.gone", []),
        ("from pkg import gone", []),
        ("from pkg.more.gone import Thing", []),
        ("from elsewhere.gone import Thing", ["TDV001"]),
        ("import gone", ["TDV001"]),
        ("from pkg.stars import Anything", ["TDV001"]),
        ("from pkg.lazy import Anything", ["TDV001"]),
        ("from pkg.compiled import Anything", ["TDV001"]),
        ("from pkg.ignored import Anything", ["TDV001"]),
        ("from pkg._C import Anything", ["TDV001"]),
        ("from pkg.broken import Thing", []),
        ("from pkg.careful import Thing", ["TDV001"]),
        ("import pkg.quoted", ["TDV001"]),
        ("try:\n    from pkg.gone import Thing\nexcept ImportError:\n    pass", ["TDV001"]),
        ("import sys\nsys.path.append('..')\nfrom pkg.gone import Thing", []),
        ("import sys\nsys.path.append('../other')\nfrom pkg.gone import Thing", ["TDV001"]),
        ("import os\nos.chdir('..')\nfrom pkg.gone import Thing", ["TDV001"]),
        ("from pkg.stars import *", ["TDV001"]),
    ],
)
def test_what_imports_what_is_not_there(
    checked: Checked, tmp_path: Path, imports: str, found: list[str]
) -> None:
    assert checked(tmp_path, {**PROJECT, "run.py": RUN.format(imports=imports)}, "run.py") == found


def test_a_package_that_may_be_installed(checked: Checked, tmp_path: Path) -> None:
    """From another directory than its own, a package of one name may be a library's, which has what the project's own has not."""
    files = {**PROJECT, "scripts/run.py": RUN.format(imports="from pkg import gone")}
    assert checked(tmp_path, files, "scripts/run.py") == ["TDV001"]


SCRIPT = """\
import torch
from torch import nn

def evaluate(args):
    nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

class Runner:
    def run(self):
        nn.Linear(3, 3).to("cuda")(torch.rand(3, 3))

def train(args):
    return args

def main(args):
    {does}

if __name__ == "__main__":
    {starts}
"""


@pytest.mark.parametrize(
    ("does", "starts", "others", "found"),
    [
        ("train(args)", "main(1)", {}, []),
        ("evaluate(args)", "main(1)", {}, ["TDV001"]),
        ("Runner().run()", "main(1)", {}, ["TDV001"]),
        ("train(evaluate)", "main(1)", {}, ["TDV001"]),
        ("train(args)  # evaluate(args)", "main(1)", {}, []),
        ("train('evaluate')", "main(1)", {}, []),
        ("train(globals()['evaluate'])", "main(1)", {}, ["TDV001", "TDV001"]),
        ("train(args)", "import fire; fire.Fire()", {}, ["TDV001", "TDV001"]),
        ("train(args)", "print()", {}, ["TDV001", "TDV001"]),  # nothing here is run
        ("train(args)", "main(1)", {"other.py": "from script import evaluate\nevaluate(1)\n"}, ["TDV001"]),
        ("train(args)", "main(1)", {"other.py": "import script\nscript.evaluate(1)\n"}, ["TDV001", "TDV001"]),
        ("train(args)", "main(1)", {"other.py": "from script import *\n"}, ["TDV001", "TDV001"]),
        ("train(args)", "main(1)", {"setup.py": "entry_points = ['run=script']\n"}, ["TDV001", "TDV001"]),
    ],
)
def test_what_is_left_in_a_script(
    checked: Checked, tmp_path: Path, does: str, starts: str, others: dict[str, str], found: list[str]
) -> None:
    files = {"script.py": SCRIPT.format(does=does, starts=starts), **others}
    assert checked(tmp_path, files, "script.py") == found
