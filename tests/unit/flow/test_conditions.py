"""Conditions: simplification, truth under partial assignments, and what follows from a condition that holds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdev_lint.flow.domain.conditions import (
    FALSE,
    TRUE,
    And,
    Atom,
    Constant,
    Formula,
    Not,
    Or,
    atoms,
    common,
    conjunction,
    disjunction,
    extended,
    facts,
    known,
    negate,
    truth,
)

A, B, C = (Atom("opaque", (name,), name) for name in "abc")

formulas = st.recursive(
    st.sampled_from([TRUE, FALSE, A, B, C]),
    lambda inner: st.one_of(
        inner.map(negate),
        st.lists(inner, max_size=3).map(lambda parts: conjunction(*parts)),
        st.lists(inner, max_size=3).map(lambda parts: disjunction(*parts)),
    ),
    max_leaves=8,
)
ASSIGNMENTS = [
    dict(zip((A, B, C), values, strict=True)) for values in itertools.product((True, False), repeat=3)
]


def test_atoms_are_the_same_whatever_their_text() -> None:
    assert Atom("opaque", ("flag",), "use_cuda") == Atom("opaque", ("flag",), "args.cuda")
    assert hash(Atom("opaque", ("flag",), "x")) == hash(Atom("opaque", ("flag",)))
    assert Atom("opaque", ("flag",)) != Atom("available", ("flag",))
    assert Atom("opaque", ("flag",)) != Constant(True)


@pytest.mark.parametrize(
    ("formula", "simple"),
    [
        (negate(TRUE), FALSE),
        (negate(FALSE), TRUE),
        (negate(A), Not(A)),
        (negate(negate(A)), A),
        (conjunction(), TRUE),
        (conjunction(TRUE, A), A),
        (conjunction(A, FALSE), FALSE),
        (conjunction(A, A), A),
        (conjunction(A, conjunction(B, C)), And((A, B, C))),
        (conjunction(conjunction(A, B), A), And((A, B))),
        (disjunction(), FALSE),
        (disjunction(FALSE, A), A),
        (disjunction(A, TRUE), TRUE),
        (disjunction(A, A), A),
        (disjunction(A, disjunction(B, C)), Or((A, B, C))),
        (disjunction(A, conjunction(B, C)), Or((A, And((B, C))))),
    ],
)
def test_simplification(formula: Formula, simple: Formula) -> None:
    assert formula == simple


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (TRUE, True),
        (A, True),
        (B, False),
        (C, None),
        (Not(C), None),
        (Not(B), True),
        (And((A, C)), None),
        (And((B, C)), False),
        (Or((A, C)), True),
        (Or((B, C)), None),
    ],
)
def test_truth_where_c_is_not_known(formula: Formula, expected: bool | None) -> None:
    assert truth(formula, {A: True, B: False}) is expected


def test_atoms() -> None:
    assert atoms(TRUE) == frozenset()
    assert atoms(disjunction(A, negate(conjunction(B, A)))) == {A, B}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (TRUE, ()),
        (A, (A,)),
        (Not(A), (Not(A),)),
        (And((A, B)), (And((A, B)), A, B)),
        (Not(Or((A, Not(B)))), (Not(Or((A, Not(B)))), Not(A), B)),
        (Or((A, B)), (Or((A, B)),)),
        (Not(And((A, B))), (Not(And((A, B))),)),
    ],
)
def test_facts(formula: Formula, expected: tuple[Formula, ...]) -> None:
    assert facts(formula) == expected


@given(formulas)
def test_facts_hold_whenever_the_formula_does(formula: Formula) -> None:
    for assignment in ASSIGNMENTS:
        if truth(formula, assignment):
            assert all(truth(fact, assignment) for fact in facts(formula))


@given(st.lists(formulas, max_size=3))
def test_connectives_mean_what_they_say(parts: list[Formula]) -> None:
    for assignment in ASSIGNMENTS:
        values = [truth(part, assignment) for part in parts]
        assert truth(conjunction(*parts), assignment) is all(values)
        assert truth(disjunction(*parts), assignment) is any(values)
        for part, value in zip(parts, values, strict=True):
            assert truth(negate(part), assignment) is (not value)


@given(formulas, st.dictionaries(st.sampled_from([A, B, C]), st.booleans()))
@settings(max_examples=60)
def test_a_partial_truth_is_never_taken_back(formula: Formula, partial: dict[Atom, bool]) -> None:
    early = truth(formula, partial)
    if early is not None:
        for assignment in ASSIGNMENTS:
            assert truth(formula, assignment | partial) is early


class Counted(dict[Atom, bool]):
    """An assignment that is not asked for ever."""

    asked = 0

    def get(self, key: Atom, default: object = None) -> bool | None:  # type: ignore[override]
        self.asked += 1
        assert self.asked < 10_000
        return super().get(key)


@pytest.mark.parametrize(("value", "expected"), [({}, None), ({A: True}, True), ({A: False}, None)])
def test_parts_that_are_shared_are_looked_at_once(value: dict[Atom, bool], expected: bool | None) -> None:
    """As `a or b` again and again, of what was chosen before: as a tree, it has 2 to the 60th leaves."""
    formula: Formula = A
    for number in range(60):
        other = Atom(("other", number), "other")
        formula = Or((formula, Not(And((Not(formula), other)))))
    assert truth(formula, Counted(value)) is expected
    assert len(atoms(formula)) == 61


def test_what_two_branches_have_in_common_is_the_path_before_them() -> None:
    before = extended(extended((), A), B)
    assert common(extended(before, C), extended(before, negate(C))) is before
    assert common(before, extended(before, C)) is before


@given(st.lists(formulas, max_size=4), st.lists(formulas, max_size=4), st.lists(formulas, max_size=4))
def test_paths_say_the_same_however_they_came_about(
    before: list[Formula], left: list[Formula], right: list[Formula]
) -> None:
    start: tuple[Formula, ...] = ()
    for formula in before:
        start = extended(start, formula)
        assert negate(start[0]) in known(start).opposites if start else True  # asked on the way
    one, other = start, start
    for formula in left:
        one = extended(one, formula)
    for formula in right:
        other = extended(other, formula)
    met = common(one, other)
    assert met == tuple(fact for fact in one if fact in other)
    for path in (one, other, met):
        told, afresh = known(path), known((*path,))
        assert told.facts == afresh.facts
        assert told.opposites == afresh.opposites
        assert told.assignment == afresh.assignment


def test_a_negation_is_always_the_same() -> None:
    assert negate(A) is negate(A)
