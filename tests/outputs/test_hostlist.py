"""Hostlists: folding loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railplan.outputs.hostlist import RANGE_MAX, expand, fold

words = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
numbered = st.builds(lambda prefix, number, width: f"{prefix}{number:0{width}d}", st.sampled_from(["gpu-", "gpu", "a1-"]), st.integers(0, 1200), st.integers(1, 5))


@given(st.lists(st.one_of(numbered, words), max_size=60))
def test_what_is_folded_unfolds_to_the_same_names(names: list[str]) -> None:
    assert expand(fold(names)) == names


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
