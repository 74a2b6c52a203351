"""The pinned dependencies against a copy of an advisory database, where no service can be asked as `pip-audit` does.

    git clone https://github.com/pypa/advisory-database
    python benchmarks/reliability/advisories.py advisory-database [REQUIREMENTS...]

Each advisory (OSV's format, `vulns/PACKAGE/*.yaml`) that is about a version pinned with `==` is told, and how many there are about
other versions of these packages. Exit code 1 if one concerns what is pinned. It is as new as the copy is: that is told, too.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[2]
PINNED = [ROOT / ".ci" / "requirements.txt", ROOT / ".ci" / "constraints.txt"]


def pins(path: Path) -> dict[str, str]:
    """The versions that a requirements file pins, by package."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def concerns(advisory: dict[str, Any], package: str, version: str) -> bool:
    """Whether an advisory is about a version of a package: one of those listed, or within a range."""
    for affected in advisory.get("affected", ()):
        if canonicalize_name(affected["package"]["name"]) != package:
            continue
        if version in map(str, affected.get("versions", ())):
            return True
        for each in affected.get("ranges", ()):
            if each["type"] == "ECOSYSTEM" and _within(each["events"], Version(version)):
                return True
    return False


def _within(events: list[dict[str, str]], version: Version) -> bool:
    inside = False
    for event in events:
        for kind, place in event.items():
            try:
                reached = place == "0" or version >= Version(str(place))
                beyond = version > Version(str(place))
            except InvalidVersion:
                return True  # rather one too many
            if kind == "introduced" and reached:
                inside = True
            elif (kind == "fixed" and reached) or (kind == "last_affected" and beyond):
                inside = False
    return inside


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database", type=Path)
    parser.add_argument("requirements", nargs="*", type=Path, default=PINNED)
    options = parser.parse_args()
    packages = {path.name: path for path in (options.database / "vulns").iterdir()}
    if not packages:
        parser.error(f"{options.database / 'vulns'} holds no advisories")
    found, looked_at, newest = [], 0, ""
    versions = {name: version for path in options.requirements for name, version in pins(path).items()}
    for name, version in sorted(versions.items()):
        for path in sorted(packages[name].glob("*.yaml")) if name in packages else ():
            advisory = yaml.safe_load(path.read_text(encoding="utf-8"))
            if "withdrawn" in advisory:
                continue
            looked_at += 1
            newest = max(newest, str(advisory.get("modified", "")))
            if concerns(advisory, name, version):
                found.append(f"{name} {version}: {advisory['id']} {', '.join(advisory.get('aliases', ()))}")
    print(f"{len(versions)} packages, {looked_at} advisories about them, the newest of {newest or 'no date'}")
    print("\n".join(found) or "none is about a version that is pinned")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
