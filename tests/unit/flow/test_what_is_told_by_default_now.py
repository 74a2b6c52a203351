"""What rules that are on by default tell since it was seen to be rare and right: each mistake beside what it looks like."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

CASES: dict[str, tuple[str, Sequence[tuple[str, list[str]]]]] = {
    "ranks are brought to where the scores are, too late": (
        """
        import torch

        def ranked(engine, count):
            scores = engine.run()
            order = torch.argsort(scores)
            return {0}
        """,
        [
            ("torch.index_select(torch.arange(count) + 1, -1, order).type_as(scores)", ["TDV005"]),
            ("torch.index_select(torch.arange(count) + 1, -1, order).to(scores.device)", ["TDV005"]),
            ("torch.index_select(torch.arange(count) + 1, -1, order).float().to(scores.device)", ["TDV005"]),
            ("torch.index_select(torch.arange(count) + 1, -1, order.cpu()).type_as(scores)", []),
            ("torch.index_select(torch.arange(count).to(scores.device) + 1, -1, order)", []),
            ("torch.index_select(torch.arange(count) + 1, -1, order)", []),
            ("torch.index_select(torch.arange(count) + 1, -1, order).to(engine.other.device)", []),
            ("torch.index_select(torch.arange(count) + 1, -1, order).to(torch.float64)", []),
        ],
    ),
    "Accelerate decides": (
        """
        import torch
        from elsewhere import wrapped

        def load(accelerator, model, state):
            if accelerator.is_main_process:
                for name, value in state.items():
                    shown = {0}
                    state[name] = wrapped(shown)
            {1}
            return model
        """,
        [
            ("torch.empty(3, device='cuda')", ["TDV018"]),
            ("torch.empty(3, device=accelerator.device)", []),
        ],
    ),
    "something else is called an accelerator": (
        """
        import torch

        def load(accelerator, state):
            accelerator.speed_up(state)
            return torch.empty(3, device={0})
        """,
        [("'cuda'", [])],
    ),
    "the kind of accelerator is asked for": (
        """
        import torch

        def load(accelerator, state):
            accelerator.wait_for_everyone()
            if {0}:
                return torch.empty(3, device='cuda')
            return None
        """,
        [("state", ["TDV018"]), ("state.on_gpu", [])],
    ),
    "several processes load what one has saved": (
        """
        import torch
        import torch.multiprocessing as mp
        import torch.nn as nn
        import torch.distributed as dist

        def worker(gpu, args):
            dist.init_process_group("nccl", rank=gpu, world_size=args.world)
            torch.cuda.set_device(gpu)
            model = nn.parallel.{0}(nn.Linear(3, 3).cuda(gpu), device_ids=[gpu])
            if args.resume:
                checkpoint = torch.load(args.resume)
                model.load_state_dict(checkpoint["state_dict"])
            for x, y in args.loader:
                loss = (model(x.cuda(gpu)) - y.cuda(gpu)).sum()
                loss.backward()
            if gpu == 0:
                {1}

        def main(args):
            mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(args,))
        """,
        [
            (
                ("DistributedDataParallel", 'torch.save({"state_dict": model.state_dict()}, "last.pt")'),
                ["TDV009"],
            ),
            (("DistributedDataParallel", 'print("done")'), []),
            (("Wrapped", 'torch.save({"state_dict": model.state_dict()}, "last.pt")'), []),
            (
                (
                    "DistributedDataParallel",
                    'torch.save(model, "a.pt"), torch.load("b.pt", map_location="cpu")',
                ),
                [],
            ),
        ],
    ),
    "a converter leaves things where they are": (
        """
        import torch

        def {0}(data, dtype=None, device={1}):
            return torch.as_tensor(data, dtype=dtype, device=device)

        def both(image, lazy, net, device):
            if lazy:
                return net({0}(image))
            return net({0}(image, device=device))
        """,
        [(("convert", "None"), []), (("make", "'cpu'"), ["TDV020"]), (("convert", "'cpu'"), ["TDV020"])],
    ),
    "no more than the settings are wanted": (
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            @classmethod
            def restore(cls, path, return_config=False, map_location="cpu"):
                return torch.load(path, map_location=map_location)

        def setup(path, map_location):
            {0} = Model.restore(path, return_config=True)
            return Model.restore(path, map_location=map_location), {0}
        """,
        [("model_cfg", []), ("first", ["TDV020"])],
    ),
    "the number of a tensor's device in a file for all devices": (
        """
        def scaled(loss, scale, device):
            scale = scale.to({0})
            return loss.backward({1})
        """,
        [
            (("device", "scale.to(loss.get_device())"), ["TDV012"]),
            (("device", "scale.cuda(loss.get_device())"), []),
            (("loss", "scale.to(loss.get_device())"), []),
        ],
    ),
    "a number that is asked whether it is one": (
        """
        def joined(held, ids, device):
            held = held.to(device)
            if {0}:
                where = "cpu"
            else:
                where = held.get_device()
            return held, ids.to(where)
        """,
        [("held.get_device() == -1", []), ("ids.get_device() == -1", ["TDV012"])],
    ),
    "ranks in a branch for exports": (
        """
        import torch
        from torch import nn

        class Attention(nn.Module):
            def weigh(self, engine, mask):
                weights = engine.run()
                if self.{0}:
                    weights = torch.where(mask, torch.Tensor([float("-inf")]), weights.float()).type_as(weights)
                return weights
        """,
        [("onnx_trace", []), ("masked", ["TDV005"])],
    ),
    "a result that only indexes": (
        """
        import torch

        def triangle(n, device=None):
            return torch.triu_indices(n, n, device=device)

        class Terms:
            def __init__(self, device):
                self.device = device

            def forward(self, x):
                chosen = triangle(x.shape[1])
                zeros = torch.zeros(3, device=self.device)
                y = {0}
                zeros += y
                return zeros
        """,
        [("x[:, chosen]", []), ("chosen.sum()", ["TDV020"])],
    ),
    "a device that both branches speak of": (
        """
        import torch

        def resample(data, device):
            is_array = not torch.is_tensor(data)
            if is_array:
                data = torch.from_numpy(data).to(device)
            else:
                {0}
                data = data.to(device)
            if is_array:
                return data.cpu().numpy()
            else:
                return data.to(first_device)
        """,
        [
            ("first_device = data.device", []),
            ("if len(data):\n            first_device = data.device", ["TDV012"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str) -> None:
    code, ways = CASES[name]
    for put, expected in ways:
        text = textwrap.dedent(code)
        for index, part in enumerate((put,) if isinstance(put, str) else put):
            text = text.replace(f"{{{index}}}", part)
        text = text.replace("{1}", "pass")
        found = check_source(text, "library.py", Config(off_by_default=OFF_BY_DEFAULT))
        assert [one.code for one in found] == expected, put
