"""Programs that load a checkpoint and go on to a function of the project that uses an accelerator, whatever the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Checked = Callable[[Path, dict[str, str], str], list[str]]

RUN = """\
import sys
import torch
import steps
from nets import Policy
from nets import evaluate as evaluated

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy = Policy().to(device)
if len(sys.argv) > 1:
    policy.load_state_dict(torch.load("policy.pt"))
for x in batches():
    {step}
"""
STEPS = """\
def evaluate(x, net, cuda=True):
    if cuda:
        x = x.cuda(non_blocking=True)
    return net(x)

def asked(x, net):
    if not torch.cuda.is_available():
        return net(x)
    return net(x.cuda())

def either(x, net, often):
    if often:
        return evaluate(x, net)
    else:
        return net(x.to("cuda:0"))

def sometimes(x, net, often):
    if often:
        return evaluate(x, net)
    return net(x)

def train(x, net):
    torch.cuda.synchronize()
    return net(x)
"""
NETS = """\
import torch
class Base(torch.nn.Module):
    def act(self, x):
        pass

class Policy(Base):
    def act(self, x):
        return self.net(x.cuda())

    def plan(self, x):
        return self.net(x)

    def look(self, x):
        return self.net(x.cuda())

    def step(self, x):
        return self.net(x.cuda())

class Other(Base):
    def plan(self, x):
        return self.net(x.cuda())

    def look(self, x):
        return self.net(x)

def evaluate(x, net):
    return net(x)

def fit(net, batches):
    for x in batches:
        net(x).sum().backward()
    torch.save(net.state_dict(), "policy.pt")
"""
CASES = {
    "moved by default": ("steps.evaluate(x, policy)", []),
    "left alone": ("steps.evaluate(x, policy, cuda=False)", ["TDV009"]),
    "left to a list": ("steps.evaluate(*x)", ["TDV009"]),
    "another of that name": ("evaluated(x, policy)", ["TDV009"]),
    "asks": ("steps.asked(x, policy)", ["TDV009"]),
    "whichever is taken": ("steps.either(x, policy, x.often)", []),
    "only sometimes": ("steps.sometimes(x, policy, x.often)", ["TDV009"]),
    "under a condition": ("if x.often: steps.evaluate(x, policy)", ["TDV009"]),
    "waits for one": ("steps.train(x, policy)", []),
    "a method of its class": ("policy.act(x)", []),
    "a method, abstract elsewhere": ("nets[x.kind].act(x)", []),
    "of its own class": ("policy.plan(x)", ["TDV009"]),
    "not of another class": ("policy.look(x)", []),
    "of either class": ("nets[x.kind].look(x)", ["TDV009"]),
    "what optimizers have, too": ("policy.step(x)", ["TDV009"]),
}


def _loads(codes: list[str]) -> list[str]:
    return [code for code in codes if code in ("TDV009", "TDV999")]


@pytest.mark.parametrize(("step", "found"), CASES.values(), ids=CASES)
def test_goes_on_into_use(checked: Checked, tmp_path: Path, step: str, found: list[str]) -> None:
    files = {"run.py": RUN.format(step=step), "steps.py": STEPS, "nets.py": NETS}
    assert _loads(checked(tmp_path, files, "run.py")) == found


AGENT = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Agent:
    def __init__(self):
        self.net = nn.Linear(3, 2).to(device)

    def learn(self, x):
        self.net(x.to(device)).sum().backward()

    def save(self, path):
        torch.save(self.net.state_dict(), path)

    def load(self, path):
        self.net.load_state_dict(torch.load(path))

if __name__ == "__main__":
    agent = Agent()
    agent.load("agent.pt")
    hidden = torch.zeros(3){moved}
"""


@pytest.mark.parametrize(("moved", "found"), [(".cuda()", []), (".to(device)", ["TDV009"])])
@pytest.mark.parametrize("says", ["class Agent:\n    pass\n", "# as Agent does\n"])
def test_callers_of_another_class_of_that_name(
    checked: Checked, tmp_path: Path, moved: str, found: list[str], says: str
) -> None:
    """A file that has a class of that name itself, or only speaks of it, calls another one."""
    other = f"import torch\n{says}\nagent = made()\nagent.load('b.pt')\n"
    files = {"run.py": AGENT.format(moved=moved), "other.py": other}
    assert _loads(checked(tmp_path, files, "run.py")) == found


def test_callers_of_the_class_in_another_file(checked: Checked, tmp_path: Path) -> None:
    """What stands at the top of another file runs along with its own calls."""
    text = AGENT.format(moved="").replace('    agent.load("agent.pt")\n', "")
    other = 'from run import Agent\nagent = Agent()\nagent.load("b.pt")\nhidden = torch.zeros(3){}\n'
    for name, moved, found in (("a", ".cuda()", []), ("b", "", ["TDV009"])):
        (tmp_path / name).mkdir()
        files = {"run.py": text, "other.py": other.format(moved)}
        assert _loads(checked(tmp_path / name, files, "run.py")) == found
