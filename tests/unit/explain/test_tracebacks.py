"""Tracebacks as people paste them."""

from __future__ import annotations

import pytest

from torchdev_lint.explain.tracebacks import PastedError, choose, parse

MESSAGE = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"

PYTHON = f"""Epoch 1
Traceback (most recent call last):
  File "/home/al/train.py", line 9, in <module>
    main()
    ~~~~^^
  File "/home/al/train.py", line 5, in main
    y = model(x)
        ^^^^^^^^
  File "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: {MESSAGE}
"""
WAY = [("/home/al/train.py", 9, "main()"), ("/home/al/train.py", 5, "y = model(x)")]

IPYTHON = f"""---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[7], line 3
      1 x = torch.ones(2, 3)
      2 # go
----> 3 y = model(x)

File ~/proj/net.py:12, in Net.forward(self, x)
     10 def forward(self, x):
     11     # layers
---> 12     return self.head(x)

RuntimeError: {MESSAGE}
"""

OLD_IPYTHON = f"""---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
<ipython-input-7-1f2e3d4c5b6a> in <module>
      2 # go
----> 3 y = model(x)

~/proj/net.py in forward(self, x)
     11     # layers
---> 12     return self.head(x)

RuntimeError: {MESSAGE}
"""

PYTEST = f"""
    def test_forward():
        model = make()
>       y = model(x)

tests/test_net.py:8:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

self = Net(), x = tensor([1.])

    def forward(self, x):
>       return self.head(x)
               ^^^^^^^^^^^^
E       RuntimeError: {MESSAGE}

net.py:12: RuntimeError
=========================== short test summary info ============================
FAILED tests/test_net.py::test_forward - RuntimeError: {MESSAGE[:60]}...
"""

PYTEST_SHORT = f"""
tests/test_net.py:8: in test_forward
    y = model(x)
net.py:12: in forward
    return self.head(x)
E   RuntimeError: {MESSAGE}
"""


def places(error: PastedError) -> list[tuple[str, int, str]]:
    return [(frame.path, frame.row, frame.code) for frame in error.frames]


def device_error(text: str) -> PastedError:
    return choose(parse(text), lambda error: "same device" in error.message)[0]


def tagged(tag: str) -> str:
    return "\n".join(tag + line for line in PYTHON.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PYTHON, id="plain"),
        pytest.param(PYTHON.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(tagged("[rank0]: "), id="torchrun"),
        pytest.param(tagged("(RayTrainWorker pid=123) "), id="ray"),
        pytest.param(tagged("[1,0]<stderr>:"), id="mpirun"),
        pytest.param(tagged("0: "), id="srun"),
        pytest.param(tagged("trainer-1  | "), id="docker compose"),
        pytest.param(tagged("> "), id="quoted in a mail"),
        pytest.param(tagged("2026-11-21 10:00:00,123 ERROR train: "), id="a log with times"),
        pytest.param(
            PYTHON.replace("File", "\x1b[35mFile").replace("RuntimeError:", "\x1b[1;31mRuntimeError\x1b[0m:"),
            id="colours",
        ),
        pytest.param(PYTHON.split("\n", 2)[2], id="the head cut off"),
        pytest.param(PYTHON + "2026-11-21 10:00:01 INFO on cuda:7 all is well\n", id="a log goes on"),
    ],
)
def test_python_s_own(text: str) -> None:
    error = device_error(text)
    assert (error.type, error.message) == ("RuntimeError", MESSAGE)
    assert places(error)[:2] == WAY
    assert len(error.frames) == 3


def test_a_message_that_the_terminal_wrapped() -> None:
    error = device_error(PYTHON.replace("but found", "\nbut found"))
    assert " ".join(error.message.split()) == MESSAGE


def test_several_processes_at_once_say_it_once() -> None:
    first, second = tagged("[rank0]: ").split("\n"), tagged("[rank1]: ").split("\n")
    mixed = "\n".join(line for pair in zip(first, second, strict=True) for line in pair)
    assert places(device_error(mixed))[:2] == WAY
    assert len(parse(mixed)) == 1


def test_ipython() -> None:
    error = device_error(IPYTHON)
    assert (error.type, error.message) == ("RuntimeError", MESSAGE)
    cell, file = error.frames
    assert (cell.path, cell.cell, cell.row, cell.code) == ("", "7", 3, "y = model(x)")
    assert (file.path, file.row, file.code) == ("~/proj/net.py", 12, "return self.head(x)")
    assert file.function == "Net.forward"


def test_old_ipython() -> None:
    cell, file = device_error(OLD_IPYTHON).frames
    assert (cell.path, cell.cell, cell.row, cell.code) == ("", "7", 3, "y = model(x)")
    assert (file.path, file.row, file.code) == ("~/proj/net.py", 12, "return self.head(x)")


def test_a_kernel_s_file_is_a_cell() -> None:
    text = PYTHON.replace("/home/al/train.py", "/tmp/ipykernel_4711/123456.py")
    assert [(frame.path, frame.cell) for frame in device_error(text).frames[:2]] == [("", ""), ("", "")]


@pytest.mark.parametrize("text", [PYTEST, PYTEST_SHORT], ids=["long", "short"])
def test_pytest_s(text: str) -> None:
    error = device_error(text)
    assert error.message == MESSAGE
    assert places(error) == [
        ("tests/test_net.py", 8, "y = model(x)"),
        ("net.py", 12, "return self.head(x)"),
    ]


def test_the_error_about_devices_is_chosen_from_a_chain() -> None:
    text = PYTHON + (
        "\nThe above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\n    go()\nValueError: training failed\n'
    )
    errors = parse(text)
    assert [error.type for error in errors] == ["RuntimeError", "ValueError"]
    chosen, others = choose(errors, lambda error: "same device" in error.message)
    assert chosen.message == MESSAGE
    assert [other.type for other in others] == ["ValueError"]
    assert choose(errors, lambda error: False)[0].type == "ValueError"


def test_a_worker_s_traceback_inside_a_message() -> None:
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 30, in <module>\n    for batch in loader:\n'
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n"
        'Original Traceback (most recent call last):\n  File "data.py", line 4, in __getitem__\n    return x.cuda()\n'
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess.\n"
    )
    first, second = parse(text)
    assert places(first) == [("train.py", 30, "for batch in loader:")]
    assert places(second) == [("data.py", 4, "return x.cuda()")]
    assert second.message.startswith("Cannot re-initialize CUDA")


def test_a_message_alone() -> None:
    (error,) = parse(f"  {MESSAGE}\n")
    assert (error.type, error.message, error.frames) == ("", MESSAGE, [])
    (error,) = parse(f"RuntimeError: {MESSAGE}")
    assert (error.type, error.message, error.frames) == ("RuntimeError", MESSAGE, [])


def test_frames_without_an_error() -> None:
    (error,) = parse('  File "train.py", line 5, in main\n    y = model(x)\n')
    assert (error.type, error.message, places(error)) == ("", "", [("train.py", 5, "y = model(x)")])


def test_nothing() -> None:
    assert parse(" \n\n") == []


def test_source_that_names_an_exception_is_no_error() -> None:
    text = PYTHON.replace("    y = model(x)", "    except ValueError: y = model(x)")
    error = device_error(text)
    assert error.frames[1].code == "except ValueError: y = model(x)"
    assert len(parse(text)) == 1
