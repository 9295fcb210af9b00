"""What became slower is said, and what is noise is not."""

from __future__ import annotations

import pytest

from tests.tools.bench.bench_figures import job
from tools.bench.ratios import Job, Ratio, join_parts, ratio, shares, slowdowns


def test_a_ratio_is_above_one_when_ours_costs_less() -> None:
    """Half the cost is twice as fast, whatever single rounds cost."""
    assert Ratio(2.0, 2.0, 2.0) == ratio([1.0, 7.0, 1.0], [2.0, 14.0, 2.0])


@pytest.mark.parametrize(("rounds", "each"), [(1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (7, [3, 2, 2]), (15, [5, 5, 5])])
def test_rounds_are_shared_out_among_processes(rounds: int, each: list[int]) -> None:
    """Three processes as even as can be; none without a round."""
    assert each == shares(rounds)


def test_what_several_processes_measured_is_one_job() -> None:
    """Rounds stand side by side as they were measured: a ratio is never of two processes."""
    slow, fast = job("receipt", [10.0], libsodium=[9.0]), job("receipt", [5.0, 6.0], libsodium=[8.0, 6.0])
    assert join_parts([slow, fast]) == job("receipt", [10.0, 5.0, 6.0], libsodium=[9.0, 8.0, 6.0])
    assert join_parts([slow]) == slow


@pytest.mark.parametrize(
    "other_jobs",
    [[], [job("message", [1.0], libsodium=[1.0])], [job("receipt", [1.0], dalek=[1.0])], [job("receipt", [1.0])]],
    ids=["nothing", "another job", "another floor", "a floor less"],
)
def test_only_parts_of_one_job_are_joined(other_jobs: list[Job]) -> None:
    """A part with a missing contender, or with other contenders, is refused."""
    with pytest.raises(ValueError, match="parts of one job"):
        join_parts([*other_jobs, job("receipt", [1.0], libsodium=[1.0])] if other_jobs else [])


def test_one_round_is_its_own_spread() -> None:
    """A single round has no quartiles."""
    assert Ratio(0.5, 0.5, 0.5) == ratio([2.0], [1.0])


def test_twice_the_cost_is_a_slowdown() -> None:
    """It is named with both ratios, the percentage and what our side cost: a floor may have become faster."""
    before = [job("receipt", [10.0] * 3, libsodium=[9.0] * 3)]
    now = [job("receipt", [20.0] * 3, libsodium=[9.0] * 3)]
    (slowdown,) = slowdowns(before, now)
    text = "receipt: weldproof is 0.45x of libsodium, recorded 0.90x: 50 % slower (20.0 us, recorded 10.0 us)"
    assert slowdown.sentence == text


@pytest.mark.parametrize(
    ("ours", "floor"),
    [([10.0] * 3, [9.0] * 3), ([20.0] * 3, [18.0] * 3), ([11.7] * 3, [9.0] * 3), ([5.0] * 3, [9.0] * 3)],
    ids=["the same", "a slow machine", "within the margin", "faster"],
)
def test_what_is_no_slowdown(ours: list[float], floor: list[float]) -> None:
    """Neither a slower machine nor less than 15 % nor an improvement is one."""
    before = [job("receipt", [10.0] * 3, libsodium=[9.0] * 3)]
    assert slowdowns(before, [job("receipt", ours, libsodium=floor)]) == []


def test_a_noisy_run_is_no_slowdown() -> None:
    """What else runs makes rounds dearer, ours or the floor's, and most of them on a busy machine: the best counts."""
    before = [job("receipt", [10.0] * 5, libsodium=[10.0] * 5)]
    now = [job("receipt", [14.0, 30.0, 11.0, 14.0, 14.0], libsodium=[20.0, 10.0, 40.0, 10.0, 10.0])]
    assert slowdowns(before, now) == []


def test_sixteen_percent_in_the_best_round_is_a_slowdown() -> None:
    """However the others were."""
    before = [job("receipt", [10.0] * 3, libsodium=[9.0] * 3)]
    assert len(slowdowns(before, [job("receipt", [12.0, 30.0, 13.0], libsodium=[9.0, 9.5, 30.0])])) == 1


def test_what_only_one_run_knows_is_not_compared() -> None:
    """A new job or a new floor has nothing to be slower than."""
    before = [job("receipt", [1.0], libsodium=[9.0])]
    assert slowdowns(before, [job("message", [9.0], libsodium=[1.0]), job("receipt", [9.0], other=[1.0])]) == []


def test_a_job_is_read_as_it_is_told() -> None:
    """JSON and back is the same job."""
    receipt_job = job("receipt", [1.0, 2.0], libsodium=[3.0, 4.0])
    assert receipt_job == Job.read(receipt_job.as_json())


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"job": "receipt", "contenders": []},
        {"job": "receipt", "contenders": [{"name": "weldproof", "role": "ours", "rounds": []}]},
        {"job": "receipt", "contenders": [{"name": "weldproof", "role": "ours", "rounds": [0.0]}]},
        {"job": "receipt", "contenders": [{"name": "weldproof", "role": "ours", "rounds": ["x"]}]},
    ],
)
def test_what_is_no_job_is_refused(document: dict[str, object]) -> None:
    """A contender that was not measured is no contender."""
    with pytest.raises(ValueError, match=r"measured|float"):
        Job.read(document)
