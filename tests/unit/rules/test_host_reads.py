"""Which functions and methods read tensors on the host, and how the read is mended."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.check import check_source

HEADER = """\
import numpy as np
import torch
from torch import nn
d = torch.device("cuda" if torch.cuda.is_available() else "cpu")
t = torch.rand(4, device=d)
s = t.sum()
ts = []
for _ in range(3):
    ts.append(t.mean())
"""


def lines(code: str) -> list[int]:
    """The rows of `code` with a finding."""
    found = check_source(HEADER + code, "program.py", Config(select=("TDV010",)))
    return sorted({one.range.start.row - HEADER.count("\n") for one in found})


@pytest.mark.parametrize(
    "code",
    [
        "t.numpy()",
        "t.numpy(force=False)",
        "t.__array__()",
        "np.asarray(t)",
        "np.array(ts)",
        "np.stack([t, t])",
        "np.linalg.norm(t)",
        "np.mean(ts)",
        "np.random.choice(3, p=t)",
        "np.testing.assert_allclose(t, t.cpu())",
        "import matplotlib.pyplot as plt; plt.plot(t)",
        "import matplotlib.pyplot as plt; plt.plot(range(3), ts)",
        "import matplotlib.pyplot as plt; plt.imshow(t[0])",
        "import matplotlib.pyplot as plt; fig, ax = plt.subplots(); ax.plot(t)",
        "import matplotlib.pyplot as plt; fig, axes = plt.subplots(2); axes[0].hist(t)",
        "import matplotlib.pyplot as plt; fig = plt.figure(); a = fig.add_subplot(); a.plot(t)",
        "import matplotlib\ndef show(ax, y):\n  ax.plot(y.to(d))",
        "from sklearn.metrics import accuracy_score; accuracy_score([1], t)",
        "from sklearn import metrics; metrics.f1_score(y_true=t, y_pred=[1])",
        "from sklearn.manifold import TSNE; TSNE(2).fit_transform(t)",
        "from sklearn.cluster import KMeans\nk = KMeans(3)\nk.fit(t)",
        "from scipy.optimize import linear_sum_assignment; linear_sum_assignment(t)",
        "from scipy import stats; stats.spearmanr(t, t.cpu())",
        "import pandas as pd; pd.DataFrame(t)",
        "import seaborn as sns; sns.heatmap(t)",
    ],
)
def test_reads(code: str) -> None:
    assert lines(code) == [code.count("\n") + 1]


@pytest.mark.parametrize(
    "code",
    [
        "t.numpy(force=True)",
        "t.cpu().numpy()",
        "t.item(), t.tolist(), float(s), int(s), print(t)",
        "np.sum(t), np.shape(t), np.float64(s), np.zeros(len(t))",
        "np.asarray(t.tolist())",
        "t.numpy",
        "import matplotlib.pyplot as plt; plt.title(t)",
        "import matplotlib.pyplot as plt; plt.plot([x.item() for x in ts])",
        "from sklearn.model_selection import train_test_split; train_test_split(t)",
        "import pandas as pd; pd.read_csv(t)",
        "def f(x):\n  return x.numpy()",
        "def f(x, y):\n  return np.dot(x, y)",
        "def f(x, y):\n  return np.dot(x, y.to(x.device))",
        "from own import Net\nnet = Net().to(d)\nnp.array(net.predict(t))",
        "from own import Net\nnet = Net().to(d)\nfor box in net(t):\n  np.array(box)",
        "if d.type == 'cpu':\n  t.numpy()",
        "def f(x):\n  lib = torch if torch.is_tensor(x) else np\n  if lib == np:\n    np.array(x)\nf(t)",
        "def f(x):\n  lib = torch if torch.is_tensor(x) else np\n  if lib is not torch:\n    np.array(x)\nf(t)",
        "def f(x, y):\n  lib = torch if torch.is_tensor(x) else np\n  return lib.dot(x, y)\ndef g(*xs):\n  f(xs[0] + 1, t)",
        "def f(x, y):\n  if torch.is_tensor(x):\n    return x\n  return np.dot(x, y)\ndef g(x):\n  f(x, t)",
        "for _ in range(2):\n  x = torch.zeros(2)\n  x.numpy()\n  x = x.to(d)",
    ],
)
def test_does_not_read(code: str) -> None:
    assert lines(code) == []


def test_the_batch_of_an_iterator_kept_in_a_name() -> None:
    code = (
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "batches = iter(DataLoader(TensorDataset(torch.rand(3)), batch_size=1))\n"
        "(x,) = batches.__next__()\nx.numpy()\nx = x.cuda()\nx.numpy()"
    )
    assert lines(code) == [6]


def test_what_an_unread_class_gives_has_numpy_only_if_it_is_a_tensor() -> None:
    assert lines("from own import Net\nnet = Net().to(d)\nnet(t).numpy()") == [3]


@pytest.mark.parametrize(
    ("code", "edits", "applicability"),
    [
        ("t.numpy()", [".detach().cpu()"], Applicability.SAFE),
        ("t.detach().numpy()", [".cpu()"], Applicability.SAFE),
        ("t.data.numpy()", [".cpu()"], Applicability.SAFE),
        ("t.argmax().numpy()", [".cpu()"], Applicability.SAFE),
        ("with torch.no_grad():\n  t.numpy()", [".cpu()"], Applicability.SAFE),
        ("np.sqrt(t - 1)", ["(", ").detach().cpu()"], Applicability.SAFE),
        ("np.sqrt((t - 1))", [".detach().cpu()"], Applicability.SAFE),
        ("np.array(ts)", ["[t.detach().cpu() for t in ts]"], Applicability.UNSAFE),
        ("np.array(ts + ts)", ["[t.detach().cpu() for t in (ts + ts)]"], Applicability.UNSAFE),
    ],
)
def test_the_fix(code: str, edits: list[str] | None, applicability: Applicability | None) -> None:
    found = check_source(HEADER + code, "program.py", Config(select=("TDV010",)))
    fix = found[0].fix if found else None
    assert (None if fix is None else [edit.content for edit in fix.edits]) == edits
    assert (None if fix is None else fix.applicability) == applicability


def test_what_came_through_an_argument_is_mended_by_the_caller_unless_only_tensors_will_do() -> None:
    assert lines("def f(x):\n  return np.round(x)\nf(np.ones(3))\nf(t)") == [4]
    assert lines("def f(x):\n  return x.numpy()\nf(t)") == [2]


def test_a_read_that_fails_hides_nothing_else() -> None:
    """What is wrong after it, or in a function that nobody calls, is to be seen before the read is mended."""
    code = "def other():\n    return torch.ones(3, device=d) + torch.ones(3)\nt.numpy()\nt + torch.ones(4)\n"
    found = check_source(HEADER + code, "program.py", Config())
    rows = sorted((one.range.start.row - HEADER.count("\n"), one.code) for one in found)
    assert rows == [(2, "TDV005"), (3, "TDV010"), (4, "TDV005")]
