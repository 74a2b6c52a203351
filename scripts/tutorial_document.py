"""What is derived in docs/tutorial.md: the programs of examples/tutorial, what is reported of them, and what `--fix` makes of them."""

from __future__ import annotations

import re
from collections.abc import Callable

from fixture_files import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"

_PART = re.compile(
    r"(?<=<!-- derived: )(?P<kind>program|output|fix) (?P<flags>(?:--[\w=-]+ (?:TDV\d+ )?)*)(?P<path>\S+)( -->\n).*?(?=<!-- end -->)",
    re.DOTALL,
)


def tutorial(text: str, tool_output: Callable[..., str]) -> str:
    """docs/tutorial.md with its derived parts as they are to be; `tool_output` runs the command line."""

    def part(match: re.Match[str]) -> str:
        flags, path = match["flags"].split(), match["path"]
        if match["kind"] == "program":
            block = f"```python\n{(ROOT / path).read_text(encoding='utf-8')}```"
        elif match["kind"] == "fix":
            block = f"```diff\n{tool_output('--diff', '--unsafe-fixes', *flags, path)}```"
        else:
            block = (
                f"```console\n$ {' '.join(['torchdev-lint', *flags, path])}\n{tool_output(*flags, path)}```"
            )
        return f"{match['kind']} {match['flags']}{path}{match[4]}{block}\n"

    return _PART.sub(part, text)
