"""What is derived from the modules themselves: docs/modules.md, what each of them is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from fixture_files import ROOT

MODULES = ROOT / "docs" / "modules.md"
PACKAGE = ROOT / "src" / "torchdev_lint"

_HEAD = """# The modules

Written by `python scripts/derive.py` from the beginning of each module's docstring. [design.md](design.md) says how the rooms work
together, [development.md](development.md#where-to-look) where to begin for what. `flow/` is shown in parts, roughly from the ground up.
"""

ROOMS: Mapping[str, str] = {
    "source": "Bytes, texts and files",
    "torch_api": "What PyTorch does to devices, as tables",
    "stubs": "What libraries do to devices",
    "flow": "The inference",
    "rules": "One file for each rule",
    "fixes": "Applying edits",
    "report": "One file for each format",
    "engine": "The run",
    "explain": "Pasted tracebacks",
    "lsp": "The language server",
    "": "The faces, and the configuration",
    "shim": "Behind `ruff_api_shim`: one report with Ruff's",
    "harness": "Running programs",
    "harness/backends": "What programs are run on",
    "harness/simulator": "The simulated accelerator",
}
"""The rooms in the order in which they are shown, and their headings. The probes are programs, not parts, and are left out."""

FLOW: Mapping[str, str] = {
    "Values: what may be known of a thing, and when two devices certainly differ": (
        "conditions lattice values environment immutable descriptions"
    ),
    "The tree, and where things stand in it": "trees positions layout units docstrings",
    "The activation: what all handlers are given": "analysis frame imports projects events placement_events",
    "Executing statements and expressions": (
        "interpreter top_level statements definitions loops contexts matching expressions truths turns patterns iteration "
        "containers identities mixed_lists"
    ),
    "Calls and functions of the program": (
        "calls callsites functions decorators registries choices dispatch folds workers exit_stacks builtin_functions library_functions "
        "paths arrays"
    ),
    "Classes and objects of the program": (
        "classes objects built_within made_by_new computed_attributes dict_classes list_classes own_state kept_generators held_helpers "
        "conventions confinement records special_methods torch_bases stored_devices"
    ),
    "What PyTorch's functions and methods do": (
        "torch_functions torch_factories torch_devices tensors tensor_values transfers device_values operator_calls dimensions operations "
        "operands indexing function_transforms distributions generators gradients current_device"
    ),
    "Modules, optimizers and data": (
        "modules module_containers module_slices library_parts parameter_aliases model_calls model_runs seen_to_work hooks "
        "brought_by_hooks parametrizations copies placements registration attached_parts optimizers parameter_groups "
        "looped_parameters loaders checkpoints loading_scopes loading_callers loading_evidence load_helpers savers saved_files "
        "loaded_models others_weights earlier_cells"
    ),
    "What stub files and command lines say": "library_facts library_calls command_lines",
    "A function read alone: what its text shows of its arguments": (
        "bindings given_attributes evidence evident_parts module_parameters host_functions preparations read_on_host written_evidence "
        "written_looks written_expressions written_tensors device_spellings"
    ),
    "The project around a file: who calls it, with what, on which machines": (
        "reach project_calls callers_elsewhere caller_results project_forwards private_helpers defaults_elsewhere defaults_met "
        "settings settled_flags chosen_elsewhere chosen_by_condition overridden_defaults untaken absent_arguments "
        "accelerator_needs accelerator_programs current_gpu driven compiled_kernels"
    ),
    "Finding mistakes that are no conflict of two operands": (
        "literals divided_work device_objects device_indices discarded_transfers lost_copies host_reads unproven_reads "
        "host_arguments lost_index forwarding ambient_devices moved_outputs disagreeing_returns returned_factories unstated_devices "
        "unstated_by_use built_for_arguments brought_back "
        "brought_beside left_behind odd_one_out doubtful_devices doubtful_comparisons doubtful_uses doubtful_cuda missing_devices"
    ),
    "Telling: is it certain, where is it reported, what cures it": "conflicts attribution publication cures repeated",
    "Reading again after an edit, for the language server": (
        "rereading steps journal journal_tables watched observations"
    ),
    "Looking at the inference": "recording reveals",
}
"""The parts of flow/ and their modules."""


def modules_document() -> str:
    """The whole of docs/modules.md. Raises ValueError for a part of flow/ that names a module that is not there."""
    return "\n".join([_HEAD, *(part for room, heading in ROOMS.items() for part in _room(room, heading))])


def _room(room: str, heading: str) -> Iterator[str]:
    found = {
        path.stem: _purpose(path) for path in sorted((PACKAGE / room).glob("*.py")) if path.stem != "__init__"
    }
    yield f"## {f'`{room}/`: ' if room else ''}{heading}\n"
    if room != "flow":
        yield _table(found)
        return
    for part, names in FLOW.items():
        listed = names.split()
        if gone := set(listed) - set(found):
            raise ValueError(f"scripts/modules_document.py: {', '.join(sorted(gone))}: not in flow/")
        yield f"### {part}\n"
        yield _table({name: found.pop(name) for name in listed})
    if found:
        yield "### In no part yet (`scripts/modules_document.py` sorts them)\n"
        yield _table(found)


def _table(rows: Mapping[str, str]) -> str:
    return (
        "\n".join(["| module | |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in rows.items())])
        + "\n"
    )


def _purpose(path: Path) -> str:
    """The first paragraph of a module's docstring; empty where there is none."""
    documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(documentation.split("\n\n")[0].split()).replace("|", "\\|")
