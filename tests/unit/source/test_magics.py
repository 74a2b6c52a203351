"""IPython's syntax in cells: what is masked, what stays code, and that nothing moves."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdev_lint.source.magics import imported_names, masked, opaque

UNTOUCHED = [
    "x = 1\n",
    "x = 7 % 3\n",
    "x = (7\n     % y)\n",
    "text = '''\n%time f()\n!ls\n'''\n",
    "print('what?')  # why?\n",
    'x = "a = !b"\n',
    "x = d['='] != e\n",
    "rm = 3\n",
    "cat if x else y\n",
    "cp in boxes\n",
    "x \\\n% y\n",
    "f(a,\n  # why?\n  b)\n",
    "",
    "\n\n",
]

MASKED = {
    "%matplotlib inline": "pass",
    "%%": "pass",
    "  %load_ext autoreload\n  x = 1": "  pass\n  x = 1",
    "!pip install torch": "pass",
    "!!ls\nx": "pass\nx",
    "!python download.py": "pass",
    "  ! CUDA_VISIBLE_DEVICES=0 python train.py -c 0\nx": "  get_ipython()\nx",
    "%run tools/pretrain.py": "get_ipython()",
    "if a:\n    !ls\nx": "if a:\n    pass\nx",
    "model?": "pass",
    "model.forward??  ": "pass",
    "?model": "pass",
    "%time?": "pass",
    "/f x": "pass",
    ",f x": "pass",
    "pip install torch": "pass",
    "cd ..": "pass",
    "rm -rf out": "pass",
    "files = !ls -la": "files = get_ipython()",
    "a, b = !ls": "a, b = get_ipython()",
    "d['k'] = %env HOME": "d['k'] = get_ipython()",
    "t = %timeit -o f(x)": "t = get_ipython()",
    "y = %time f(x)": "y =       f(x)",
    "y = %time": "y = get_ipython()",
    "%time model.to(device)": "pass; model.to(device)",
    "%timeit -n 10 -r 3 f(x)": "pass;".ljust(19) + "f(x)",
    "%timeit -n10 f(x)": "pass;".ljust(13) + "f(x)",
    "%prun -s cumulative f(x)": "pass;".ljust(20) + "f(x)",
    "%time": "pass",
    "%time for x in y: f(x)": "x = y = f = get_ipython()",
    "%profile fit(model)": "fit = model = get_ipython()",
    "!ls \\\n  -l \\\n  x\ny": "pass\n\n\ny",
    "%time f(a, \\\n  b)\ny": "time = f = a = b = y = get_ipython()\n\ny",
    "%%time\nf(x)": "pass\nf(x)",
    "%%timeit x = 1\nf(x)": "pass;    x = 1\nf(x)",
    "\n# shown\n%%capture out\n%%time\nf(x)\n!ls": "\n# shown\npass\npass\nf(x)\npass",
    "%%bash\nif [ x ]; then\nfi\n": "pass\n\n\n",
    "%%writefile a.py\nmodel.cuda()": "pass\n",
    "%%R\nx <- y": "pass\n",
    "%%notify --now\nmodel.cuda()\nprint(x)\n": "now = model = x = get_ipython()\n\n\n",
    "x = 1\n%%time\ny": "x = 1\npass\ny",
    "s = '''\n'''\n!ls \"it's (\ny = (1,\n  2)\n!ls": "s = '''\n'''\npass\ny = (1,\n  2)\npass",
    "!a\r\nx = 1\r\n": "pass\r\nx = 1\r\n",
    "x = '\ud83d'": "x = '\ufffd'",
    # no magic of the cell where code is above it, but one below comments and blank rows
    "x = 1\n%%bash\ny = 2": "x = 1\npass\ny = 2",
    "# c\n%%bash\nif [ x ]; then": "# c\npass\n",
    "\n  # c\n\n%%bash\nif [ x ]; then": "\n  # c\n\npass\n",
    "%%time? \nf(x)": "pass\nf(x)",
    "%time? ": "pass",
    "if a:\n  %time f(x)": "if a:\n  pass; f(x)",
    "y = %time -p f(x)": "y = ".ljust(len("y = %time -p ")) + "f(x)",
    "%timeit -n": "pass",
    "%time X.f(y)": "pass; X.f(y)",
    "!echo X\ny": "pass\ny",
    "%%bash\r\nls\r\n": "pass\r\n\r\n",
    "%%bash\rls\r": "pass\r\r",
    "!a\rx = 1": "pass\rx = 1",
}


@pytest.mark.parametrize("text", UNTOUCHED)
def test_python_is_left_alone(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(("text", "expected"), MASKED.items(), ids=MASKED)
def test_magics_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected
    ast.parse("if True:\n" + expected if expected[:1] == " " else expected)


def test_imported_names_are_never_forgotten() -> None:
    imported = imported_names("import torch\nfrom torch import nn as n, optim\nx = 1\n")
    assert {"torch", "n", "optim"} <= imported
    assert masked("%%new\ntorch.f(model)\n", imported) == "model = get_ipython()\n\n"
    assert masked("%%timeit for x in y: torch.f(x)\nx\n", imported) == "x = y = get_ipython()\nx\n"


def test_an_opaque_cell_keeps_its_rows() -> None:
    assert opaque("x = (\nfor y in torch:", {"torch"}) == "x = y = get_ipython()\n"
    assert opaque("((\n") == "pass\n"


LINES = [
    "%time f(x)",
    "!ls (",
    "x = !ls",
    "x?",
    "%%time",
    "%%bash",
    "  y = [",
    "]",
    "'''",
    "f(1)",
    "\\",
    "# c",
    "",
]


@given(st.lists(st.sampled_from(LINES), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_rows_never_move(lines: list[str], newline: str) -> None:
    text = newline.join(lines)
    assert masked(text).count(newline) == text.count(newline)


@given(st.text(alphabet="%!?=x \n\r'\"\\(#", max_size=40))
def test_any_text_is_masked_without_an_error(text: str) -> None:
    assert len(ast.literal_eval(repr(masked(text)))) >= 0
