"""Hostlists: folding loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railplan.outputs.hostlist import RANGE_MAX, HostlistError, expand, fold

words = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
numbered = st.builds(lambda prefix, number, width: f"{prefix}{number:0{width}d}", st.sampled_from(["gpu-", "gpu", "a1-"]), st.integers(0, 1200), st.integers(1, 5))


@given(st.lists(st.one_of(numbered, words), max_size=60))
def test_what_is_folded_unfolds_to_the_same_names(names: list[str]) -> None:
    assert expand(fold(names)) == names


hostile = st.one_of(
    st.builds(
        lambda prefix, digits: prefix + digits, st.sampled_from(["", "a", "a-", "a0", "0a", "-", "é", "٣", "a.b", "A", 'q"', "\\"]), st.from_regex(r"[0-9]{1,25}", fullmatch=True)
    ),
    st.text(st.characters(exclude_characters=",[]=#", exclude_categories=["Z", "C"]), min_size=1, max_size=8).filter(lambda s: not any(c.isspace() for c in s)),
)


@given(st.lists(hostile, max_size=40))
def test_names_of_any_width_and_script_come_back_in_order(names: list[str]) -> None:
    assert expand(fold(names)) == names


@given(st.lists(hostile, max_size=40))
def test_no_name_gets_text_after_a_bracket_or_two_brackets(names: list[str]) -> None:
    folded = fold(names)
    assert expand(folded, tail=False) == names
    assert "][" not in folded


@given(st.text(st.sampled_from("a1[],-9 #="), max_size=30), st.booleans())
def test_any_text_expands_or_is_refused_with_a_remedy(text: str, tail: bool) -> None:
    refused: HostlistError | None = None
    names: list[str] = []
    try:
        names = expand(text, tail)
    except HostlistError as error:
        refused = error
    assert refused.fix if refused else expand(fold(names)) == names


@given(st.integers(0, 3000), st.integers(1, 300), st.integers(1, 6))
def test_neighbours_of_one_width_make_one_range(first: int, count: int, width: int) -> None:
    names = [f"gpu-{n:0{width}d}" for n in range(first, first + count)]
    folded = fold(names)
    assert expand(folded) == names
    assert folded.count("[") <= len({len(n) for n in names})


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([f"gpu-{n:03d}" for n in range(1, 33)], "gpu-[001-032]"),
        (["gpu-001", "gpu-002", "gpu-004"], "gpu-[001-002,004]"),
        (["gpu-9", "gpu-10"], "gpu-9,gpu-10"),
        (["gpu-08", "gpu-8"], "gpu-08,gpu-8"),
        (["gpu-1", "login", "gpu-2"], "gpu-1,login,gpu-2"),
        (["su0"], "su0"),
        ([], ""),
    ],
)
def test_only_numbers_of_equal_width_share_a_bracket(names: list[str], text: str) -> None:
    assert fold(names) == text


def test_a_range_is_never_longer_than_slurm_expands() -> None:
    names = [f"n{i:06d}" for i in range(RANGE_MAX + 5)]
    assert fold(names) == f"n[000000-{RANGE_MAX - 1:06d},{RANGE_MAX:06d}-{RANGE_MAX + 4:06d}]"
    assert expand(fold(names)) == names


@pytest.mark.parametrize("name", ["a b", "a,b", "a[1]", "", "a#b", "a=b"])
def test_names_that_slurm_reads_differently_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="hostlist"):
        fold([name])


@pytest.mark.parametrize("text", ["a,", ",a", "a,,b", "a[1-", "a[2-1]", "a[x]", "a[1]b", "a b"])
def test_malformed_hostlists_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="hostlist"):
        expand(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a[1-2]b[3-4]", ["a1b3", "a1b4", "a2b3", "a2b4"]),
        ("a[1-2][08-10]", ["a108", "a109", "a110", "a208", "a209", "a210"]),
        ("a[001-10]", [f"a{n:03d}" for n in range(1, 11)]),
        ("a[1,3,2]", ["a1", "a3", "a2"]),
        ("[1-2]", ["1", "2"]),
    ],
)
def test_what_slurm_expands_is_expanded_as_slurm_does(text: str, names: list[str]) -> None:
    assert expand(text) == names


def test_text_after_the_last_bracket_needs_a_late_release() -> None:
    assert expand("a[1-2]-ib,b", tail=True) == ["a1-ib", "a2-ib", "b"]
    with pytest.raises(HostlistError, match="after its last bracket"):
        expand("a[1-2]-ib")


@pytest.mark.parametrize("text", ["a[0-65536]", "a[0-999999999999]", "a[0-9999][0-9999]", "a[1-99999999999999999999]", "a[[1]]", "a]", "a[]", "a[1,,2]"])
def test_lists_that_are_too_long_or_torn_are_refused_at_once(text: str) -> None:
    with pytest.raises(HostlistError):
        expand(text)
