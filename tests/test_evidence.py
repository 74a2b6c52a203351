"""Every fixture does what it was written for, and docs/evidence.md says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

import evidence
import pytest
from fixture_files import ROOT, FixtureFile, fixture_files

pytest.importorskip("torch")

DOCUMENT = evidence.DOCUMENT.read_text(encoding="utf-8")
DOCUMENTED = {row.key: row for row in evidence.documented(DOCUMENT)}
PROOFS = [proof for fixture in fixture_files() for proof in evidence.proofs(fixture)]


@pytest.fixture(scope="module")
def bench() -> Iterator[evidence.Bench]:
    with evidence.Bench() as bench:
        yield bench


@pytest.mark.parametrize("fixture", fixture_files(), ids=lambda fixture: fixture.id)
def test_a_fixture_does_what_it_was_written_for(bench: evidence.Bench, fixture: FixtureFile) -> None:
    for proof in evidence.proofs(fixture):
        if proof.backend == "cuda":
            continue
        assert bench.missing(proof.backend) is None
        row = bench.run(proof)
        assert row.outcome == proof.expected(), row
        assert not evidence.differences(row, DOCUMENTED.get(row.key)), "run scripts/evidence.py"


@pytest.mark.parametrize(
    "fixture",
    [one for one in fixture_files() if one.bad and one.rule not in ("TDV002", "TDV018", "TDV101")],
    ids=lambda one: one.id,
)
def test_fixing_changes_nothing_where_the_program_works(bench: evidence.Bench, fixture: FixtureFile) -> None:
    before = _without_temporary_names(bench.output(evidence.Proof(fixture, "bad", "cpu")))
    after = _without_temporary_names(bench.output(evidence.Proof(fixture, "fixed", "cpu")))
    if before[0] is evidence.Kind.PASSED:
        assert after == before
    else:
        # what fails on the CPU too has nothing that could change
        assert (
            fixture.rule in ("TDV009", "TDV012", "TDV015", "TDV017", "TDV107")
            or fixture.path.stem == "second_gpu_literal_bad"
        )


def _without_temporary_names(output: tuple[evidence.Kind, str]) -> tuple[evidence.Kind, str]:
    """What a program did, without the names of `tempfile`, which differ from run to run."""
    return output[0], re.sub(r"tmp[a-z0-9_]{8}", "", output[1])


def test_on_a_real_gpu(bench: evidence.Bench) -> None:
    reason = bench.missing("cuda")
    if reason is not None:
        pytest.skip(f"NOT PROVED ON A REAL GPU: {reason}")
    possible = [proof for proof in PROOFS if proof.backend == "cuda" and bench.cannot(proof) is None]
    outcomes = {evidence.proof_key(proof): bench.run(proof).outcome for proof in possible}
    assert outcomes == {evidence.proof_key(proof): proof.expected() for proof in possible}


def test_the_document_tells_of_these_programs_and_no_others() -> None:
    digests = {evidence.proof_key(proof): proof.digest for proof in PROOFS}
    everywhere = {key for key in digests if key[-1] != "cuda"}
    assert everywhere <= set(DOCUMENTED) <= set(digests)
    assert {key: row.digest for key, row in DOCUMENTED.items()} == {key: digests[key] for key in DOCUMENTED}
    assert all(evidence.as_wanted(row) for row in DOCUMENTED.values())


def test_the_document_is_what_the_script_writes() -> None:
    timing = re.search(r"^\* Timing: (.*)$", DOCUMENT, re.MULTILINE)
    missing = re.findall(r"^\* (`\w+` was not run .*)$", DOCUMENT, re.MULTILINE)
    assert timing is not None
    assert evidence.render(DOCUMENTED.values(), timing[1], missing) == DOCUMENT


def test_the_document_is_of_the_pinned_torch() -> None:
    pinned = re.search(r"^torch==(\S+)$", (ROOT / ".ci/constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    versions = {row.torch.partition("+")[0] for row in DOCUMENTED.values() if row.backend != "cuda"}
    assert versions == {pinned[1]}


@pytest.mark.parametrize(
    ("line", "problem"),
    [("9", "line is '9'"), ("8", "")],
    ids=["another line", "the same"],
)
def test_differences_are_seen(line: str, problem: str) -> None:
    old = evidence.Row(
        "TDV001", "a_bad", "bad", "0" * 8, "simulated", "2.13.0", "device-error", "8", "E: a | b"
    )
    new = evidence.Row(*[line if column == "line" else getattr(old, column) for column in evidence.COLUMNS])
    (read,) = evidence.documented(evidence.render([old], "none.", []))
    assert read == old
    assert problem in "".join(evidence.differences(new, read))
    assert bool(evidence.differences(new, read)) == bool(problem)
    assert evidence.differences(new, None)


def test_other_versions_may_word_their_errors_differently() -> None:
    old = evidence.Row("TDV001", "a_bad", "bad", "0" * 8, "simulated", "2.13.0", "device-error", "8", "E: a")
    new = evidence.Row("TDV001", "a_bad", "bad", "0" * 8, "simulated", "2.14.0", "device-error", "8", "E: b")
    assert not evidence.differences(new, old)
