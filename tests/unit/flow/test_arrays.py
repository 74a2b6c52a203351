"""What `torch.tensor` makes of an array of NumPy's: a tensor with dimensions raises beside an accelerator's, a number does not."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

ARRAYS = [
    """
rng = np.random.default_rng(0)
w = torch.as_tensor(rng.normal(size=(4, 3)))
""",
    """
rng = np.random.default_rng(0)
w = torch.tensor(rng.random(4))
""",
    """
rng = np.random.RandomState(0)
w = torch.tensor(rng.randn(4, 3), dtype=torch.float32)
""",
    """
rng = np.random.default_rng(0)
w = torch.from_numpy(rng.normal(size=4).astype(np.float32))
""",
    "w = torch.tensor(np.random.rand(4).astype('float32'))",
    """
c = np.array([1.0, 2.0, 3.0])
w = torch.as_tensor(c / c.max())
""",
    """
y = np.array([0, 1, 1])
c = np.bincount(y)
w = torch.tensor(1.0 / c)
""",
    """
y = np.array([0, 1, 1])
c = np.bincount(y, minlength=3)
w = torch.tensor(len(y) / (3 * c), dtype=torch.float)
""",
    """
c = np.arange(4)
w = torch.tensor(np.exp(-c / 4))
""",
    """
c = np.linspace(0, 1, 5)
w = torch.as_tensor(np.sqrt(c))
""",
    """
b = np.linspace(1e-4, 0.02, 10)
w = torch.tensor(np.cumprod(1.0 - b))
""",
    """
b = np.linspace(1e-4, 0.02, 10, dtype=np.float64)
a = 1.0 - b
ac = np.cumprod(a, axis=0)
w = torch.from_numpy(np.append(1.0, ac[:-1]))
""",
    """
b = np.linspace(1e-4, 0.02, 10)
w = torch.tensor(np.append(1.0, b))
""",
    "w = torch.tensor(np.hanning(16))",
    "w = torch.tensor([float(i) for i in range(4)])",
    "w = torch.tensor(np.array([i for i in range(4)]))",
    "w = torch.tensor(np.outer(np.arange(3), np.arange(3)))",
    """
xx, yy = np.meshgrid(np.arange(3), np.arange(3))
w = torch.tensor(xx)
""",
    """
g = np.mgrid[0:3, 0:3]
w = torch.tensor(g)
""",
    """
c = np.arange(4)
w = torch.tensor(np.where(c > 1, 1.0, 0.0))
""",
    "w = torch.tensor(np.eye(3)[np.array([0, 1])])",
    "w = torch.FloatTensor(np.random.rand(4))",
    """
c = np.random.rand(4, 4)
w = torch.tensor(c.mean(axis=0))
""",
    "w = torch.tensor(np.tril(np.ones((4, 4))))",
    "w = torch.from_numpy(np.triu(np.ones((1, 4, 4)), k=1).astype('uint8')) == 0",
    """
pe = np.zeros((4, 4))
pe[:, 0::2] = np.sin(1.0)
w = torch.tensor(pe, dtype=torch.float32)
""",
    "w = torch.tensor(np.concatenate([np.zeros(2), np.ones(2)]))",
    """
d = {'a': 1, 'b': 2}
w = torch.tensor(list(d.values()))
""",
    """
rng = np.random.default_rng(0)
idx = rng.integers(0, 4, size=8)
w = torch.as_tensor(idx)
""",
    """
idx = np.random.choice(10, 4)
w = torch.tensor(idx)
""",
    """
idx = np.random.permutation(10)[:4]
w = torch.tensor(idx)
""",
    """
X = np.random.rand(10, 3)
w = torch.tensor(X[0])
""",
    """
X = np.random.rand(10, 3)
w = torch.tensor(X[:5])
""",
    """
import pandas as pd
df = pd.read_csv('a.csv')
w = torch.tensor(df['a'].values)
""",
    """
import pandas as pd
df = pd.read_csv('a.csv')
w = torch.tensor(df[['a', 'b']].values, dtype=torch.float32)
""",
    """
import pandas as pd
df = pd.read_csv('a.csv')
X = df.drop(columns=['y']).to_numpy()
w = torch.from_numpy(X).float()
""",
    """
from sklearn.model_selection import train_test_split
X = np.random.rand(10, 3)
y = np.random.rand(10)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.2)
w = torch.tensor(ya)
""",
    """
from sklearn.datasets import make_moons
X, y = make_moons(100)
w = torch.tensor(y)
""",
    """
from sklearn.preprocessing import StandardScaler
X = np.random.rand(10, 3)
s = StandardScaler()
X = s.fit_transform(X)
w = torch.FloatTensor(X)
""",
    """
X = np.random.rand(10, 3)
y = (X[:, 0] > 0.5).astype(np.float32)
w = torch.tensor(y)
""",
    "w = torch.tensor(-np.arange(3))",
    """
X = np.random.rand(10, 3)
w = torch.tensor(X[:, 0])
""",
    """
y = np.random.rand(10)
w = torch.tensor(y[:, None])
""",
    """
y = np.random.rand(10)
w = torch.tensor(np.c_[y, y])
""",
    """
y = np.array([0, 1, 1])
_, c = np.unique(y, return_counts=True)
w = torch.tensor(1.0 / c, dtype=torch.float32)
""",
    """
class A:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.x = self.rng.normal(size=(5, 2))
    def get(self):
        return torch.tensor(self.x)
w = A().get()
""",
    """
def make(n=10):
    t = np.linspace(0, 1, n)
    y = np.sin(t) + 0.1 * np.random.randn(n)
    return t, y

t, y = make()
w = torch.tensor(y, dtype=torch.float32)
""",
    """
n = 10
w = torch.tensor(np.zeros(n))
""",
    """
N = 10
rng = np.random.default_rng(0)
w = torch.from_numpy(rng.normal(size=(N, 3)).astype('float32'))
""",
    """
rng = np.random.RandomState(0)
X = rng.rand(100, 4)
idx = rng.choice(100, 8)
w = torch.tensor(X[idx])
""",
    """
X = np.random.rand(100, 4)
y = np.random.rand(100)
perm = np.random.permutation(len(X))
for i in range(0, 100, 10):
    b = perm[i:i + 10]
    w = torch.tensor(y[b])
    print(x * w)
""",
]
"""Each leaves a `w` that has dimensions."""

NUMBERS = [
    """
a = np.random.rand(4)
w = torch.tensor(np.mean(a))
""",
    """
a = np.random.rand(4)
w = torch.tensor(a.max())
""",
    """
a = np.random.rand(4)
w = torch.tensor(a[0])
""",
    """
a = np.random.rand(4)
for i in range(4):
    w = torch.tensor(a[i])
    print(x * w)
""",
    """
a = np.random.rand(4)
for v in a:
    w = torch.tensor(v)
    print(x * w)
""",
    """
rng = np.random.default_rng(0)
w = torch.tensor(rng.normal())
""",
    """
rng = np.random.default_rng(0)
w = torch.tensor(rng.normal(0.0, 1.0))
""",
    """
rng = np.random.default_rng(0)
w = torch.tensor(rng.integers(10))
""",
    "w = torch.tensor(np.random.choice([1, 2, 3]))",
    "w = torch.tensor(np.random.rand())",
    "w = torch.tensor(np.random.uniform(0, 1))",
    "w = torch.tensor(np.exp(2.0))",
    "w = torch.tensor(np.float32(2.0))",
    "w = torch.tensor(np.array(2.0))",
    """
a = np.random.rand(4)
w = torch.tensor(a.mean(axis=0))
""",
    """
a = np.random.rand(4)
w = torch.tensor(a @ a)
""",
    """
rng = np.random.default_rng(0)
w = torch.tensor(rng.normal(size=None))
""",
    """
a = np.random.rand(4)
w = torch.tensor(np.where(a > 0)[0][0])
""",
    """
a = np.array([1, 2, 2])
v, c = np.unique(a, return_counts=True)
w = torch.tensor(c[0] / c.sum())
""",
    """
def decay(t):
    return np.exp(-t / 4)

print(decay(np.arange(3)))
w = torch.tensor(decay(2.0))
""",
    """
def pick(shape=None):
    return np.random.uniform(0, 1, shape)

w = torch.tensor(pick())
""",
    """
a = np.random.rand(4, 4)
w = torch.tensor(a[1, 2])
""",
    """
a = np.random.rand(4, 4)
i, j = 1, 2
w = torch.tensor(a[i, j])
""",
    """
a = np.random.rand(4, 4)
w = torch.tensor(a.argmax())
""",
    """
a = np.linspace(0, 1, 5)
for i, v in enumerate(a):
    w = torch.tensor(v)
    print(x * w)
""",
    """
a = np.linspace(0, 1, 5)
b = np.linspace(0, 1, 5)
for u, v in zip(a, b):
    w = torch.tensor(u + v)
    print(x * w)
""",
    """
a = np.linspace(0, 1, 5)
ws = [torch.tensor(v) for v in a]
w = ws[0]
""",
    "w = torch.tensor(np.interp(0.3, np.arange(3), np.arange(3)))",
    """
a = np.cumprod(np.random.rand(5))
w = torch.tensor(a[-1])
""",
    "w = torch.tensor(np.trapz(np.arange(3)))",
    "w = torch.tensor(np.linalg.norm(np.arange(3)))",
    """
import pandas as pd
df = pd.DataFrame({'a': [1.0, 2.0]})
w = torch.tensor(df['a'].mean())
""",
    """
import pandas as pd
df = pd.DataFrame({'a': [1.0, 2.0]})
w = torch.tensor(df['a'][0])
""",
    """
import pandas as pd
df = pd.DataFrame({'a': [1.0, 2.0]})
w = torch.tensor(df.iloc[0]['a'])
""",
    """
import pandas as pd
df = pd.DataFrame({'a': [1.0, 2.0]})
w = torch.tensor(df.loc[0, 'a'])
""",
    """
import pandas as pd
df = pd.DataFrame({'a': [1.0, 2.0]})
for _, row in df.iterrows():
    w = torch.tensor(row['a'])
    print(x * w)
""",
    """
class D(torch.utils.data.Dataset):
    def __init__(self):
        self.y = np.random.rand(10)

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return torch.tensor(self.y[i])

w = D()[0]
""",
    """
n = None
w = torch.tensor(np.random.normal(0, 1, n))
""",
    """
a = np.random.rand(1)
w = torch.tensor(a.squeeze())
""",
    """
a = np.random.rand(1)
w = torch.tensor(a.reshape(()))
""",
    """
a = np.random.rand(4)
for _ in range(3):
    w = torch.tensor(a)
    a = a.sum()
    w = torch.tensor(a)
    print(x * w)
    break
""",
]
"""Each leaves a `w` that is a number, or may be one."""


def told(body: str) -> list[str]:
    program = f"""
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(1, device=device)
{textwrap.dedent(body)}
print(x * w)
"""
    found = {
        one.code
        for one in check_source(
            program, "program.py", Config(off_by_default=frozenset({"TDV101", "TDV105", "TDV106"}))
        )
    }
    return sorted(found)


@pytest.mark.parametrize("body", ARRAYS)
def test_an_array_makes_a_tensor_with_dimensions(body: str) -> None:
    assert told(body) in (["TDV004"], ["TDV005"])


@pytest.mark.parametrize("body", NUMBERS)
def test_a_number_goes_with_any_device(body: str) -> None:
    assert told(body) == []
