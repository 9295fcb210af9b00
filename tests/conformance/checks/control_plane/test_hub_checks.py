"""What CP checks make of honest control planes, under two sets of names, and of control planes with one flaw each."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections import Counter
from collections.abc import Mapping

import pytest

from conformance import target
from conformance.checks.control_plane import liveness_and_counts, services
from conformance.engine.check_loading import load_checks
from conformance.engine.runner import Plan, Run
from conformance.http.curl_and_templates import make_template
from conformance.ledger import load
from conformance.log.events import EventLog
from tests.conformance.checks.control_plane.scripted_hub import CHAIN_KEY, TOKEN, Hub, serve_hub

PROFILE = """
[target]
name = "a hub"
defaults = "reference"
[claims]
surfaces = ["control_plane"]
[surfaces.control_plane]
url = "URL"
[pace]
requests_per_second = 0
[budgets]
request = SECONDS
[hub]
token = {env = "SCRIPTED_TOKEN"}
audit_key = {env = "SCRIPTED_KEY"}
propagation_budget = BUDGET
"""
FOREIGN = PROFILE.replace('"reference"', '"none"')
CHECKS = {
    one.id: one
    for one in load_checks()
    if one.function.__module__
    in {
        f"conformance.checks.control_plane.{name}"
        for name in (
            "access",
            "audit",
            "concurrent_changes",
            "liveness_and_counts",
            "issuer_registration",
            "path_bypass",
            "services",
            "trust",
        )
    }
}
LONG, SHORT = "60", "0.7"

# Each flaw with the check that looks and the rows that it must break there, no others.
FLAWS = [
    ("open: POST /v1/issuers", "nobody_changes_anything_without_the_token", {"CP-AUTH-01"}),
    ("open: DELETE /v1/issuers/", "nobody_changes_anything_without_the_token", {"CP-AUTH-02"}),
    ("open: POST /v1/services", "nobody_changes_anything_without_the_token", {"CP-AUTH-03"}),
    ("open: GET /v1/audit", "nobody_changes_anything_without_the_token", {"CP-AUTH-04"}),
    (
        "refuses when it is done",
        "nobody_changes_anything_without_the_token",
        {"CP-AUTH-01", "CP-AUTH-02", "CP-AUTH-03"},
    ),
    (
        "guards paths as they are sent",
        "no_way_leads_round_the_token",
        {"CP-AUTH-01", "CP-AUTH-02", "CP-AUTH-03", "CP-AUTH-04"},
    ),
    (
        "looks for an open path in the URL",
        "no_way_leads_round_the_token",
        {"CP-AUTH-01", "CP-AUTH-02", "CP-AUTH-03", "CP-AUTH-04"},
    ),
    ("takes any scheme", "a_wrong_token_opens_nothing", {"CP-AUTH-05"}),
    ("takes any Bearer", "a_wrong_token_opens_nothing", {"CP-AUTH-05"}),
    ("compares the beginning of tokens", "a_wrong_token_opens_nothing", {"CP-AUTH-05"}),
    ("compares what it has of tokens", "a_wrong_token_opens_nothing", {"CP-AUTH-05"}),
    ("compares tokens without case", "a_wrong_token_opens_nothing", {"CP-AUTH-05"}),
    *((f"closed: {path}", "reads_need_no_credential", {"CP-AUTH-06"}) for path in ("/health", "/v1/issuer-pks")),
    ("closed: /.well-known/atb-keys.json", "reads_need_no_credential", {"CP-AUTH-06"}),
    ("closed: /v1/posture", "reads_need_no_credential", {"CP-AUTH-06"}),
    ("no health", "health_tells_life_and_counts", {"CP-HEALTH-01", "CP-HEALTH-02", "CP-HEALTH-03"}),
    ("no issuer count", "health_tells_life_and_counts", {"CP-HEALTH-02"}),
    ("no service count", "health_tells_life_and_counts", {"CP-HEALTH-03"}),
    ("counts nothing", "counts_follow_what_is_registered", {"CP-HEALTH-04", "CP-HEALTH-05"}),
    ("a list for a trust set", "the_trust_set_maps_dids_to_keys", {"CP-TRUST-01"}),
    ("plain text", "the_trust_set_maps_dids_to_keys", {"CP-TRUST-01"}),
    ("hex keys", "the_trust_set_maps_dids_to_keys", {"CP-TRUST-02"}),
    ("names for issuers", "the_trust_set_maps_dids_to_keys", {"CP-TRUST-03"}),
    ("short keys", "the_trust_set_maps_dids_to_keys", {"CP-TRUST-04"}),
    ("plain text", "atb_keys_reflect_the_trust_set", {"CP-TRUST-05"}),
    ("atb-keys lags", "atb_keys_reflect_the_trust_set", {"CP-TRUST-06"}),
    ("atb-keys of one", "atb_keys_reflect_the_trust_set", {"CP-TRUST-06"}),
    ("atb-keys never forgets", "atb_keys_reflect_the_trust_set", {"CP-TRUST-06"}),
    ("writes keys in its own way", "issuers_come_and_go", {"CP-ISSUER-02", "CP-ISSUER-03"}),
    ("revokes in words only", "issuers_come_and_go", {"CP-ISSUER-03"}),
    ("deletes by beginnings", "deleting_nobody_changes_nothing", {"CP-ISSUER-08"}),
    ("deletes in any case", "deleting_nobody_changes_nothing", {"CP-ISSUER-08"}),
    ("breaks on unknown issuers", "deleting_nobody_changes_nothing", {"CP-ISSUER-08"}),
    ("does not decode paths", "a_did_web_is_deleted_by_its_name", {"CP-ISSUER-04"}),
    ("decodes paths twice", "a_did_web_is_deleted_by_its_name", {"CP-ISSUER-04"}),
    ("takes half a body", "what_is_no_issuer_is_refused", {"CP-ISSUER-05"}),
    ("takes any name", "what_is_no_issuer_is_refused", {"CP-ISSUER-05"}),
    ("takes no base64", "what_is_no_issuer_is_refused", {"CP-ISSUER-06"}),
    ("takes other lengths", "what_is_no_issuer_is_refused", {"CP-ISSUER-07"}),
    ("refuses late", "what_is_no_issuer_is_refused", {"CP-ISSUER-05", "CP-ISSUER-06", "CP-ISSUER-07"}),
    ("keeps the old key", "a_did_has_one_key", {"CP-ISSUER-09"}),
    ("keeps both keys", "a_did_has_one_key", {"CP-ISSUER-09"}),
    ("objects for keys", "a_did_has_one_key", {"CP-ISSUER-09"}),
    ("objects for keys", "the_trust_set_maps_dids_to_keys", {"CP-TRUST-02"}),
    ("plain text", "the_posture_is_open", {"CP-POST-01"}),
    ("lists none", "registered_services_are_listed_and_called", {"CP-SVC-02", "CP-SVC-04", "CP-POST-02"}),
    (
        "registers no service",
        "registered_services_are_listed_and_called",
        {"CP-SVC-02", "CP-SVC-03", "CP-SVC-04", "CP-POST-02"},
    ),
    ("registers the first only", "registered_services_are_listed_and_called", {"CP-SVC-03", "CP-POST-02"}),
    ("lists every registration", "registered_services_are_listed_and_called", {"CP-SVC-04"}),
    ("calls no service", "registered_services_are_listed_and_called", {"CP-SVC-03"}),
    ("keeps the first address", "a_service_that_moved_is_called_where_it_is", {"CP-SVC-03"}),
    ("asks /health only", "a_service_is_called_at_the_path_that_it_names", {"CP-SVC-03"}),
    ("keeps the first path", "a_service_is_called_at_the_path_that_it_names", {"CP-SVC-03"}),
    ("follows redirects", "a_redirect_of_health_is_not_followed", {"CP-CONF-06"}),
    ("takes any path", "a_health_path_leads_to_no_other_host", {"CP-CONF-06"}),
    ("well below 500", "the_posture_shows_services_as_they_are", {"CP-POST-04"}),
    ("well below 400", "the_posture_shows_services_as_they_are", {"CP-POST-04"}),
    ("any success is health", "the_posture_shows_services_as_they_are", {"CP-POST-04"}),
    ("always well", "the_posture_shows_services_as_they_are", {"CP-POST-04"}),
    ("any answer is health", "the_posture_shows_services_as_they_are", {"CP-POST-04"}),
    ("never well", "the_posture_shows_services_as_they_are", {"CP-POST-03", "CP-POST-06"}),
    ("remembers for ever", "the_posture_shows_services_as_they_are", {"CP-POST-06"}),
    ("waits for everybody", "a_hanging_service_hangs_nobody", {"CP-POST-05"}),
    ("asks one after the other", "a_hanging_service_hangs_nobody", {"CP-POST-05"}),
    ("bounds each read alone", "a_hanging_service_hangs_nobody", {"CP-POST-05"}),
    ("does not log new keys", "trust_changes_are_logged", {"CP-AUDIT-02"}),
    ("logs what was not there", "refused_changes_are_not_logged_as_done", {"CP-AUDIT-08"}),
    ("logs what was not there as it was sent", "refused_changes_are_not_logged_as_done", {"CP-AUDIT-08"}),
    ("does not log registered", "trust_changes_are_logged", {"CP-AUDIT-02"}),
    ("does not log revoked", "trust_changes_are_logged", {"CP-AUDIT-03"}),
    ("logs the same for everything", "trust_changes_are_logged", {"CP-AUDIT-03"}),
    ("forgets old entries", "trust_changes_are_logged", {"CP-AUDIT-06"}),
    ("rewrites old entries", "trust_changes_are_logged", {"CP-AUDIT-06"}),
    ("links nothing", "entries_are_linked", {"CP-AUDIT-04"}),
    ("no key", "the_chain_verifies_with_its_key", {"CP-AUDIT-05"}),
    ("the MAC covers no link", "the_chain_verifies_with_its_key", {"CP-AUDIT-05"}),
    ("logs refused changes as done", "refused_changes_are_not_logged_as_done", {"CP-AUDIT-08"}),
]


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted hub's credentials, as an operator gives them."""
    monkeypatch.setenv("SCRIPTED_TOKEN", TOKEN)
    monkeypatch.setenv("SCRIPTED_KEY", CHAIN_KEY)


async def run_checks(
    hub: Hub, *names: str, profile: str = PROFILE, budget: str = LONG, seconds: str = "30", seed: int = 1
) -> EventLog:
    """Run checks against a hub and return the log."""
    checks = tuple(CHECKS[name] for name in names)
    rows = load().select([row for one in checks for row in one.rows])
    with serve_hub(hub) as url:
        read = target.parse(profile.replace("URL", url).replace("BUDGET", budget).replace("SECONDS", seconds))
        log = EventLog()
        await Run(Plan(rows, checks, seed=seed), read, log).execute()
    return log


def verdicts(log: EventLog) -> Mapping[str, str]:
    """Return the verdict of each row."""
    return {event["id"]: event["verdict"] for event in log.of("row")}


def find_breached_rows(log: EventLog) -> set[str]:
    """Return the rows that are broken."""
    return {row for row, verdict in verdicts(log).items() if verdict in {"fail", "warn"}}


async def test_an_honest_hub_passes() -> None:
    """Every row that needs no process passes, the log's pages read to the end."""
    log = await run_checks(Hub(), *CHECKS)
    assert set(verdicts(log).values()) == {"pass"}
    assert len(verdicts(log)) == 44


async def test_an_honest_hub_of_other_names_passes() -> None:
    """Names that are not bound are discovered: no row is broken, and none is left open."""
    log = await run_checks(Hub(look="foreign"), *CHECKS, profile=FOREIGN)
    assert {row: verdict for row, verdict in verdicts(log).items() if verdict != "pass"} == {}


@pytest.mark.parametrize(("flaw", "check", "rows"), FLAWS, ids=lambda one: one if isinstance(one, str) else "")
async def test_a_flaw_breaks_exactly_its_rows(
    flaw: str, check: str, rows: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each flaw breaks the rows of the rule it drops, and every other row of the check passes."""
    monkeypatch.setattr(liveness_and_counts, "_TRIES", 1)
    log = await run_checks(Hub(flaw), check, budget=SHORT, seconds="5" if "waits" in flaw or "bounds" in flaw else "30")
    assert find_breached_rows(log) == rows
    undecided_rows = {row for row, verdict in verdicts(log).items() if verdict not in {"pass", "fail", "warn"}}
    assert undecided_rows <= ({"CP-TRUST-02", "CP-TRUST-03", "CP-TRUST-04"} if "CP-TRUST-01" in rows else set())


async def test_a_posture_that_is_late_by_itself_judges_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is late without a service that hangs, too, says nothing of such services."""

    class Late(Hub):
        def _posture(self, services: list[dict[str, object]]) -> object:
            time.sleep(0.3)
            return super()._posture(services)

    monkeypatch.setattr(services, "_AT_MOST_SECONDS", 0.2)
    assert verdicts(await run_checks(Late(), "a_hanging_service_hangs_nobody")) == {"CP-POST-05": "inconclusive"}


async def test_answers_that_a_slow_machine_gave_up_are_not_held_against_a_hub() -> None:
    """Who takes as long as a service is given, though all answer at once, may have lost answers to the machine."""

    class Starved(Hub):
        def _posture(self, services: list[dict[str, object]]) -> object:
            time.sleep(2.1)
            return super()._posture(services)

    verdict_by_row = verdicts(
        await run_checks(Starved("never well"), "the_posture_shows_services_as_they_are", budget=SHORT)
    )
    assert verdict_by_row == {"CP-POST-03": "inconclusive", "CP-POST-04": "pass", "CP-POST-06": "inconclusive"}


async def test_a_chain_that_only_its_key_can_tell_leaves_one_row_open() -> None:
    """Entries with a MAC of their own alone, and no chain key: that the changes are logged is judged all the same."""

    class Unlinked(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            status, document = super().answer(method, target, credential, body)
            if target.startswith("/v1/audit") and isinstance(document, dict) and "entries" in document:
                kept = [{name: one[name] for name in one if name != "prev_mac"} for one in document["entries"]]
                document = {**document, "entries": kept}
            return status, document

    page = 'audit_page = "after={seq}&limit=1000"\naudit_chain = { mac = "mac", seq = "seq" }\n'
    without = FOREIGN.replace('audit_key = {env = "SCRIPTED_KEY"}\n', page)
    log = await run_checks(Unlinked(), "changes_at_once_make_one_chain", profile=without)
    assert verdicts(log) == {"CP-AUDIT-02": "pass", "CP-AUDIT-03": "pass", "CP-AUDIT-04": "inconclusive"}


class Paged(Hub):
    """A hub that tells its log ten entries a page, the oldest first, after some of other changes."""

    def __init__(self, before: int, flaw: str = "") -> None:
        super().__init__(flaw, look="foreign")
        for number in range(before):
            self._write("written before", f"did:web:older-{number}.example")

    def _audit(self, query: str) -> object:
        after = int(query.removeprefix("after=")) + 1 if query else 0
        return {"log": self._retold()[after : after + 10]}


LOG_CHECKS = ("trust_changes_are_logged", "changes_at_once_make_one_chain", "refused_changes_are_not_logged_as_done")
NEXT_PAGE = 'audit_page = "after={seq}"\naudit_chain = { mac = "hash", seq = "number" }\n'


@pytest.mark.parametrize("before", [8, 9, 10, 30])
@pytest.mark.parametrize("name", LOG_CHECKS)
async def test_a_log_that_is_told_in_pages_is_not_held_against_a_hub(name: str, before: int) -> None:
    """Its first page is full before the changes or with them: what it cannot show is open until the key is bound."""
    log = await run_checks(Paged(before), name, profile=FOREIGN)
    assert find_breached_rows(log) == set()
    reasons = [row["reason"] for row in log.of("row") if row["verdict"] == "inconclusive"]
    assert reasons or before < 9
    assert all("bind [hub] audit_page" in one for one in reasons)
    bound_log = await run_checks(Paged(before), name, profile=FOREIGN + NEXT_PAGE)
    assert set(verdicts(bound_log).values()) == {"pass"}


@pytest.mark.parametrize(("flaw", "row"), [("registered", "CP-AUDIT-02"), ("revoked", "CP-AUDIT-03")])
async def test_a_long_log_without_an_entry_is_seen(flaw: str, row: str) -> None:
    """What shows other changes is no full page: the missing entry is missed."""
    hub = Hub(f"does not log {flaw}", look="foreign")
    for number in range(12):
        hub._write("written before", f"did:web:older-{number}.example")
    log = await run_checks(hub, LOG_CHECKS[0], profile=FOREIGN)
    assert row in find_breached_rows(log)


async def test_a_service_body_that_nobody_knows_leaves_one_row_open() -> None:
    """Issuers and the log are judged whatever services want."""

    class Demanding(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            if (method, target) == ("POST", "/v1/services"):
                return 422, {"detail": "what is that?"}
            return super().answer(method, target, credential, body)

    log = await run_checks(Demanding(), "the_token_opens_the_admin_operations", profile=FOREIGN)
    assert verdicts(log) == {"CP-ISSUER-01": "pass", "CP-SVC-01": "inconclusive", "CP-AUDIT-01": "pass"}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("", "not_applicable"),
        ('service_body = {name = "{name}", base_url = "{base_url}"}\n', "not_applicable"),
        ('service_body = {name = "{name}", base_url = "{base_url}", health_path = "{health_path}"}\n', "fail"),
    ],
)
async def test_a_path_of_health_is_judged_where_the_profile_says_it(body: str, found: str) -> None:
    """A control plane that asks only at /health breaks no rule, unless a registration is bound to name a path."""
    name = "a_service_is_called_at_the_path_that_it_names"
    log = await run_checks(Hub("asks /health only"), name, profile=FOREIGN + body, budget=SHORT)
    assert verdicts(log) == {"CP-SVC-03": found}


@pytest.mark.parametrize(("status", "found"), [(422, "pass"), (500, "fail")])
async def test_a_path_of_health_that_is_refused_breaks_nothing(status: int, found: str) -> None:
    """Which paths a control plane takes is its own affair, as long as it says so."""

    class Narrow(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            if method == "POST" and b"/status/alive" in body:
                return status, {"detail": "/health only"}
            return super().answer(method, target, credential, body)

    log = await run_checks(Narrow(), "a_service_is_called_at_the_path_that_it_names", budget=SHORT)
    assert verdicts(log) == {"CP-SVC-03": found}


@pytest.mark.parametrize(("status", "found"), [(500, "fail"), (503, "inconclusive"), (403, "pass"), (303, "pass")])
async def test_a_service_that_moves_is_refused_in_any_words_but_a_breakdown(status: int, found: str) -> None:
    """A different address must not be accepted as the name; a breakdown over it is not a refusal."""

    class Settled(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            if (method, target) == ("POST", "/v1/services") and any(one.encode() in body for one in self.services):
                return status, {"detail": "is there"}
            return super().answer(method, target, credential, body)

    log = await run_checks(Settled(), "a_service_that_moved_is_called_where_it_is", budget=SHORT)
    assert verdicts(log) == {"CP-SVC-03": found}


@pytest.mark.parametrize(
    ("taken", "profile", "found"),
    [
        (r"did:web:[a-z0-9.-]+", PROFILE, "fail"),
        (r"did:web:[a-z0-9.-]+", FOREIGN, "fail"),
        (r"did:web:.+", PROFILE, "fail"),
        (r"did:web:.+", FOREIGN, "warn"),
    ],
)
async def test_a_hub_that_takes_some_forms_of_dids_only_is_told(taken: str, profile: str, found: str) -> None:
    """A port and a path belong to did:web; a control plane may lack other methods, and this is reported."""

    class Narrow(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            new = (method, target) == ("POST", "/v1/issuers")
            if new and re.fullmatch(taken, json.loads(body)["did"]) is None:
                return 422, {"detail": "no did"}
            return super().answer(method, target, credential, body)

    look = "foreign" if profile is FOREIGN else "ours"
    log = await run_checks(Narrow(look=look), "the_token_opens_the_admin_operations", profile=profile)
    assert verdicts(log)["CP-ISSUER-01"] == found


async def test_without_the_token_reads_alone_are_judged() -> None:
    """Who gives no token gets the rows that need none; the others say what to give."""
    profile = PROFILE.replace('token = {env = "SCRIPTED_TOKEN"}\n', "")
    log = await run_checks(Hub(), *CHECKS, profile=profile)
    passed_rows = {row for row, verdict in verdicts(log).items() if verdict == "pass"}
    assert {"CP-AUTH-01", "CP-AUTH-06", "CP-HEALTH-01", "CP-TRUST-01", "CP-TRUST-05", "CP-POST-01"} <= passed_rows
    open_rows = [event for event in log.of("row") if event["verdict"] == "inconclusive"]
    assert {event["id"] for event in open_rows} == set(verdicts(log)) - passed_rows
    assert all("give [hub] token" in event["reason"] for event in open_rows)


@pytest.mark.parametrize("flaw", ["", "atb-keys lags"])
async def test_without_the_token_documents_are_compared_as_they_are(flaw: str) -> None:
    """An issuer that another client registered is in both documents, or CP-TRUST-06 is broken; with none it is open."""
    profile = PROFILE.replace('token = {env = "SCRIPTED_TOKEN"}\n', "")
    of_entries = {f"CP-TRUST-0{number}" for number in (2, 3, 4)}
    hub = Hub(flaw)
    verdict_by_row = verdicts(await run_checks(hub, *CHECKS, profile=profile))
    assert {verdict_by_row[row] for row in (*of_entries, "CP-TRUST-06")} == {"inconclusive"}
    hub.issuers["did:web:somebody.example"] = base64.b64encode(b"\x0a" * 1793).decode()
    names = [name for name, one in CHECKS.items() if {"CP-TRUST-02", "CP-TRUST-06"} & set(one.rows)]
    verdict_by_row = verdicts(await run_checks(hub, *names, profile=profile))
    assert verdict_by_row["CP-TRUST-06"] == ("warn" if flaw else "pass")
    assert {verdict_by_row[row] for row in of_entries} == {"pass"}
    assert verdict_by_row["CP-ISSUER-02"] == verdict_by_row["CP-ISSUER-09"] == "inconclusive"


async def test_a_token_that_cannot_be_read_leaves_the_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is not set opens nothing: what needs no token is judged, the rest says why it is not."""
    monkeypatch.delenv("SCRIPTED_TOKEN")
    log = await run_checks(Hub(), *CHECKS)
    passed_rows = {row for row, verdict in verdicts(log).items() if verdict == "pass"}
    assert {"CP-AUTH-01", "CP-AUTH-06", "CP-HEALTH-01", "CP-TRUST-01", "CP-TRUST-05", "CP-POST-01"} <= passed_rows
    reasons = {event["reason"] for event in log.of("row") if event["verdict"] == "inconclusive"}
    assert reasons
    assert all("[hub] token: environment variable SCRIPTED_TOKEN is not set" in one for one in reasons)


async def test_without_a_chain_key_links_alone_are_judged() -> None:
    """The chain key is the operator's: without it CP-AUDIT-05 is open, and CP-AUDIT-04 is not."""
    profile = PROFILE.replace('audit_key = {env = "SCRIPTED_KEY"}\n', "")
    log = await run_checks(Hub(), "entries_are_linked", "the_chain_verifies_with_its_key", profile=profile)
    assert verdicts(log) == {"CP-AUDIT-04": "pass", "CP-AUDIT-05": "inconclusive"}


async def test_a_hub_that_limits_is_judged_by_nobody() -> None:
    """429 for everything is no breach of any row."""

    class Limited(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            del method, target, credential, body
            return 429, {"detail": "too many"}

    assert set(verdicts(await run_checks(Limited(), *CHECKS)).values()) == {"inconclusive"}


async def test_the_same_seed_sends_the_same() -> None:
    """Two runs with one seed, with one worker and with many, send the same requests but for live values."""
    quick = [name for name in CHECKS if name != "a_hanging_service_hangs_nobody"]
    streams = []
    for _ in range(2):
        log = await run_checks(Hub(), *quick, seed=5)
        templates = (json.dumps(make_template(event["request"])) for event in log.of("exchange") if not event["retry"])
        streams.append(Counter(templates))
    assert streams[0] == streams[1]


async def test_credentials_are_in_no_log() -> None:
    """Neither token nor chain key is written down, nor what was tried in their place."""
    log = await run_checks(Hub(), "a_wrong_token_opens_nothing", "the_chain_verifies_with_its_key")
    text = json.dumps(list(log.events))
    assert TOKEN not in text
    assert TOKEN[:-1] not in text
    assert CHAIN_KEY not in text
    assert "$ADMIN_TOKEN" in text


def test_rows_weigh_as_the_ledger_has_them() -> None:
    """A MUST fails a run, a SHOULD warns."""

    async def run_both() -> list[Mapping[str, str]]:
        flaws = (("revokes in words only", "issuers_come_and_go"), ("takes no base64", "what_is_no_issuer_is_refused"))
        return [verdicts(await run_checks(Hub(flaw), check, budget=SHORT)) for flaw, check in flaws]

    must, should = asyncio.run(run_both())
    assert (must["CP-ISSUER-03"], should["CP-ISSUER-06"]) == ("fail", "warn")


async def test_a_token_of_another_hub_judges_nobody() -> None:
    """A wrong token is refused everywhere: no row passes for that, none fails, and the reason speaks of the token."""
    log = await run_checks(Hub(token="another-token"), *CHECKS)
    passed_rows = {row for row, verdict in verdicts(log).items() if verdict == "pass"}
    assert passed_rows == {"CP-AUTH-06", "CP-HEALTH-01", "CP-HEALTH-02", "CP-HEALTH-03", "CP-POST-01"}
    open_rows = [event for event in log.of("row") if event["verdict"] == "inconclusive"]
    assert {event["id"] for event in open_rows} == set(verdicts(log)) - passed_rows
    assert all("does not take [hub] token (401)" in event["reason"] for event in open_rows)


async def test_a_token_that_no_header_takes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines for a token: every row that needs it is open, and says why, without the token."""
    monkeypatch.setenv("SCRIPTED_TOKEN", "first\nsecond")
    log = await run_checks(Hub(), "issuers_come_and_go")
    assert {event["reason"] for event in log.of("row")} == {
        "[hub] token: it holds characters that no header takes, such as a line break"
    }


async def test_a_hub_that_limits_is_waited_for() -> None:
    """429 with Retry-After is waited for, longer than three times where checks side by side share the limit."""

    class Slow(Hub):
        asked = 0

        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            self.asked += 1
            if self.asked % 6:
                return 429, {"detail": "too many"}
            return super().answer(method, target, credential, body)

    log = await run_checks(Slow("says when to come again"), "reads_need_no_credential")
    assert verdicts(log) == {"CP-AUTH-06": "pass"}


async def test_keys_that_are_marked_as_revoked_may_stay_in_atb_keys() -> None:
    """A record that says of itself that it is revoked is no key that is trusted."""

    class Marking(Hub):
        marked: tuple[tuple[str, str], ...] = ()

        def _revoke_issuer(self, segment: str) -> tuple[int, object]:
            before = dict(self.issuers)
            answer = super()._revoke_issuer(segment)
            self.marked += tuple(one for one in before.items() if one[0] not in self.issuers)
            return answer

        def _build_key_document(self) -> object:
            gone = [{"did": did, "public_key_b64": key, "status": "revoked"} for did, key in self.marked]
            return {"keys": [*super()._build_key_document()["keys"], *gone]}

    names = ("atb_keys_reflect_the_trust_set", "a_tag_stands_for_one_trust_set", "one_did_at_once_has_one_key")
    assert set(verdicts(await run_checks(Marking(), *names)).values()) == {"pass"}


@pytest.mark.parametrize("path", ["/v1/issuers", "/v1/services", "/v1/issuer-pks"])
async def test_what_a_hub_says_of_a_refusal_is_told(path: str) -> None:
    """Its own words stand in the reason of every row that is open for it: its operator knows what they mean."""
    words = "the table of issuers is full (SQLSTATE 53100)"

    class Refusing(Hub):
        def answer(self, method: str, target: str, credential: str, body: bytes) -> tuple[int, object]:
            if target.startswith(path):
                return 507, {"error": words}
            return super().answer(method, target, credential, body)

    log = await run_checks(Refusing(), *CHECKS)
    reasons = {str(event["reason"]) for event in log.of("row") if event["verdict"] == "inconclusive"}
    assert any(words in reason and "507" in reason for reason in reasons), reasons
