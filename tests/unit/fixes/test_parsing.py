"""The judge of what a fix leaves behind."""

from torchdev_lint.engine.parsing import compiles, judge_of, parses


def test_what_libcst_lets_through_and_python_does_not() -> None:
    repeated = "f(device=d, device=d)\n"
    assert parses(repeated)
    assert not compiles(repeated)
    assert not judge_of("f(device=d)\n")(repeated)


def test_a_text_for_a_newer_python_is_judged_by_libcst_alone() -> None:
    newer = "print x\n"  # As good as any text that this Python refuses.
    assert not compiles(newer)
    assert judge_of(newer)("f(x)\n")
    assert judge_of(newer)("f(device=d, device=d)\n")


def test_what_is_no_python_at_all() -> None:
    assert not judge_of("x = 1\n")("x = (\n")
    assert not judge_of("x = 1\n")("x = 'a' b'b'\n")
