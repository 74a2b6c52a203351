"""What programs do besides, between making their model and running it: none of it moves the model, or hides that nothing does."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

PROGRAM = """\
import torch
from torch import nn


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(3, 2){moved}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
{besides}
    for _ in range(3):
        x = torch.rand(4, 3, device=device)
        loss = net(x).sum()
        loss.backward()
        optimizer.step()


main()
"""

BESIDES = {
    "wandb": """\
    import wandb
    wandb.init(project="x", config={"a": 1})
    wandb.watch(net, log="all")""",
    "writer": """\
    from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter("runs")
    writer.add_text("model", str(net))""",
    "count": """\
    print(sum(p.numel() for p in net.parameters() if p.requires_grad))""",
    "compile": """\
    net = torch.compile(net)""",
    "sched": """\
    sched_ = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=100)""",
    "transformers": """\
    from transformers import get_linear_schedule_with_warmup
    sched_ = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=10, num_training_steps=100)""",
    "atexit": """\
    import atexit, os
    def bye_():
        os.remove("x.lock")
    atexit.register(bye_)""",
    "signal": """\
    import signal, sys
    def stop_(sig, frame):
        print("stopping")
        sys.exit(0)
    signal.signal(signal.SIGINT, stop_)""",
    "logger": """\
    import logging
    log_ = logging.getLogger(__name__)
    log_.info("model %s", net)""",
    "loguru": """\
    from loguru import logger
    logger.info(f"model {net}")""",
    "ema": """\
    from torch_ema import ExponentialMovingAverage
    ema_ = ExponentialMovingAverage(net.parameters(), decay=0.99)""",
    "mlflow": """\
    import mlflow
    mlflow.log_params({"n": sum(p.numel() for p in net.parameters())})""",
    "fvcore": """\
    from fvcore.nn import parameter_count_table
    print(parameter_count_table(net))""",
    "gradclip": """\
    for p_ in net.parameters():
        p_.register_hook(lambda grad: torch.clamp(grad, -1, 1))""",
    "init": """\
    def init_(layer):
        if isinstance(layer, torch.nn.Linear):
            torch.nn.init.xavier_uniform_(layer.weight)
    net.apply(init_)""",
    "try": """\
    try:
        import apex_
    except ImportError:
        apex_ = None""",
    "resume": """\
    import os
    if os.path.exists("last.pt"):
        state_ = torch.load("last.pt", map_location="cpu")
        net.load_state_dict(state_["model"])
        optimizer.load_state_dict(state_["optimizer"])""",
    "dp": """\
    if torch.cuda.device_count() > 1:
        net = torch.nn.DataParallel(net)""",
    "seed": """\
    import random, numpy as np_
    random.seed(0)
    np_.random.seed(0)
    torch.cuda.manual_seed_all(0)
    torch.backends.cudnn.benchmark = True""",
    "scaler": """\
    scaler_ = torch.cuda.amp.GradScaler()""",
    "earlystop": """\
    class Early_:
        def __init__(self, patience=3):
            self.patience, self.best = patience, None
        def __call__(self, loss, net):
            if self.best is None or loss < self.best:
                self.best = loss
                torch.save(net.state_dict(), "best.pt")
    early_ = Early_()
    early_(1.0, net)""",
    "profiler": """\
    plan_ = torch.profiler.schedule(wait=1, warmup=1, active=1)
    prof_ = torch.profiler.profile(schedule=plan_, on_trace_ready=lambda p: print(p.key_averages()))
    prof_.start()""",
    "freeze": """\
    for n_, p_ in net.named_parameters():
        if "bias" in n_:
            p_.requires_grad = False""",
    "optuna": """\
    import optuna
    def objective_(trial):
        return trial.suggest_float("lr", 0.1, 1.0)
    study_ = optuna.create_study()
    study_.optimize(objective_, n_trials=3)""",
    "thread": """\
    import threading
    def beat_():
        while True:
            print("alive")
    threading.Thread(target=beat_, daemon=True).start()""",
    "partial": """\
    import functools
    def report_(step, every=10):
        if step % every == 0:
            print("step", step)
    tell_ = functools.partial(report_, every=5)
    from callbacks_ import register
    register(tell_)""",
    "half": """\
    import os
    if os.environ.get("FP16"):
        net.half()""",
    "timer": """\
    import functools, time
    def timed_(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            begin = time.time()
            result = fn(*args, **kwargs)
            print(time.time() - begin)
            return result
        return inner
    @timed_
    def step_(net):
        return sum(p.sum() for p in net.parameters())
    step_(net)""",
    "getattr": """\
    cfg_ = dict(lr=0.1)
    second_ = getattr(torch.optim, "Adam")(net.parameters(), **cfg_)""",
    "swa": """\
    swa_ = torch.optim.swa_utils.AveragedModel(net)""",
    "best": """\
    import copy
    best_ = copy.deepcopy(net.state_dict())""",
    "hub": """\
    sd_ = torch.hub.load_state_dict_from_url("http://x/y.pth", map_location="cpu")
    net.load_state_dict(sd_, strict=False)""",
    "named": """\
    for n_, mod_ in net.named_modules():
        if isinstance(mod_, torch.nn.Linear):
            torch.nn.init.kaiming_normal_(mod_.weight)
            mod_.bias.data.zero_()""",
    "module": """\
    bare_ = net.module if hasattr(net, "module") else net
    print(type(bare_).__name__)""",
    "hook": """\
    net.register_forward_hook(lambda mod, args, out: None)""",
    "config": """\
    from config_ import cfg
    rate_ = cfg.TRAIN.LR * cfg.TRAIN.BATCH
    cfg.freeze()""",
    "ddp": """\
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        net = torch.nn.parallel.DistributedDataParallel(net)""",
    "callbacks": """\
    callbacks_ = [lambda net: print(net)]
    for cb_ in callbacks_:
        cb_(net)""",
    "evaltrain": """\
    net.eval()
    net.train()
    net.requires_grad_(True)""",
    "channels": """\
    net = net.to(memory_format=torch.contiguous_format)""",
    "setattr": """\
    setattr(net, "name_", "x")
    net.epoch_ = 0""",
    "ckptfn": """\
    def save_(net, opt, path):
        state = {"net": net.state_dict(), "opt": opt.state_dict()}
        torch.save(state, path)
    save_(net, optimizer, "x.pt")""",
    "registry": """\
    REG_ = {}
    REG_["net"] = net
    print(list(REG_))""",
    "namespace": """\
    from types import SimpleNamespace
    state_ = SimpleNamespace(model=net, opt=optimizer, step=0)
    state_.step += 1""",
    "dataclass": """\
    from dataclasses import dataclass
    @dataclass
    class Run_:
        net: object
        step: int = 0
    run_ = Run_(net)
    run_.step += 1""",
    "with": """\
    import contextlib
    @contextlib.contextmanager
    def section_(name):
        print(name)
        yield
        print("done", name)
    with section_("setup"):
        print(net)""",
    "assert": """\
    assert isinstance(net, torch.nn.Module)
    if not list(net.parameters()):
        raise RuntimeError("empty")""",
    "env": """\
    import os
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.makedirs("out", exist_ok=True)""",
    "flops": """\
    try:
        from thop import profile
        print(profile(net, inputs=()))
    except Exception as e:
        print(e)""",
    "unknownloader": """\
    from dataset_ import Data_
    extra_ = Data_(root="x", train=True)
    print(len(extra_))""",
    "tbgraph": """\
    from torch.utils.tensorboard import SummaryWriter
    tb_ = SummaryWriter()
    tb_.add_graph(net, None)
    tb_.add_scalar("x", 1.0, 0)""",
}


@pytest.mark.parametrize("name", BESIDES)
@pytest.mark.parametrize(("moved", "found"), [(".to(device)", []), ("", ["TDV001"])])
def test_what_is_done_besides(name: str, moved: str, found: list[str]) -> None:
    text = PROGRAM.format(moved=moved, besides=BESIDES[name])
    assert [one.code for one in findings(text, "train.py", DEFAULT)] == found
