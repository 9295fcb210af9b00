"""What is new in a posture, whatever its shape: a healthy record that was not there before."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.addons.hub_registration import is_fresh


def _list(**healthy: bool) -> Any:
    records = [{"name": name, "healthy": well, "latency_ms": at} for at, (name, well) in enumerate(healthy.items())]
    return {"status": "ok" if all(healthy.values()) else "degraded", "services": records}


def _by_name(**healthy: bool) -> Any:
    return {"services": {name: {"status": "up" if well else "down"} for name, well in healthy.items()}}


def _bare(**healthy: bool) -> Any:
    return [
        {"address": f"http://{name}", "links": {"doc": "x"}, "state": "PASSING" if well else "CRITICAL"}
        for name, well in healthy.items()
    ]


def _groups(**healthy: bool) -> Any:
    members = [{"name": name, "probe": {"ok": well, "kind": "http"}} for name, well in healthy.items()]
    return {"groups": [{"kind": "addon", "members": members}]}


def _number_services(**healthy: bool) -> Any:
    return {
        str(at): {"id": name, "checked_at": "2026-01-01T00:00:00Z", "up": well}
        for at, (name, well) in enumerate(healthy.items())
    }


@pytest.mark.parametrize("shape", [_list, _by_name, _bare, _groups, _number_services])
def test_a_record_is_fresh_whatever_became_of_the_others(shape: Any) -> None:
    """A healthy addon that was not there before is new, even if another ended meanwhile; one that stayed is not."""
    before = shape(first=True)
    assert is_fresh(before, shape(first=True, second=True))
    assert is_fresh(before, shape(second=True, first=False))
    assert is_fresh(shape(first=False), shape(first=True))
    assert not is_fresh(before, shape(first=True))
    assert not is_fresh(before, shape(first=False))
    assert not is_fresh(before, shape(first=True, second=False))
    assert is_fresh(shape(), before)


def test_times_make_no_record_new() -> None:
    """A record that was looked at again is the same one."""
    before = {"services": [{"name": "a", "up": True, "checked_at": "2026-01-01T00:00:00Z", "latency_ms": 1}]}
    after = {"services": [{"name": "a", "up": True, "checked_at": "2026-01-01T00:00:09Z", "latency_ms": 2}]}
    assert not is_fresh(before, after)


def test_what_is_told_late_of_one_that_has_ended_is_not_new() -> None:
    """A control plane that reads at intervals still reports an addon's health after the addon's end."""
    before, after = _bare(first=False), _bare(first=True)
    assert is_fresh(before, after)
    assert not is_fresh(before, after, ["first"])
    assert is_fresh(before, _bare(first=True, second=True), ["first"])
