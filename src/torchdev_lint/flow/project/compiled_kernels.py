"""Kernels of a project's own that are compiled for GPUs: what imports them runs on a machine with one, or not at all.

Compiled as soon as a file is imported (`load(sources=["a.cu"])`), or when the project is installed (`CUDAExtension` in its setup.py). A
project that compiles for the CPU, too (`CppExtension`), chooses; so does what goes on without the kernels where they cannot be imported.
Source: torch/utils/cpp_extension.py (`load`, `CUDAExtension`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.project.reach import with_imported, without_imports
from torchdev_lint.torch_api.libraries import ACCELERATOR_ONLY

_COMPILES = re.compile(r"(?ms)^\w+ = (?:\w+\.)*load\((?:(?!^\)).)*?\.cu['\"]")
"""A file that compiles kernels for GPUs as soon as it is imported."""
_ASKS_AT_ONCE = re.compile(r"(?m)^(?:\w+ = )?torch\.cuda\.(?:current_device|get_device_\w+)\(")
"""A file that asks for the current GPU as soon as it is imported, which raises where there is none (torch/cuda/__init__.py)."""
_IMPORTS = re.compile(r"(?m)^(?:from|import)[ \t]+([\w.]+)")
_BUILDS = re.compile(r"\bCUDAExtension\(\s*(?:name\s*=\s*)?['\"]([\w.]+)['\"]")
_IMPORT = re.compile(
    r"(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)|import[ \t]+([\w.]+))"
)
_ATTEMPT = re.compile(
    r"(?m)^try:[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)except[^\n]*\n((?:[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)"
)


def imports_what_needs_one(analysis: Analysis, files: dict[str, str]) -> bool:
    """Whether something that files import at once, whatever happens, cannot be imported where there is no GPU."""
    at_once = with_imported(analysis, files, at_top=True) or {}
    names = _extensions(analysis)
    return any(
        (path not in files and runs_on_gpus_only(text))
        or (bool(names) and any(_needs(analysis, path, text, names)))
        for path, text in at_once.items()
    )


def needs_own_kernels(analysis: Analysis) -> bool:
    """Whether the checked file cannot be imported without kernels that the project compiles for GPUs."""
    if not _extensions(analysis):
        return False
    known = analysis.notes.get("own kernels")
    if known is None:
        known = imports_what_needs_one(analysis, {analysis.source.path: analysis.written})
        analysis.notes["own kernels"] = known
    return bool(known)


def runs_on_gpus_only(text: str) -> bool:
    """Whether a file cannot be imported where there is no GPU, by what it does and by the libraries that it imports."""
    return (
        _COMPILES.search(text) is not None
        or _ASKS_AT_ONCE.search(text) is not None
        or any(ACCELERATOR_ONLY.match(match[1]) is not None for match in _IMPORTS.finditer(text))
    )


def _extensions(analysis: Analysis) -> frozenset[str]:
    """The modules, by their full names, that the project compiles for GPUs only when it is installed."""
    known: frozenset[str] | None = analysis.notes.get("extensions for GPUs")
    if known is None:
        found = [text for _, text in analysis.imports.mentioning("CUDAExtension") or ()]
        chooses = any("CppExtension" in without_imports(text) for text in found)
        known = (
            frozenset() if chooses else frozenset(name for text in found for name in _BUILDS.findall(text))
        )
        analysis.notes["extensions for GPUs"] = known
    return known


def _needs(analysis: Analysis, path: str, text: str, names: frozenset[str]) -> Iterator[bool]:
    """For each import of a compiled module, at the top of a file or tried there, whether nothing goes on without it."""
    for match in _IMPORT.finditer(text):
        if match.group()[0] not in " \t":
            yield _is_compiled(path, match, names)
    for attempt in _ATTEMPT.finditer(text):
        if any(_is_compiled(path, match, names) for match in _IMPORT.finditer(attempt[1])):
            yield re.search(r"\braise\b", attempt[2]) is not None or any(
                runs_on_gpus_only(other)
                for match in _IMPORT.finditer(attempt[2])
                for _, other in analysis.imports.imported_texts(
                    path, match[1] or match[3], re.findall(r"\w+", match[2] or "")
                )
            )


def _is_compiled(path: str, imported: re.Match[str], names: frozenset[str]) -> bool:
    """Whether an import in a file is of one of the compiled modules; relative ones are known by their last name."""
    base = imported[1] or imported[3]
    parts = re.findall(r"\w+", imported[2] or "")
    if base.startswith("."):
        package = os.path.basename(os.path.dirname(path))
        last = {name.rpartition(".")[2] for name in names if "." not in name or package in name.split(".")}
        return base.rpartition(".")[2] in last or not last.isdisjoint(parts)
    return base in names or any(f"{base}.{part}" in names for part in parts)
