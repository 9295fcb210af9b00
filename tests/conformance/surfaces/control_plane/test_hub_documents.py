"""What is read out of a control plane's answers, whatever their shape."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.log_reading import oldest_first

NAME, URL = "verifier-1", "http://127.0.0.1:9000"


@pytest.mark.parametrize(
    ("posture", "place", "count"),
    [
        ({"services": [{"name": NAME}, {"name": "verifier-11"}]}, "services.name", 1),
        ({"services": [{"name": NAME}, {"name": "verifier-11"}]}, None, 1),
        ({"services": [{"name": NAME}, {"name": NAME}]}, None, 2),
        ({"services": {NAME: {"up": True}}}, None, 1),
        ({"services": {NAME: {"up": True}}}, "services.*", 1),
        ({NAME: "up"}, None, 1),
        ([{"id": 7, "address": URL + "/health"}], None, 1),
        ({"groups": [{"members": [{"service": {"name": NAME}, "ok": True}]}]}, None, 1),
        ({"services": [NAME, "other"]}, None, 1),
        ({"services": []}, None, 0),
        ({"services": [{"name": "other", "address": "http://127.0.0.1:90001"}]}, "services.name", 0),
        (None, None, 0),
        ("text", "services.name", 0),
    ],
)
def test_records_of_a_service(posture: Any, place: str | None, count: int) -> None:
    """A service is found by its name or address, in lists and under its name, at a bound place or anywhere."""
    assert len(document_reader.records(posture, NAME, URL, place)) == count


@pytest.mark.parametrize(
    ("record", "well"),
    [
        ({"name": NAME, "healthy": True}, True),
        ({"name": NAME, "healthy": False}, False),
        ({"name": NAME, "healthy": None}, False),
        ({"name": NAME, "status": "UP"}, True),
        ({"name": NAME, "status": "degraded"}, False),
        ({"name": NAME, "state": "unknown"}, False),
        ({"name": NAME, "last": {"ok": True}}, True),
        ({"name": NAME, "healthy": False, "status": "ok"}, False),
        ({"name": NAME, "latency_ms": 3}, None),
        ("up", True),
        ("gone", False),
    ],
)
def test_health_of_a_record(record: Any, well: bool | None) -> None:
    """Booleans and words of health say that a service is well; every other word says that it is not."""
    assert document_reader.read_health(record, None, None) is well


@pytest.mark.parametrize(
    ("name_at", "healthy_at", "record", "well"),
    [
        ("services.name", "services.healthy", {"name": NAME, "healthy": True, "status": "down"}, True),
        ("services.name", "services.probe.code", {"name": NAME, "probe": {"code": "pass"}}, True),
        ("bridged.*", "bridged.*.state", {"state": "down"}, False),
        ("bridged.*", "bridged.*", "up", True),
        ("services.name", "services.healthy", {"name": NAME}, None),
    ],
)
def test_health_at_a_bound_place(name_at: str, healthy_at: str, record: Any, well: bool | None) -> None:
    """The bound place decides, whatever else a record says."""
    assert document_reader.read_health(record, name_at, healthy_at) is well


@pytest.mark.parametrize(
    ("document", "place", "number"),
    [
        ({"issuers": 3, "services": 1}, None, 3),
        ({"issuers": 3}, "issuers", 3),
        ({"counts": {"trusted_issuers": 0}}, None, 0),
        ({"issuers": ["a"], "issuer_count": 1}, None, 1),
        ({"issuers": True}, "issuers", None),
        ({"issuers": "3"}, None, None),
        ({"services": 2}, None, None),
    ],
)
def test_counts(document: Any, place: str | None, number: int | None) -> None:
    """A count is a whole number at its place, or under a name that speaks of what it counts."""
    assert document_reader.count(document, "issuers", place) == number


def test_templates() -> None:
    """Placeholders are filled in, and members without a value left out."""
    template = {"name": "{name}", "at": ["{base_url}/x", "{nothing}"], "kind": "addon", "n": 1, "gone": "{nothing}"}
    filled_template = document_reader.fill_template(template, {"name": NAME, "base_url": URL})
    assert filled_template == {"name": NAME, "at": [URL + "/x"], "kind": "addon", "n": 1}


@pytest.mark.parametrize(
    ("text", "length"), [("AAAA", 3), ("AA==", 1), ("AA", 1), ("-_-_", 3), ("A", None), ("a b", None)]
)
def test_base64(text: str, length: int | None) -> None:
    """Both alphabets, padded or not; anything else is invalid."""
    raw = document_reader.decode_base64(text)
    assert (None if raw is None else len(raw)) == length


@pytest.mark.parametrize(
    ("document", "issuers", "services"),
    [
        ({"issuers": 3, "services": 5}, 3, 5),
        ({"service": {"name": "hub", "uptime_s": 41}, "issuer_count": 3, "service_count": 5}, 3, 5),
        ({"service_uptime_s": 41, "issuer_limit": 99, "issuers": 3, "services": 5}, 3, 5),
        ({"services_limit": 99, "services_total": 5, "issuers": {"total": 3}}, 3, 5),
        ({"counts": {"issuers": 3, "services": 5}}, 3, 5),
        ({"trusted": 3, "bridged": 5}, None, None),
    ],
)
def test_counts_are_told_from_other_numbers(document: Any, issuers: int | None, services: int | None) -> None:
    """The name that says it best is the count's: a service's uptime is no count of services."""
    assert document_reader.count(document, "issuers", None) == issuers
    assert document_reader.count(document, "services", None) == services


_MACS = [f"{number:064x}" for number in range(1, 7)]


@pytest.mark.parametrize(
    "members",
    [
        {"seq": [1, 2, 3, 4]},
        {"number": [3, 7, 8, 20, 31, 33]},
        {"ts_ms": [1_767_225_600_000, 1_767_225_600_000, 1_767_225_600_700]},
        {"at": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]},
        {"action": [3, 1], "ts": [1_767_225_600, 1_767_225_601]},
        {"mac": _MACS[1:4], "before": ["genesis", *_MACS[1:3]]},
        {"mac": _MACS[1:4], "before": ["0" * 64, *_MACS[1:3]]},
        {"at": ["2026-01-01T00:00:00Z"] * 3, "mac": _MACS[1:4], "before": ["", *_MACS[1:3]]},
        {"action": [1, 3], "did": ["did:web:a", "did:web:b"]},
    ],
)
def test_a_log_is_read_from_its_beginning(members: dict[str, list[Any]]) -> None:
    """Numbers, times and what the first entry is linked to tell the order; small numbers alone may be anything."""
    count = len(next(iter(members.values())))
    log = [{name: values[at] for name, values in members.items()} for at in range(count)]
    assert oldest_first(log) == log
    if members.keys() != {"action", "did"}:
        assert oldest_first(log[::-1]) == log
        nested_log = [{"chain": entry} for entry in log]
        assert oldest_first(nested_log[::-1]) == nested_log
    assert oldest_first([]) == []
