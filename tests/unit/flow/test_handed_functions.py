"""Functions that are handed to code which cannot be read: what they do is all that can happen to a model by them."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

PROGRAM = """\
import functools
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2)

def decay(step):
    return 0.5 * step

def rate(step, warmup=4):
    {body}

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, {given})
model(torch.rand(4, 3, device=device))
"""


@pytest.mark.parametrize(
    ("body", "given", "expected"),
    [
        ("return step / warmup", "lambda step: rate(step)", ["TDV001"]),
        ("return step / warmup", "functools.partial(rate, warmup=3)", ["TDV001"]),
        ("return decay(step) / warmup", "lambda step: rate(step)", ["TDV001"]),
        ("return rate(step - 1) if step else 1.0", "lambda step: rate(step)", ["TDV001"]),
        ("return prepare(model) / warmup", "lambda step: rate(step)", []),
        ("return model.to(device) and decay(step)", "lambda step: rate(step)", []),
        ("return somewhere.begin(model) or decay(step)", "lambda step: rate(step)", []),
    ],
)
def test_a_function_that_only_computes_moves_no_model(body: str, given: str, expected: list[str]) -> None:
    text = PROGRAM.format(body=body, given=given)
    assert [one.code for one in findings(text, "program.py", Config())] == expected


HANDED = """\
import atexit, logging, os, signal, sys
import optuna
import wandb
import torch
from torch import nn
log = logging.getLogger(__name__)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2)

class Window:
    def __init__(self, net):
        self.net = net
    def show(self):
        self.net.to(device)
    def hide(self):
        print("gone")

def bye():
    os.remove("lock")
    log.info("gone with %s", model)

def fresh():
    other = nn.Linear(3, 2).to(device)
    for x in range(3):
        x = torch.rand(4, 3).detach().to(device)
    return other

def moves():
    global model
    model = model.to(device)

def restores():
    for part in model.parameters():
        part.data = part.data.to(device)

window = Window(model)

{handed}
model(torch.rand(4, 3, device=device))
"""


@pytest.mark.parametrize(
    ("handed", "expected"),
    [
        ("atexit.register(bye)", True),
        ("signal.signal(signal.SIGINT, lambda *_: sys.exit(bye()))", True),
        ("optuna.create_study().optimize(fresh, n_trials=3)", True),
        ("wandb.watch(model, log='all')", True),
        ("log.info('%s', model)", True),
        ("signal.signal(signal.SIGUSR1, lambda *_: window.hide())", True),
        ("signal.signal(signal.SIGUSR1, lambda *_: window.show())", False),
        ("import inspect\nprint(inspect.getmodule(model))", True),
        ("import inspect\nprint(inspect.getmembers(model, moves))", False),
        ("import sched\nsched.scheduler().enter(3, 1, moves)", False),
        ("import weakref\nweakref.finalize(window, somebody, model)", False),
        ("somebody.register(moves)", False),
        ("somebody.register(restores)", False),
        ("somebody.watch(model)", False),
        ("somebody.register(lambda trial: trial(model))", False),
        ("somebody.register(lambda: model.apply(lambda part: part.to(device)))", False),
    ],
)
def test_what_a_handed_function_says_is_all_that_it_does(handed: str, expected: bool) -> None:
    text = HANDED.format(handed=handed)
    last = text.count("\n")
    found = [one.code for one in findings(text, "program.py", Config()) if one.range.start.row == last]
    assert (found == ["TDV001"]) is expected
