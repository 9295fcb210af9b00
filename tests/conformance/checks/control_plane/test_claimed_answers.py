"""The rows of a control plane that claims the specification, judged on the reference and on answers that differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.changed_reference import Change, ChangedReference
from tests.conformance.checks.trial import find_broken_rows, run_one_check
from tests.reference.control_plane.hub_stack import hub

PROFILE = """
[target]
[surfaces.control_plane]
url = "http://hub.test"
[claims]
surfaces = ["control_plane"]
specification = "1"
[hub]
token = {{ file = "{token}" }}
[pace]
requests_per_second = 0.0
"""
CHECKS = {
    "CP-DOC-01": "refusals_and_health_have_their_form",
    "CP-ISSUER-12": "issuers_are_answered_as_specified",
    "CP-LOG-01": "entries_and_pages_of_the_log",
    "CP-OWN-01": "a_service_registers_with_its_own_token",
    "CP-SVC-05": "services_are_answered_as_specified",
    "CP-TRUST-08": "key_documents_have_each_member",
    "CP-VIEW-01": "members_of_the_posture",
}


async def judge(folder: Path, check: str, change: Change | None = None) -> dict[str, Verdict]:
    """Return the verdicts of a check of the reference."""
    async with hub(folder) as plane:
        profile = PROFILE.format(token=plane.data / "admin_token")
        return await run_one_check(check, ChangedReference(plane.http, change), profile)


def change_records(name: str, value: Any) -> Change:
    """Return the change that gives a member of each record of the posture another value."""

    def change(path: str, status: int, document: Any) -> tuple[int, Any]:
        if path != "/v1/posture":
            return status, document
        return status, {**document, "services": [{**one, name: value} for one in document["services"]]}

    return change


def merge_addresses(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Show one record for all services of one kind of health, as a posture does that is keyed by address."""
    if path != "/v1/posture":
        return status, document
    records = {(one["status_code"], one["error"]): one for one in document["services"]}
    return status, {**document, "services": list(records.values())}


def number_from_zero(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Count the entries of the log from zero."""
    if path != "/v1/audit" or "entries" not in document:
        return status, document
    return status, {**document, "entries": [{**one, "seq": one["seq"] - 1} for one in document["entries"]]}


def take_any_token(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Accept every registration of a service."""
    return (201, {}) if (path, status) == ("/v1/services", 401) else (status, document)


def forbid(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Answer 403 in place of 401."""
    del path
    return (403, document) if status == 401 else (status, document)


@pytest.mark.parametrize(("row", "check"), CHECKS.items())
async def test_the_reference_keeps_each_row(tmp_path: Path, row: str, check: str) -> None:
    """No row of the check is broken, and the row is judged."""
    verdicts = await judge(tmp_path, check)
    assert (find_broken_rows(verdicts), verdicts[row]) == (set(), Verdict.PASS)


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("CP-DOC-01", forbid),
        ("CP-LOG-01", number_from_zero),
        ("CP-OWN-01", take_any_token),
        ("CP-VIEW-01", change_records("latency_ms", None)),
        ("CP-VIEW-01", change_records("base_url", "http://service.example")),
        ("CP-VIEW-01", merge_addresses),
    ],
)
async def test_an_answer_that_differs_breaks_its_row(tmp_path: Path, row: str, change: Change) -> None:
    """The row fails, because the target claims the specification."""
    verdicts = await judge(tmp_path, CHECKS[row], change)
    assert verdicts[row] is Verdict.FAIL
