"""The chameleon's selftest: what counts as unsound, what counts as seen, and one short run end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.ledger import load
from conformance.selftest.chameleon import Sighting, choose_lane, list_unsound_rows, run_trial
from conformance.selftest.observations import observe_run


def row(id_: str, verdict: str) -> dict[str, Any]:
    """Return a row's event."""
    return {"event": "row", "id": id_, "verdict": verdict, "reason": "because"}


def test_only_what_a_correct_server_gets_is_sound() -> None:
    """Failures, warnings, faults of the suite and undecided rows are reported; an excused undecided row is not."""
    rows = [
        row("RAIL-402-01", "pass"),
        row("RAIL-402-02", "fail"),
        row("RAIL-402-09", "warn"),
        row("RAIL-402-03", "error"),
        row("RAIL-402-04", "inconclusive"),
        row("RAIL-402-05", "inconclusive"),
        row("RAIL-402-06", "documented"),
        row("RAIL-402-07", "not_applicable"),
    ]
    assert [line.partition(":")[0] for line in list_unsound_rows(rows, {"RAIL-402-05": "no name for it"})] == [
        "RAIL-402-02",
        "RAIL-402-09",
        "RAIL-402-03",
        "RAIL-402-04",
    ]


def test_an_excuse_is_for_undecided_rows_only() -> None:
    """A row that the look makes undecidable and that failed is reported all the same."""
    assert list_unsound_rows([row("RAIL-402-01", "fail")], {"RAIL-402-01": "reason"}) != []


@pytest.mark.parametrize(
    ("by_seed", "is_varied"),
    [
        ({0: ("a",), 1: ("b",)}, True),
        ({0: ("a",), 1: ("a",)}, False),
        ({0: ("a",), 1: ()}, False),
        ({0: ("a",), 1: ("a", "b")}, True),
        ({}, False),
    ],
)
def test_a_point_varied_when_two_runs_showed_different_values(
    by_seed: dict[int, tuple[str, ...]], is_varied: bool
) -> None:
    """A run that shows nothing of a point is no value of it."""
    assert Sighting("rail.scheme", by_seed).has_varied is is_varied


def test_lanes_turn_with_the_seed() -> None:
    """Three seeds in a row pay on three lanes."""
    assert {choose_lane(seed) for seed in range(5, 8)} == {"algorand", "base", "solana"}


def test_nothing_is_seen_in_an_empty_log() -> None:
    """Every point has its place, and none a value."""
    assert {values for point, values in observe_run([]).items() if point != "http.rate-headers"} == {()}


def exchange(
    path: str, status: int, body: str, *, method: str = "POST", headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return an exchange's event with a rail."""
    request = {"method": method, "url": "http://rail.test" + path, "path": path, "headers": [], "body": "{}"}
    header_list = [[name, value] for name, value in (headers or {}).items()]
    return {
        "event": "exchange",
        "check": "x",
        "request": request,
        "response": {"status": status, "headers": header_list, "body": body},
    }


def test_values_are_read_off_the_wire() -> None:
    """A challenge and a refusal show what they are."""
    events = {"event": "run.started", "target": {"surfaces": {"rail": "http://rail.test"}}}
    entry = (
        '{"scheme":"exact-weld","network":"eip155:8453","asset":"0xabc","maxAmountRequired":"5","maxTimeoutSeconds":600,'
        '"extra":{"payment_reference":"ch_AAAA"}}'
    )
    challenge = exchange("/pay/v1/a", 402, f'{{"x402Version":2,"error":null,"accepts":[{entry}]}}')
    date = exchange("/pay/v1/a", 503, '{"detail":"x"}', headers={"Retry-After": "Sat, 21 Nov 2026 14:00:00 GMT"})
    exchanges = observe_run([events, challenge, date])
    assert exchanges["rail.scheme"] == ("exact-weld",)
    assert exchanges["rail.lifetime"] == ("600",)
    assert exchanges["rail.amount"] == ("absent",)
    assert exchanges["rail.evm-case"] == ("lower case",)
    assert exchanges["rail.token-form"] == ("opaque",)
    assert exchanges["rail.challenge-error"] == ("null",)
    assert exchanges["rail.challenge-header"] == ("absent",)
    assert exchanges["http.retry-after"] == ("HTTP date",)
    assert exchanges["rail.errors"] == ("detail",)


def at_a_hub(
    path: str, status: int, body: str, *, request_body: str = "{}", method: str = "GET", host: str = "hub.test"
) -> dict[str, Any]:
    """Return an exchange's event with a control plane."""
    request = {"method": method, "url": f"http://{host}{path}", "path": path, "headers": [], "body": request_body}
    response = {"status": status, "headers": [["ETag", 'W/"a"']], "body": body}
    return {"event": "exchange", "check": "x", "request": request, "response": response}


def test_values_of_the_control_plane_are_read_off_the_wire() -> None:
    """Calls, documents and log of a control plane show what they are, also those of one that the suite starts."""
    events = {"event": "run.started", "target": {"surfaces": {"control_plane": "http://hub.test"}}}
    record = '{"probe":{"ok":true},"address":"http://$WELL_ADDRESS/health"}'
    entry = '{"time":"2026-01-01T00:00:00Z","event":3,"target":"did:web:a","previous_hash":"","hash":"%s"}'
    later = entry.replace('""', '"' + "A" * 64 + '"').replace("00:00Z", "00:09Z") % ("B" * 64)
    exchanges = observe_run(
        [
            events,
            at_a_hub("/v1/posture", 200, f'{{"endpoints":[{record}]}}'),
            at_a_hub(
                "/v1/audit", 200, f'{{"audit":{{"records":[{later},{entry % ("A" * 64)}]}}}}', host="$HUB_ADDRESS"
            ),
            at_a_hub("/v1/issuers/did%3Aweb%3A$UNKNOWN_HOST", 410, '{"error":{"code":410}}', method="DELETE"),
            at_a_hub("/v1/services", 202, '{"registered":"a"}', request_body='{"url":"x","name":"y"}', method="POST"),
            at_a_hub("/v1/issuer-pks", 200, "{}"),
            at_a_hub("/check", 200, '{"outcome":{"accepted":true}}', request_body='{"presented":{}}', method="POST")
            | {
                "request": {
                    **at_a_hub("/check", 200, "", method="POST", host="$ADDON_ADDRESS")["request"],
                    "body": '{"presented":{}}',
                }
            },
            {"event": "note", "text": "the log is made by the recipe prev-jcs, its key being hex"},
        ]
    )
    assert exchanges["hub.posture"] == ("endpoints",)
    assert exchanges["hub.health-word"] == ("probe.ok",)
    assert exchanges["hub.polls"] == ("asked when read",)
    assert exchanges["hub.audit-document"] == ("audit",)
    assert exchanges["hub.audit-order"] == ("newest first",)
    assert exchanges["hub.audit-actions"] == ("numbers",)
    assert exchanges["hub.audit-times"] == ("text",)
    assert exchanges["hub.audit-mac"] == ("hex in capitals",)
    assert exchanges["hub.audit-genesis"] == ("nothing",)
    assert exchanges["hub.audit-recipe"] == ("prev-jcs",)
    assert exchanges["hub.unknown-did"] == ("410",)
    assert exchanges["hub.errors"] == ("error",)
    assert exchanges["hub.create-status"] == ("202",)
    assert exchanges["hub.service-body"] == ("name, url",)
    assert exchanges["hub.entity-tags"] == ("weak",)
    assert exchanges["addon.question"] == ("/check presented",)
    assert exchanges["addon.answer"] == ("outcome",)


def test_a_hub_that_the_suite_plays_is_no_destination_of_events() -> None:
    """What addons call there tells how they join, and nothing of webhooks."""
    headers = [["Authorization", "bearer $ADMIN_TOKEN"], ["Content-Type", "application/json"]]
    calls = [
        {
            "event": "arrival",
            "destination": "the suite's hub",
            "request": {"method": "POST", "url": "", "path": path, "headers": headers, "body": '{"capabilities":[]}'},
            "response": {"status": 201},
        }
        for path in ("/v1/services", "/v1/issuer-pks")
    ]
    exchanges = observe_run(calls)
    assert exchanges["addon.join-order"] == ("registered first",)
    assert exchanges["addon.scheme-case"] == ("bearer",)
    assert exchanges["addon.registration"] == ("more",)
    assert exchanges["gateway.event-media"] == ()


def at_the_agent(
    path: str, body: str, *, request_body: str = "{}", method: str = "POST", status: int = 200, host: str = "agent.test"
) -> dict[str, Any]:
    """Return an exchange's event with an agent."""
    request = {"method": method, "url": f"http://{host}{path}", "path": path, "headers": [], "body": request_body}
    response = {"status": status, "headers": [], "body": body}
    return {"event": "exchange", "check": "x", "request": request, "response": response}


def test_values_of_the_agent_are_read_off_the_wire() -> None:
    """Results, refusals and documents of the agent show what they are, also those of one at another address."""
    events = {
        "event": "run.started",
        "target": {"surfaces": {"rail": "http://rail.test", "agent": "http://agent.test"}},
    }
    verify_values = at_the_agent(
        "/verify/rfc9421", '{"outcome":"fail","report":{"errors":["x"]}}', request_body='{"verb":"GET"}'
    )
    offline = at_the_agent(
        "/verify/rfc9421", '{"verified":true,"errors":[]}', request_body='{"url":"u"}', host="offline.test"
    )
    refusal_values = at_the_agent("/health", '{"title":"no","type":"about:blank"}', status=405)
    nested_values = at_the_agent("/verify/rfc9421/sign", "[" * 100_000, request_body="[" * 100_000, status=422)
    health = at_the_agent("/health", "{}", method="GET")
    call_values = at_the_agent("/a2a", '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}')
    exchanges = observe_run([events, verify_values, offline, refusal_values, nested_values, health, call_values])
    assert exchanges["agent.validity"] == ("outcome: fail", "verified")
    assert exchanges["agent.errors"] == ("errors", "report.errors")
    assert exchanges["agent.request"] == ("a URL", "other", "verb")
    assert exchanges["agent.refusals"] == ("title, type",)
    assert exchanges["agent.health"] == ("nothing",)
    assert exchanges["agent.rpc-errors"] == ("no text",)
    assert exchanges["gateway.error-codes"] == ()


def test_values_of_tasks_are_read_off_the_wire() -> None:
    """A task shows its state, its terms and what ordered it."""
    events = {"event": "run.started", "target": {"surfaces": {"rail": "http://rail.test"}}}
    metadata = '{"x402.payment.status":"payment-required","x402.payment.required":{"accepts":[]}}'
    task = f'{{"id":"12","contextId":"c","status":{{"state":"a2a-x402"}},"metadata":{metadata}}}'
    order_body = '{"params":{"message":{"parts":[{"kind":"data","data":{"order":{}}}]}}}'
    order_values = at_the_agent(
        "/a2a", f'{{"jsonrpc":"2.0","id":1,"result":{{"task":{task}}}}}', request_body=order_body, host="rail.test"
    )
    exchanges = observe_run([events, order_values])
    assert exchanges["rail.a2a-order"] == ("order",)
    assert exchanges["rail.a2a-state"] == ("a2a-x402, with metadata",)
    assert exchanges["rail.a2a-terms"] == ("the task's",)
    assert exchanges["rail.a2a-result"] == ("result.task",)
    assert exchanges["rail.a2a-ids"] == ("digits",)
    assert exchanges["rail.a2a-task"] == ("none",)


@pytest.mark.slow
async def test_a_look_of_the_agent_is_sound(tmp_path: Path) -> None:
    """An agent in the look of a seed, with names of its own, fails no row about its answers."""
    rows = load().select(["AGENT-VERIFY-01", "AGENT-VERIFY-06", "AGENT-SIGN", "AGENT-CARD", "AGENT-OAS", "AGENT-A2A"])
    trial = await run_trial(3, rows, lanes=("algorand",), logs=tmp_path)
    assert trial.differences == []
    assert trial.values["agent.request"] != ()
    assert trial.values["agent.openapi-path"] == (trial.drawn["agent.openapi-path"],)


async def test_a_look_of_the_rail_is_sound_in_what_it_publishes(tmp_path: Path) -> None:
    """A stack in the look of a seed comes up with a profile that fits it, and no row about documents or keys fails."""
    rows = load().select(["RAIL-DISC", "RAIL-KEY", "RAIL-402-01", "RAIL-SVC-05"])
    trial = await run_trial(3, rows, lanes=("algorand",), logs=tmp_path)
    assert trial.differences == []
    assert trial.lane == "algorand"
    assert "target.service_word" in trial.told
    assert trial.values["rail.paths"] != ()
    assert (tmp_path / "3.ndjson.gz").exists()
