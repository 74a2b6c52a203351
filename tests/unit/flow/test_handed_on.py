"""Values that come to their use by detours: queues, threads, coroutines, functions that are handed on. Right programs beside wrong ones."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a coroutine that is sent batches": (
        """
        def running_mean(where):
            total = torch.zeros(3, device=where)
            mean = None
            while True:
                x = yield mean
                total += x.to(where)
                mean = total / 2
        avg = running_mean(device)
        next(avg)
        for _ in range(4):
            m = avg.send(torch.rand(3))
        torch.full((3,), 0.5, device=device) - m
        """,
        """
        def running_mean(where):
            total = torch.zeros(3, device=where)
            mean = None
            while True:
                x = yield mean
                total += x
                mean = total / 2
        avg = running_mean(device)
        next(avg)
        for _ in range(4):
            m = avg.send(torch.rand(3))
        """,
    ),
    "what comes after a generator without an end": (
        """
        def forever(data):
            while True:
                for x in data:
                    yield x.to(device)
        net = nn.Linear(3, 3).to(device)
        rows = forever([torch.rand(2, 3)])
        for _ in range(5):
            net(next(rows))
        """,
        """
        def forever(data):
            while True:
                for x in data:
                    yield x
        net = nn.Linear(3, 3).to(device)
        rows = forever([torch.rand(2, 3)])
        for _ in range(5):
            net(next(rows))
        """,
    ),
    "what a coroutine gives back": (
        """
        def running_mean(where):
            total = torch.zeros(3, device=where)
            mean = None
            while True:
                x = yield mean
                total += x.to(where)
                mean = total / 2
        avg = running_mean(device)
        next(avg)
        torch.full((3,), 0.5) - avg.send(torch.rand(3)).cpu()
        """,
        """
        def running_mean(where):
            total = torch.zeros(3, device=where)
            mean = None
            while True:
                x = yield mean
                total += x.to(where)
                mean = total / 2
        avg = running_mean(device)
        next(avg)
        torch.full((3,), 0.5) - avg.send(torch.rand(3))
        """,
    ),
    "callbacks at the end of a block": (
        """
        from contextlib import ExitStack
        nets = [nn.Linear(3, 3), nn.Linear(3, 2)]
        def run(x):
            with ExitStack() as stack:
                for net in nets:
                    net.to(device)
                    stack.callback(net.to, "cpu")
                x = x.to(device)
                for net in nets:
                    x = net(x)
                return x.cpu()
        run(torch.rand(2, 3))
        nets[0](torch.rand(2, 3))
        """,
        """
        from contextlib import ExitStack
        nets = [nn.Linear(3, 3), nn.Linear(3, 2)]
        def run(x):
            with ExitStack() as stack:
                for net in nets:
                    net.to(device)
                    stack.callback(net.to, "cpu")
                for net in nets:
                    x = net(x)
                return x.cpu()
        run(torch.rand(2, 3))
        """,
    ),
    "a layer by its name": (
        """
        class Net(nn.Module):
            def __init__(self, kind, act="ReLU"):
                super().__init__()
                self.rnn = getattr(nn, kind)(3, 4, 2)
                self.act = getattr(nn, act)()
            def forward(self, x, h):
                return self.act(self.rnn(x, h)[0])
        net = Net("GRU").to(device)
        net(torch.rand(5, 2, 3, device=device), torch.zeros(2, 2, 4, device=device))
        net.act(torch.rand(3))
        """,
        """
        class Net(nn.Module):
            def __init__(self, kind, act="ReLU"):
                super().__init__()
                self.rnn = getattr(nn, kind)(3, 4, 2)
                self.act = getattr(nn, act)()
            def forward(self, x, h):
                return self.act(self.rnn(x, h)[0])
        def build(kind):
            return Net(kind).to(device)
        net = build(open("kind").read())
        net(torch.rand(5, 2, 3, device=device), torch.zeros(2, 2, 4))
        """,
    ),
    "what is done at last after a return": (
        """
        net = nn.Linear(3, 3)
        def fast(x):
            net.to(device)
            try:
                return net(x.to(device)).cpu()
            finally:
                net.to("cpu")
        fast(torch.rand(2, 3))
        net(torch.rand(2, 3))
        """,
        """
        net = nn.Linear(3, 3)
        def fast(x):
            net.to(device)
            try:
                return net(x.to(device)).cpu()
            finally:
                net.eval()
        fast(torch.rand(2, 3))
        net(torch.rand(2, 3))
        """,
    ),
    "a dataclass that chooses its device when it is made": (
        """
        from dataclasses import dataclass, field
        @dataclass
        class Hardware:
            want: str = "auto"
            device: torch.device = field(init=False)
            def __post_init__(self):
                if self.want == "auto":
                    self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                else:
                    self.device = torch.device(self.want)
        @dataclass
        class Job:
            hw: Hardware = field(default_factory=Hardware)
            steps: int = field(default=2)
        net = nn.Linear(3, 3).to(Job().hw.device)
        net(torch.rand(2, 3, device=Job().hw.device))
        Job(Hardware("cpu")).hw.device
        torch.rand(2, device=Job(Hardware("cpu")).hw.device) + torch.zeros(2)
        """,
        """
        from dataclasses import dataclass, field
        @dataclass
        class Hardware:
            want: str = "auto"
            device: torch.device = field(init=False)
            def __post_init__(self):
                if self.want == "auto":
                    self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                else:
                    self.device = torch.device(self.want)
        @dataclass
        class Job:
            hw: Hardware = field(default_factory=Hardware)
            steps: int = field(default=2)
        net = nn.Linear(3, 3).to(Job().hw.device)
        net(torch.rand(2, 3))
        """,
    ),
    "lists of a record, each of its own": (
        """
        from dataclasses import dataclass, field
        @dataclass
        class Inner:
            seen: list = field(default_factory=list)
        @dataclass
        class Rollout:
            states: list = field(default_factory=list)
            names: set = field(default_factory=set)
            rewards: list = field(default_factory=list)
            inner: Inner = field(default_factory=Inner)
            other: Inner = field(default_factory=Inner)
        rollout = Rollout()
        rollout.states.append(torch.ones(3, device=device))
        rollout.names.add("one")
        rollout.rewards.append(torch.ones(3))
        rollout.inner.seen.append(torch.ones(3, device=device))
        rollout.other.seen.append(torch.ones(3))
        torch.stack(rollout.states) + torch.stack(rollout.inner.seen)
        torch.stack(rollout.rewards) + torch.stack(rollout.other.seen)
        """,
        """
        from dataclasses import dataclass, field
        @dataclass
        class Inner:
            seen: list = field(default_factory=list)
        @dataclass
        class Rollout:
            states: list = field(default_factory=list)
            inner: Inner = field(default_factory=Inner)
            other: Inner = field(default_factory=Inner)
        rollout = Rollout()
        rollout.states.append(torch.ones(3, device=device))
        rollout.inner.seen.append(torch.ones(3))
        rollout.other.seen.append(torch.ones(3, device=device))
        torch.stack(rollout.states) + torch.stack(rollout.inner.seen)
        """,
    ),
    "a dict and a set of a record, filled under conditions": (
        """
        from dataclasses import dataclass, field
        @dataclass
        class Names:
            known: dict = field(default_factory=dict)
            shown: set = field(default_factory=set)
            def note(self, name, visible):
                if visible:
                    self.shown.add(name)
                self.known[name] = torch.zeros(3, device=device)
        names = Names()
        names.note("a", input())
        names.known.get("a", torch.zeros(3, device=device)) + torch.zeros(3, device=device)
        """,
        """
        from dataclasses import dataclass, field
        @dataclass
        class Names:
            known: dict = field(default_factory=dict)
            shown: set = field(default_factory=set)
            def note(self, name, visible):
                if visible:
                    self.shown.add(name)
                self.known[name] = torch.zeros(3, device=device)
        names = Names()
        names.note("a", input())
        names.known["a"] + torch.zeros(3)
        """,
    ),
    "the names of what is moved": (
        """
        MOVED = {"image", "target"}
        net = nn.Linear(3, 3).to(device)
        batch = {"image": torch.rand(2, 3), "target": torch.rand(2, 3), "index": torch.arange(2)}
        batch = {k: (v.to(device) if k in MOVED else v) for k, v in batch.items()}
        net(batch["image"]) - batch["target"]
        torch.zeros(2) + batch["index"]
        """,
        """
        MOVED = {"image"}
        net = nn.Linear(3, 3).to(device)
        batch = {"image": torch.rand(2, 3), "target": torch.rand(2, 3), "index": torch.arange(2)}
        batch = {k: (v.to(device) if k in MOVED else v) for k, v in batch.items()}
        net(batch["image"]) - batch["target"]
        """,
    ),
    "what moves a module back is handed to a stack of callbacks": (
        """
        from contextlib import ExitStack
        net = nn.Linear(3, 3)
        def run(x):
            with ExitStack() as stack:
                net.to(device)
                stack.callback(net.to, "cpu")
                return net(x.to(device)).cpu()
        run(torch.rand(2, 3))
        net(torch.rand(2, 3))
        """,
        """
        from contextlib import ExitStack
        net = nn.Linear(3, 3)
        def run(x):
            with ExitStack() as stack:
                net.to(device)
                stack.callback(print, "cpu")
                return net(x.to(device)).cpu()
        run(torch.rand(2, 3))
        net(torch.rand(2, 3))
        """,
    ),
    "hooks of one text that each keep a device of their own by a default": (
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.head = nn.Linear(4, 2)
            def forward(self, x):
                return self.head(self.body(x))
        def dispatch(model, places):
            for name, where in places.items():
                child = getattr(model, name).to(where)
                def bring(module, args, where=where):
                    return tuple(a.to(where) for a in args)
                child.register_forward_pre_hook(bring)
            return model
        dispatch(Model(), {"body": device, "head": "cpu"})(torch.rand(2, 4))
        """,
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.head = nn.Linear(4, 2)
            def forward(self, x):
                return self.head(self.body(x))
        def dispatch(model, places):
            for name, where in places.items():
                child = getattr(model, name).to(where)
                def bring(module, args, where="cpu"):
                    return tuple(a.to(where) for a in args)
                child.register_forward_pre_hook(bring)
            return model
        dispatch(Model(), {"body": device, "head": "cpu"})(torch.rand(2, 4))
        """,
    ),
    "lambdas of one text in a list": (
        """
        nets = [nn.Linear(3, 3).to(d) for d in (device, "cpu")]
        brings = [lambda x, d=d: x.to(d) for d in (device, "cpu")]
        nets[0](brings[0](torch.rand(2, 3)))
        nets[1](brings[1](torch.rand(2, 3)))
        """,
        """
        nets = [nn.Linear(3, 3).to(d) for d in (device, "cpu")]
        brings = [lambda x, d=d: x.to(d) for d in (device, "cpu")]
        nets[0](brings[1](torch.rand(2, 3)))
        nets[1](brings[0](torch.rand(2, 3)))
        """,
    ),
    "a thread puts batches into a queue": (
        """
        import queue, threading
        def produce(batches, out, where):
            for b in batches:
                out.put(b.to(where))
            out.put(None)
        waiting = queue.Queue(maxsize=2)
        worker = threading.Thread(target=produce, args=([torch.rand(2, 3) for _ in range(9)], waiting, device), daemon=True)
        worker.start()
        net = nn.Linear(3, 1).to(device)
        while True:
            b = waiting.get()
            if b is None:
                break
            net(b)
        worker.join()
        """,
        """
        import queue, threading
        def produce(batches, out, where):
            for b in batches:
                out.put(b)
            out.put(None)
        waiting = queue.Queue(maxsize=2)
        worker = threading.Thread(target=produce, args=([torch.rand(2, 3) for _ in range(9)], waiting, device), daemon=True)
        worker.start()
        net = nn.Linear(3, 1).to(device)
        while True:
            b = waiting.get()
            if b is None:
                break
            net(b)
        worker.join()
        """,
    ),
    "a pool of threads gives what its functions return": (
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed
        def codes(word):
            return torch.tensor([float(ord(c)) for c in word])
        net = nn.Linear(3, 2).to(device)
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(codes, w) for w in ("one", "two")]
            rows = [task.result() for task in as_completed(tasks)]
            more = list(pool.map(codes, ["six", "ten"]))
        net(torch.stack(rows).to(device))
        net(torch.stack(more).to(device))
        """,
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed
        def codes(word):
            return torch.tensor([float(ord(c)) for c in word])
        net = nn.Linear(3, 2).to(device)
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(codes, w) for w in ("one", "two")]
            rows = [task.result() for task in as_completed(tasks)]
        net(torch.stack(rows))
        """,
    ),
    "a pool that is mapped over": (
        """
        from concurrent.futures import ThreadPoolExecutor
        net = nn.Linear(3, 2).to(device)
        def place(row):
            return row.to(device)
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(place, [torch.rand(1, 3), torch.rand(1, 3)]))
        net(rows[0])
        """,
        """
        from concurrent.futures import ThreadPoolExecutor
        net = nn.Linear(3, 2).to(device)
        def place(row):
            return row * 2
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(place, [torch.rand(1, 3), torch.rand(1, 3)]))
        net(rows[0])
        """,
    ),
    "threads move the modules that they are given": (
        """
        import threading
        nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
        def bring(net):
            net.to(device)
        threads = [threading.Thread(target=bring, args=(net,)) for net in nets]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        nets[1](torch.rand(2, 3, device=device))
        """,
        """
        import threading
        nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
        def bring(net):
            net.eval()
        threads = [threading.Thread(target=bring, args=(net,)) for net in nets]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        nets[1](torch.rand(2, 3, device=device))
        """,
    ),
    "a process moves its own copy": (
        """
        import multiprocessing
        net = nn.Linear(3, 3)
        def work(module):
            module.to(device)
            module(torch.rand(2, 3, device=device))
        p = multiprocessing.Process(target=work, args=(net,))
        p.start()
        p.join()
        net(torch.rand(2, 3))
        """,
        """
        import multiprocessing
        net = nn.Linear(3, 3)
        def work(module):
            module.to(device)
            module(torch.rand(2, 3, device=device))
        p = multiprocessing.Process(target=work, args=(net,))
        p.start()
        p.join()
        net(torch.rand(2, 3, device=device))
        """,
    ),
    "coroutines that are gathered": (
        """
        import asyncio
        net = nn.Linear(3, 3).to(device)
        async def load(i):
            await asyncio.sleep(0)
            return torch.full((2, 3), float(i))
        async def main():
            a, b = await asyncio.gather(load(1), load(2))
            c = await asyncio.to_thread(torch.ones, 2, 3)
            d = await asyncio.create_task(load(3))
            return net((a + b + d).to(device))
        asyncio.run(main()).cpu() + torch.ones(2, 3)
        """,
        """
        import asyncio
        net = nn.Linear(3, 3).to(device)
        async def load(i):
            await asyncio.sleep(0)
            return torch.full((2, 3), float(i))
        async def main():
            a, b = await asyncio.gather(load(1), load(2))
            return net(a + b)
        asyncio.run(main())
        """,
    ),
    "a thread of a class of its own": (
        """
        import threading
        class Loader(threading.Thread):
            def __init__(self, net):
                super().__init__()
                self.net = net
            def run(self):
                self.net.to(device)
        net = nn.Linear(3, 3)
        loader = Loader(net)
        loader.start()
        loader.join()
        net(torch.rand(2, 3, device=device))
        """,
        """
        import threading
        class Loader(threading.Thread):
            def __init__(self, net):
                super().__init__()
                self.net = net
            def run(self):
                self.net.to(device)
        net = nn.Linear(3, 3)
        loader = Loader(net)
        loader.start()
        loader.join()
        net(torch.rand(2, 3))
        """,
    ),
    "a function that is dispatched by the type of what it is given": (
        """
        import functools
        @functools.singledispatch
        def put(value, where):
            return value
        @put.register
        def _(value: torch.Tensor, where):
            return value.to(where)
        @put.register(list)
        @put.register(tuple)
        def _(value, where):
            return [put(v, where) for v in value]
        net = nn.Linear(3, 3).to(device)
        a = put(torch.rand(2, 3), device)
        b, c = put([torch.rand(2, 3), torch.rand(2, 3)], device)
        net(a) + b + c
        put("name", device)
        """,
        """
        import functools
        @functools.singledispatch
        def put(value, where):
            return value
        @put.register
        def _(value: torch.Tensor, where):
            return value.to(where)
        @put.register(list)
        def _(value, where):
            return value
        net = nn.Linear(3, 3).to(device)
        b, c = put([torch.rand(2, 3), torch.rand(2, 3)], device)
        net(b)
        """,
    ),
    "a dispatched function that no registered one takes": (
        """
        from functools import singledispatch
        @singledispatch
        def put(value, where):
            return value.to(where)
        @put.register(dict)
        def _(value, where):
            return {k: put(v, where) for k, v in value.items()}
        @put.register(float)
        def _(value, device):
            return torch.tensor(value)
        torch.rand(2, 3, device=device) * put(2.0, device)
        net = nn.Linear(3, 3).to(device)
        net(put(torch.rand(2, 3), device))
        net(put({"x": torch.rand(2, 3)}, device)["x"])
        """,
        """
        from functools import singledispatch
        @singledispatch
        def put(value, where):
            return value.contiguous()
        @put.register(dict)
        def _(value, where):
            return {k: v.to(where) for k, v in value.items()}
        net = nn.Linear(3, 3).to(device)
        net(put(torch.rand(2, 3), device))
        """,
    ),
    "an enumeration whose members know their device": (
        """
        import enum
        class Place(enum.Enum):
            HOST = "cpu"
            FIRST = "cuda"
            @property
            def device(self):
                return torch.device(self.value)
            @classmethod
            def best(cls):
                return cls.FIRST if torch.cuda.is_available() else cls.HOST
        place = Place.best()
        net = nn.Linear(3, 3).to(place.device)
        y = net(torch.rand(2, 3, device=place.device))
        y.to(Place.HOST.device) + torch.ones(2, 3)
        net(torch.rand(2, 3).to(place.value))
        """,
        """
        import enum
        class Place(enum.Enum):
            HOST = "cpu"
            FIRST = "cuda"
            @property
            def device(self):
                return torch.device(self.value)
            @classmethod
            def best(cls):
                return cls.FIRST if torch.cuda.is_available() else cls.HOST
        place = Place.best()
        net = nn.Linear(3, 3).to(place.device)
        y = net(torch.rand(2, 3, device=Place.HOST.device))
        """,
    ),
    "members of an enumeration are compared": (
        """
        from enum import Enum
        class Kind(Enum):
            HOST = "cpu"
            GPU = "cuda"
        def run(kind):
            net = nn.Linear(3, 3)
            if kind == Kind.GPU:
                net.cuda()
            x = torch.rand(2, 3)
            if kind is Kind.GPU:
                x = x.cuda()
            return net(x)
        run(Kind.GPU)
        run(Kind.HOST)
        """,
        """
        from enum import Enum
        class Kind(Enum):
            HOST = "cpu"
            GPU = "cuda"
        def run(kind):
            net = nn.Linear(3, 3)
            if kind == Kind.GPU:
                net.cuda()
            x = torch.rand(2, 3)
            if kind is not Kind.GPU:
                x = x.cuda()
            return net(x)
        run(Kind.GPU)
        run(Kind.HOST)
        """,
    ),
    "a list of parameters that grows": (
        """
        class Poly(nn.Module):
            def __init__(self):
                super().__init__()
                self.coeff = nn.ParameterList()
                for i in range(5):
                    self.coeff.append(torch.ones(3))
            def forward(self, x):
                return x * self.coeff[0] + self.coeff[-1]
        Poly().to(device)(torch.rand(2, 3, device=device))
        """,
        """
        class Poly(nn.Module):
            def __init__(self):
                super().__init__()
                self.coeff = nn.ParameterList()
                for i in range(5):
                    self.coeff.append(torch.ones(3))
            def forward(self, x):
                return x * self.coeff[0] + self.coeff[-1]
        Poly().to(device)(torch.rand(2, 3))
        """,
    ),
    "an optimizer that keeps its state on the CPU": (
        """
        class HostAdam(torch.optim.Optimizer):
            def __init__(self, params, lr=0.01):
                super().__init__(params, dict(lr=lr))
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is None:
                            continue
                        state = self.state[p]
                        if len(state) == 0:
                            state["m"] = torch.zeros(p.shape)
                        g = p.grad.cpu()
                        state["m"].mul_(0.9).add_(g, alpha=0.1)
                        p.add_(state["m"].to(p.device), alpha=-group["lr"])
        """,
        """
        class Adam(torch.optim.Optimizer):
            def __init__(self, params, lr=0.01):
                super().__init__(params, dict(lr=lr))
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is None:
                            continue
                        state = self.state[p]
                        if len(state) == 0:
                            state["m"] = torch.zeros(p.shape)
                        state["m"].mul_(0.9).add_(p.grad, alpha=0.1)
                        p.add_(state["m"], alpha=-group["lr"])
        """,
    ),
    "an optimizer whose state is like its parameters": (
        """
        class Momentum(torch.optim.SGD):
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if "m" not in state:
                            state["m"] = torch.zeros_like(p)
                            state["n"] = torch.tensor(0.0)
                        state["n"] += 1
                        p.sub_(state["m"] / state["n"])
        """,
        """
        class Momentum(torch.optim.SGD):
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if "m" not in state:
                            state["m"] = torch.zeros_like(p)
                            state["n"] = torch.zeros(p.shape[0])
                        state["n"] += 1
                        p.sub_(state["m"] / state["n"])
        """,
    ),
    "an ensemble whose parameters are stacked": (
        """
        import copy
        from torch.func import functional_call, stack_module_state, vmap
        members = [nn.Linear(3, 2).to(device) for _ in range(4)]
        params, buffers = stack_module_state(members)
        skeleton = copy.deepcopy(members[0]).to("meta")
        def one(p, b, x):
            return functional_call(skeleton, (p, b), (x,))
        out = vmap(one, in_dims=(0, 0, None))(params, buffers, torch.rand(5, 3).to(device))
        out * torch.rand(4, 1, 1, device=device)
        """,
        """
        import copy
        from torch.func import functional_call, stack_module_state, vmap
        members = [nn.Linear(3, 2).to(device) for _ in range(4)]
        params, buffers = stack_module_state(members)
        skeleton = copy.deepcopy(members[0]).to("meta")
        def one(p, b, x):
            return functional_call(skeleton, (p, b), (x,))
        vmap(one, in_dims=(0, 0, None))(params, buffers, torch.rand(5, 3))
        """,
    ),
    "gradients of each sample": (
        """
        from torch.func import grad, vmap
        def loss(w, x, y):
            return ((x * w).sum() - y).pow(2)
        w = torch.zeros(3, device=device)
        g = vmap(grad(loss), in_dims=(None, 0, 0))(w, torch.rand(5, 3, device=device), torch.rand(5, device=device))
        w - g.mean(0)
        """,
        """
        from torch.func import grad, vmap
        def loss(w, x, y):
            return ((x * w).sum() - y).pow(2)
        w = torch.zeros(3, device=device)
        g = vmap(grad(loss), in_dims=(None, 0, 0))(w, torch.rand(5, 3, device=device), torch.rand(5, device=device))
        torch.ones(3) - g.mean(0)
        """,
    ),
    "a target for each sample, and one for all": (
        """
        from torch.func import vmap
        def error(x, y):
            return x.sum() - y
        xs = torch.rand(5, 3, device=device)
        vmap(error, in_dims=(0, None))(xs, torch.tensor(0.5))
        vmap(error)(xs, torch.rand(5, device=device))
        """,
        """
        from torch.func import vmap
        def error(x, y):
            return x.sum() - y
        xs = torch.rand(5, 3, device=device)
        vmap(error)(xs, torch.rand(5))
        """,
    ),
    "a number that went through an array and back": (
        """
        def mean(rows):
            return torch.from_numpy(rows.mean().numpy())
        torch.rand(4, 3, device=device) - mean(torch.rand(4, 3))
        """,
        """
        def mean(rows):
            return torch.from_numpy(rows.mean(0).numpy())
        torch.rand(4, 3, device=device) - mean(torch.rand(4, 3))
        """,
    ),
    "rows of what went through an array and back": (
        """
        def back(rows):
            return torch.from_numpy(rows.numpy())
        for row in back(torch.rand(4)):
            torch.rand(3, device=device) * row
        """,
        """
        def back(rows):
            return torch.from_numpy(rows.numpy())
        for row in back(torch.rand(4, 3)):
            torch.rand(3, device=device) * row
        """,
    ),
    "devices by the number that a loop counts with": (
        """
        if torch.cuda.device_count() > 1:
            devices = [torch.device("cuda", i) for i in range(2)]
        else:
            devices = [torch.device("cpu")] * 2
        nets = [nn.Linear(3, 3).to(d) for d in devices]
        for net, d, x in zip(nets, devices, torch.rand(4, 3).chunk(2)):
            net(x.to(d))
        """,
        """
        if torch.cuda.device_count() > 1:
            devices = [torch.device("cuda", i) for i in range(2)]
        else:
            devices = [torch.device("cpu")] * 2
        nets = [nn.Linear(3, 3).to(d) for d in devices]
        for net, d, x in zip(nets, devices, torch.rand(4, 3).chunk(2)):
            net(x.to(devices[0]))
        """,
    ),
    "matrices of which the dimensions are not known": (
        """
        def value(x):
            return torch.rand(4, 2).sum(-1).squeeze().cpu()
        w = torch.rand(4, 3, device=device)
        value(w).to(device) @ w
        """,
        """
        def value(x):
            return torch.rand(4, 2).sum(-1).squeeze().cpu()
        w = torch.rand(4, 3, device=device)
        value(w) @ w
        """,
    ),
}


def _codes(program: str) -> list[str]:
    config = Config(off_by_default=OFF_BY_DEFAULT)
    return [finding.code for finding in findings(HEAD + textwrap.dedent(program), "program.py", config)]


PIPELINE = """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, x):
        return x + self.inner(x)
class Net(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second
        self.front = Block().to(first)
        self.back = Block().to(second)
    def forward(self, x):
        h = self.front(x.to(self.first))
        return self.back(h)
def run(count):
    if count > 1:
        Net(torch.device("cuda:0"), torch.device("cuda:1"))(torch.rand(3, 4))
"""


def test_a_stage_is_not_handed_what_the_one_before_it_gave() -> None:
    config = Config(off_by_default=OFF_BY_DEFAULT)
    found = [one for one in findings(HEAD + PIPELINE, "program.py", config) if one.code == "TDV001"]
    assert [one.message for one in found] == [
        "`h` is on `self.first` (cuda:0), but the model `self.back` is on `second` (cuda:1)"
    ]
    assert found[0].fix is not None
    assert [edit.content for edit in found[0].fix.edits] == [".to(self.second)"]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []
