"""Readers of notebooks, configurations and stubs: whatever the bytes, the right result or their own error."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchdev_lint.config import Config, ConfigError
from torchdev_lint.config_file import load_config_file
from torchdev_lint.config_options import BY_NAME
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.stubs.reading import StubError, read_library
from torchdev_lint.stubs.shelf import shelf

many = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
sources = st.sampled_from(
    [
        "import torch\n",
        "x = torch.ones(2).cuda()\n",
        "%matplotlib inline\n",
        "!ls\n",
        "%%bash\n",
        "(",
        "x?",
        "\x00",
        "\ud800",
        "y = (x +\n",
    ]
)
cells: st.SearchStrategy[Any] = json_values | st.fixed_dictionaries(
    {
        "cell_type": st.sampled_from(["code", "markdown", "raw"]) | json_values,
        "source": st.lists(sources) | sources | json_values,
    },
    optional={
        "metadata": json_values,
        "outputs": json_values,
        "id": json_values,
        "execution_count": json_values,
    },
)
notebooks = st.fixed_dictionaries(
    {"cells": st.lists(cells, max_size=5) | json_values},
    optional={
        "metadata": st.just({"kernelspec": {"language": "python"}}) | json_values,
        "nbformat": st.integers(2, 5) | json_values,
        "nbformat_minor": json_values,
        "worksheets": json_values,
    },
)


@many
@given(notebooks, st.integers(0, 400), st.binary(max_size=3), st.booleans())
def test_notebooks(notebook: Any, place: int, noise: bytes, noisy: bool) -> None:
    data = b'{"torch": 0, ' + json.dumps(notebook).encode()[1:]
    if noisy:
        data = data[:place] + noise + data[place + 1 :]
    result = check_bytes(data, "book.ipynb", Config())
    assert result.errors == ()


values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["TDV001", "ALL", "*.py", "["]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@many
@given(
    st.dictionaries(st.sampled_from([*BY_NAME, "unknown"]), values, max_size=4),
    st.binary(max_size=2),
    st.integers(0, 60),
)
def test_configurations(tmp_path: Path, table: dict[str, Any], noise: bytes, place: int) -> None:
    # JSON's strings, numbers, booleans and lists are TOML's as well.
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    data = text.encode()
    path = tmp_path / "torchdev-lint.toml"
    path.write_bytes(data[:place] + noise + data[place:] if noise and place < len(data) else data)
    with suppress(ConfigError, StubError):
        config = load_config_file(str(path), str(tmp_path))
        shelf(config.stubs)
        assert (
            check_bytes(b"import torch\nx = torch.ones(2).cuda()\n", str(tmp_path / "a.py"), config).errors
            == ()
        )


stub_lines = st.sampled_from(
    [
        'library = "mine"\n',
        'notes = "n"\n',
        "notes = 1\n",
        "[[function]]\n",
        "[[method]]\n",
        "[function]\n",
        'names = ["*", "[a-"]\n',
        "names = [1]\n",
        'of = ["A"]\n',
        'returns = "host"\n',
        'returns = "../x"\n',
        "passes-through = [0, 'x']\n",
        "follows = [[0]]\n",
        "= \x00",
    ]
)


@many
@given(st.lists(stub_lines, max_size=6))
def test_stubs(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "stub.toml"
    path.write_text('library = "mine"\n' + "".join(lines), encoding="utf-8")
    with suppress(StubError):
        read_library(str(path))


@pytest.mark.parametrize(("read", "error"), [(load_config_file, ConfigError), (read_library, StubError)])
def test_toml_that_nests_without_end(
    tmp_path: Path, read: Callable[..., object], error: type[Exception]
) -> None:
    path = tmp_path / "torchdev-lint.toml"
    path.write_text("select = " + "[" * 20_000)
    arguments = (str(path), str(tmp_path)) if read is load_config_file else (str(path),)
    with pytest.raises(error, match="nested too deeply"):
        read(*arguments)


def test_a_notebook_that_nests_without_end() -> None:
    result = check_bytes(b'{"torch": ' + b"[" * 200_000, "book.ipynb", Config())
    assert result.errors == ()
    assert [one.code for one in result.diagnostics] == ["TDV999"]
