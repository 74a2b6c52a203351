"""Whole programs on the simulated accelerator: processes, compilers, and what is not supported."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

import torch

from torchdev_lint.harness import ForkServer, Kind, run_program
from torchdev_lint.harness.simulator.rules import release


@pytest.fixture(scope="module")
def server():
    with ForkServer("simulated") as server:
        yield server


@pytest.fixture
def program(tmp_path: Path):
    def write(source: str) -> Path:
        path = tmp_path / "program.py"
        path.write_text(dedent(source), encoding="utf-8")
        return path

    return write


def test_distributed_data_parallel_on_two_devices(program):
    main = program(
        """\
        import os, socket, torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        def work(rank, port):
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            dist.init_process_group("nccl", rank=rank, world_size=2)
            torch.cuda.set_device(rank)
            model = DistributedDataParallel(torch.nn.Linear(4, 2).to(rank), device_ids=[rank])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            model(torch.ones(3, 4).to(rank)).sum().backward()
            optimizer.step()
            total = torch.ones(1, device=rank) * (rank + 1)
            dist.all_reduce(total)
            assert str(total.device) == f"cuda:{rank}" and total.item() == 3
            dist.destroy_process_group()

        if __name__ == "__main__":
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            torch.multiprocessing.spawn(work, args=(port,), nprocs=2)
            print("done")
        """
    )
    verdict = run_program(main, backend="simulated", timeout=180)
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "done\n"), verdict.stderr


def test_a_spawned_process_is_simulated_and_gets_tensors_with_their_device(program):
    if release() == (2, 4):
        pytest.skip("KNOWN WEAKNESS: on torch 2.4 a tensor sent to a spawned process arrives on the CPU")
    main = program(
        """\
        import torch
        import torch.multiprocessing as mp

        def work(tensor, queue):
            queue.put((str(tensor.device), torch.cuda.device_count(), tensor.sum().item()))

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=work, args=(torch.ones(3, device="cuda:1"), queue))
            process.start()
            print(queue.get(timeout=100))
            process.join()
        """
    )
    verdict = run_program(main, backend="simulated", timeout=150)
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "('cuda:1', 2, 3.0)\n"), verdict.stderr


def test_compiled_functions_run_eagerly_with_a_note(server, program):
    main = program(
        """\
        import torch

        @torch.compile
        def multiply(a, b):
            return a @ b

        multiply(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
        """
    )
    verdict = server.run(main)
    assert (verdict.kind, verdict.row) == (Kind.DEVICE_ERROR, 5)
    assert verdict.notes == ("torch.compile was left out: everything ran eagerly",)
    assert "note: torch.compile was left out" in verdict.describe()


@pytest.mark.parametrize(
    "source",
    [
        "g = torch.cuda.CUDAGraph()",
        "torch.nested.nested_tensor([torch.ones(2).cuda()], layout=torch.jagged)",
        "torch.cuda.make_graphed_callables(f, (x,))",
        pytest.param(
            "torch.device(0)",
            marks=pytest.mark.skipif(torch.version.cuda is not None, reason="an index names a CUDA device"),
        ),
    ],
)
def test_what_is_not_supported_gives_no_verdict_on_the_program(server, program, source):
    verdict = server.run(program(f"import torch\nx = f = None\n{source}\n"))
    assert (verdict.kind, verdict.row) == (Kind.UNSUPPORTED, 3), verdict.stderr
    assert "the simulated accelerator does not support" in (verdict.message or "")


@pytest.mark.parametrize(("where", "kind"), [("", Kind.DEVICE_ERROR), (".to(x.device)", Kind.PASSED)])
def test_the_lengths_that_pad_packed_sequence_gives_are_on_the_host(server, program, where, kind):
    main = program(
        f"""\
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

        for lengths in ([4, 3, 2], [3, 4, 2]):
            x = torch.ones(3, 4, device="cuda")
            packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
            padded, given = pad_packed_sequence(packed, batch_first=True)
            assert given.tolist() == lengths and given.is_cpu and padded.is_cuda
            assert (padded.sum(1) - given{where}).abs().sum() == 0
        """
    )
    assert server.run(main).kind is kind
