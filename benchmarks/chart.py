"""The chart of docs/performance.md: CPU time by lines, on logarithmic scales, from benchmarks/results/speed.jsonl.

    python benchmarks/chart.py            write docs/pictures/speed.svg, print how each tool grows
    python benchmarks/chart.py --check    only say whether the picture is out of date (exit status 1)

Of a tree that was measured several times the latest counts.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "speed.jsonl"
PICTURE = ROOT / "docs" / "pictures" / "speed.svg"

SERIES: Mapping[str, tuple[str, str]] = {
    "torchfix": ("TorchFix", "#4a90d9"),
    "fixit": ("Fixit", "#9b72e0"),
    "flake8-async": ("flake8-async", "#c05fa8"),
    "ours": ("torchdev-lint", "#e0592a"),
    "flake8": ("flake8, its defaults", "#2a9d74"),
    "ruff": ("Ruff", "#7f8c8d"),
    "ours-warm": ("torchdev-lint, nothing changed", "#d99a1c"),
}
"""What is drawn: by the name of the command, what it is called and its colour, which has to stand out on white and on black."""

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 470, 70, 20, 250, 50
X, Y = (3, 6.2), (-2, 3.2)
"""The powers of ten at the ends of the axes."""
APART = 17
"""Pixels between two labels."""

Point = tuple[float, float]

HEAD = f"""\
<svg viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg" role="img"
 font-family="sans-serif" font-size="13" xml:space="preserve">
<title>CPU time of a first run by the lines of a tree, for torchdev-lint and others</title>
<style>
text {{ fill: #777 }}
.grid {{ stroke: #888; stroke-opacity: 0.25 }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #aaa }} }}
</style>
"""


def read() -> dict[str, list[Point]]:
    """By command: lines and median CPU seconds of each tree, by lines."""
    latest: dict[tuple[str, str], Point] = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        # before the work on the inference, on a busy machine; files that read others which are not counted
        if told.get("older") or told.get("sample"):
            continue
        latest[told["command"], told["tree"]] = (told["lines"], statistics.median(told["cpu"]))
    found: dict[str, list[Point]] = {name: [] for name in SERIES}
    for (command, _), point in latest.items():
        if command in found:
            found[command].append(point)
    return {name: sorted(points) for name, points in found.items()}


def growth(points: Sequence[Point]) -> tuple[float, float]:
    """The power of the lines with which the time goes, and the seconds for 1,000 lines (least squares of the logarithms)."""
    xs = [math.log(lines / 1000) for lines, _ in points]
    slope, intercept = statistics.linear_regression(xs, [math.log(seconds) for _, seconds in points])
    return slope, math.exp(intercept)


def place(point: Point) -> Point:
    """Where a point stands in the picture."""
    x, y = (math.log10(one) for one in point)
    across = LEFT + (x - X[0]) / (X[1] - X[0]) * (WIDTH - LEFT - RIGHT)
    return across, HEIGHT - BOTTOM - (y - Y[0]) / (Y[1] - Y[0]) * (HEIGHT - TOP - BOTTOM)


def _axes() -> list[str]:
    lines = []
    for power, name in ((3, "1,000"), (4, "10,000"), (5, "100,000"), (6, "1,000,000")):
        x, _ = place((10.0**power, 1))
        lines.append(f'<path class="grid" d="M{x:.0f} {TOP}V{HEIGHT - BOTTOM}"/>')
        lines.append(f'<text x="{x:.0f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{name}</text>')
    for power in range(-2, 3):
        _, y = place((1, 10.0**power))
        lines.append(f'<path class="grid" d="M{LEFT} {y:.0f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g} s</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">lines of the tree</text>')
    lines.append(f'<text x="{LEFT + 8}" y="{TOP + 12}">CPU time</text>')
    return lines


def draw(found: Mapping[str, Sequence[Point]]) -> str:
    """The picture."""
    parts = _axes()
    previous = -math.inf
    ends = sorted((place(points[-1])[1], name) for name, points in found.items() if points)
    for end, name in ends:
        label, colour = SERIES[name]
        places = [place(point) for point in found[name]]
        width = 3 if name == "ours" else 1.5
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 1}" fill="{colour}"/>' for x, y in places]
        at = max(end, previous + APART)
        previous = at
        x = WIDTH - RIGHT + 14
        parts.append(
            f'<path d="M{places[-1][0] + 6:.1f} {end:.1f}L{x - 4} {at:.1f}" stroke="{colour}" stroke-dasharray="1 3"/>'
        )
        weight = ' font-weight="bold"' if name == "ours" else ""
        parts.append(f'<text x="{x}" y="{at + 4:.1f}" style="fill: {colour}"{weight}>{label}</text>')
    return f"{HEAD}{chr(10).join(parts)}\n</svg>\n"


def main() -> int:
    """Exit status 1 when the picture is out of date."""
    found = read()
    picture = draw(found)
    if "--check" in sys.argv[1:]:
        same = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == picture
        if not same:
            print(f"{PICTURE} is out of date: python benchmarks/chart.py", file=sys.stderr)
        return int(not same)
    PICTURE.write_text(picture, encoding="utf-8")
    for name, points in found.items():
        if len(points) > 2:
            power, seconds = growth(points)
            print(
                f"{SERIES[name][0]}: {len(points)} trees, lines^{power:.2f}, {seconds:.2f} s for 1,000 lines"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
