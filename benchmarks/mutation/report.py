"""Writes the report of the mutation study from its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Results = Mapping[str, Any]
Mutants = Sequence[Mapping[str, Any]]

CELLS = ("raised-flagged", "raised-missed", "passed-flagged", "passed-silent")
"""A device error happened or not, the linter said something or not."""

PLACES = {
    "mistake": "the row of the mistake",
    "traceback": "a row of the traceback",
    "note": "another row; a note names the row of the mistake or one of the traceback",
    "elsewhere": "another row",
}
FIXES = {
    "passes": "passes and prints what the program without the mistake prints",
    "passes with another output": "passes and prints something else",
    "no fix": "nothing to apply",
    "device error, reported": "still raises a device error, and something is still reported",
    "device error, missed": "still raises a device error, and nothing is reported any more",
    "other error": "ends with another error",
}


def share(part: int, whole: int) -> str:
    """ "3 of 4 (75.0%)", or a dash where there is nothing to divide by."""
    return f"{part} of {whole} ({100 * part / whole:.1f}%)" if whole else "-"


def recall(cells: Mapping[str, int]) -> str:
    """How much of what raised was flagged."""
    hit = cells.get("raised-flagged", 0)
    return share(hit, hit + cells.get("raised-missed", 0))


def precision(cells: Mapping[str, int]) -> str:
    """How much of what was flagged raised."""
    hit = cells.get("raised-flagged", 0)
    return share(hit, hit + cells.get("passed-flagged", 0))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; everything but the first column is set flush right."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def by_operator(results: Results) -> str:
    """The four cells of each operator."""
    mutants: Mutants = results["mutants"]
    rows = []
    for name in [*results["meta"]["operators"], None]:
        chosen = [one for one in mutants if name in (None, one["operator"])]
        if not chosen:
            continue
        cells = Counter(one["outcome"] for one in chosen)
        other = cells["other-flagged"] + cells["other-silent"]
        numbers = [*(cells[cell] for cell in CELLS), other, recall(cells), precision(cells)]
        rows.append([f"`{name}`" if name else "**all**", len(chosen), *numbers])
    header = ["operator", "mutants", "raised, flagged", "raised, missed", "passed, flagged", "passed, silent"]
    return table([*header, "other error", "recall", "precision"], rows)


def by_fix(results: Results) -> str:
    """What became of the fixed programs, for each operator."""
    hits = [one for one in results["mutants"] if "fix" in one]
    rows = []
    for name in [*results["meta"]["operators"], None]:
        chosen = Counter(one["fix"] for one in hits if name in (None, one["operator"]))
        if chosen:
            label = f"`{name}`" if name else "**all**"
            rows.append([label, chosen.total(), *(chosen[fix] for fix in FIXES)])
    return table(["operator", "flagged and raised", *FIXES.values()], rows)


def by_rule(results: Results) -> str:
    """How often each rule spoke, and what happened to those mutants."""
    counts: dict[str, Counter[str]] = {}
    for one in results["mutants"]:
        for code in {finding["code"] for finding in one["findings"]}:
            counts.setdefault(code, Counter())[one["outcome"].removesuffix("-flagged")] += 1
    rows = []
    for code in sorted({*counts, *results["meta"]["tool"]["rules"]}):
        cells = counts.get(code, Counter())
        rows.append([code, sum(cells.values()), cells["raised"], cells["passed"], cells["other"]])
    return table(["rule", "mutants flagged", "raised", "passed", "other error"], rows)


def by_program(results: Results) -> str:
    """How much was found in each program."""
    rows = []
    for program in results["programs"]:
        chosen = [one for one in results["mutants"] if one["program"] == program["program"]]
        cells = Counter(one["outcome"] for one in chosen)
        found = len(program["findings"])
        rows.append(
            [f"`{program['program']}`", program["rows"], len(chosen), recall(cells), precision(cells), found]
        )
    header = ["program", "lines", "mutants", "recall", "precision", "findings in the program itself"]
    return table(header, rows)


def summary(results: Results) -> str:
    """The numbers, for the terminal."""
    return by_operator(results)


def by_place(results: Results) -> str:
    """Where the reports stand."""
    counts = Counter(one["place"] for one in results["mutants"] if "place" in one)
    rows = [[what, share(counts[name], counts.total())] for name, what in PLACES.items()]
    return table(["the report stands at", "mutants"], rows)


def _code(text: str, limit: int = 110) -> str:
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"`` {short} ``" if "`" in short else f"`{short}`"


def _place(one: Mapping[str, Any]) -> str:
    return f"* {one['program']}:{one['row']}:{one['operator']} {_code(one['line'])}"


def _failure(one: Mapping[str, Any]) -> str:
    for backend, run in one["runs"].items():
        if run["verdict"] != "passed":
            where = f"row {run['rows'][-1]}" if run["rows"] else "an unknown row"
            on = " (without a GPU)" if backend == "cpu" else ""
            return f"{where}{on}: {_code(run['error'] or run['verdict'], 100)}"
    return "passed"


def _findings(one: Mapping[str, Any]) -> str:
    return "; ".join(f"row {f['row']} {f['code']} {f['message']}" for f in one["findings"])


def misses(results: Results) -> list[str]:
    """A line for each mutant that raised and was not flagged, sorted by operator."""
    order = list(results["meta"]["operators"])
    chosen = [one for one in results["mutants"] if one["outcome"] == "raised-missed"]
    chosen.sort(key=lambda one: order.index(one["operator"]))  # stable: by program and row within
    return [f"{_place(one)} raises at {_failure(one)}" for one in chosen]


def false_alarms(results: Results) -> list[str]:
    """A line for each mutant that passed and was flagged, and for each finding in a program without a mistake."""
    lines = [
        f"* {program['program']}, without a mistake, {finding}"
        for program in results["programs"]
        for finding in program["findings"]
    ]
    flagged = [one for one in results["mutants"] if one["outcome"] == "passed-flagged"]
    return [*lines, *(f"{_place(one)} reported: {_findings(one)}" for one in flagged)]


def others(results: Results) -> list[str]:
    """A line for each mutant that ended with an error that is not about devices."""
    chosen = [one for one in results["mutants"] if one["outcome"].startswith("other")]
    return [
        f"{_place(one)} ends at {_failure(one)}"
        + (f"; reported: {_findings(one)}" if one["findings"] else "")
        for one in chosen
    ]


def render(results: Results) -> str:
    """The whole document."""
    meta, mutants = results["meta"], results["mutants"]
    tool = meta["tool"]
    cells = Counter(one["outcome"] for one in mutants)
    programs = results["programs"]
    commit = f"commit {tool['commit']}" + (" with uncommitted changes" if tool["uncommitted"] else "")
    clean = sum(not program["findings"] for program in programs)
    operators = [[f"`{name}`", what] for name, what in meta["operators"].items()]
    parts = [
        "# The mutation study",
        "Written by `python benchmarks/mutation/run.py`; the numbers come from `benchmarks/mutation/results/study.json`.",
        f"torchdev-lint {tool['version']} ({commit}), rules {', '.join(tool['rules'])}; torch {meta['torch']}, "
        f"Python {meta['python']}.",
        f"{len(programs)} complete programs ({sum(program['rows'] for program in programs)} lines) that handle their devices "
        "rightly are broken in one place at a time, as people break them: a transfer forgotten, a buffer turned into an "
        f"attribute. Each of the {len(mutants)} mutants is linted with all default rules and executed on a simulated machine "
        "with two GPUs. The programs were written for this study and belong to no test of the linter; they were not changed "
        "after the linter was first run on them. The linter was: its authors have read what it missed here and which fixes did not "
        "cure, and taught it the idioms (the first runs: recall 76.1%, 73.8% of the flagged cured). So these numbers are no "
        "estimate for programs that it has not met; `git log` of this file has the earlier ones.",
        "* **raised**: the run ends with a device error. `other-gpu-literal` is run on a machine without a GPU, too, and counts as "
        "raised if it fails on either.\n"
        "* **flagged**: the linter reports something that it does not report of the program without the mistake.\n"
        "* **recall**: flagged among the raised. **precision**: raised among the flagged that raised or passed.\n"
        "* **other error**: the mutant ends with an error that is not about devices, such as an optimizer without "
        "parameters. These count neither way.",
        f"Recall: **{recall(cells)}**. Precision: **{precision(cells)}**. "
        f"Programs without a mistake in which nothing is found: {share(clean, len(programs))}.",
        "## By operator",
        by_operator(results),
        table(["operator", "what it does"], operators).replace("---:|", "---|"),
        "## By rule",
        "A mutant that several rules report counts for each.",
        by_rule(results),
        "## Where the linter points",
        "Of the mutants that raised and were flagged.",
        by_place(results),
        "## After `--fix --unsafe-fixes`",
        "Of the same mutants; the fixed program is executed again. A fix that moves the other side than the one that was meant "
        "may well end in the next error.",
        by_fix(results),
        "## By program",
        by_program(results),
        "## Every false alarm",
        "\n".join(false_alarms(results)) or "None.",
        "## Every miss",
        "`program:row:operator`, what stands there now, and where it fails.",
        "\n".join(misses(results)) or "None.",
        "## Every other error",
        "\n".join(others(results)) or "None.",
    ]
    return "\n\n".join(parts) + "\n"
