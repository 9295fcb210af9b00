"""CP-ADDON-09: the ATB credential verifier answers as specification 8.2 says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles.credentials.answers import differing_members, expected_members, verdict_members
from conformance.oracles.credentials.envelope import unix_of
from conformance.oracles.credentials.judging import SKEW_SECONDS
from conformance.processes.launching import RunningProgram
from conformance.surfaces.control_plane.access import ask_until
from conformance.surfaces.control_plane.credential_test_cases import (
    VECTOR_TIME,
    Trial,
    list_member_faults,
    list_spellings,
    list_vector_keys,
    list_whole_faults,
)
from conformance.surfaces.control_plane.issued_credentials import IssuedCredential, issue_passport, time_text
from conformance.surfaces.control_plane.played_hub import PlayedHub, make_key_entry, played_hub
from conformance.surfaces.control_plane.starting import bundled_names, started_addon, subjects

ROW: Final = "CP-ADDON-09"
_VERIFIER: Final = "atb_verifier"
_PATH: Final = "/v1/verify"
# Addons allow 120 calls a minute (P-AD-07), so another target than the reference gets a part of the many.
_PART: Final = 60
_SKEWED: Final = "ended within the skew"
_PART_WORDS: Final = "credentials with one wrong member, since addons limit their calls"


@check(
    ROW,
    surface="control_plane",
    self_contained=True,
    fix="Check a credential in the order of 8.2, answer 200 with all eight members, and take only active Falcon-1024 "
    "entries of atb-keys.json whose kid is that of their key.",
    quick=OWN_PROCESSES,
)
async def the_verifier_answers_as_specified(case: Case) -> None:
    """The verifier answers each credential with the members of 8.2, and the first fault gives the reason.

    Starts it with the suite as its hub. Asks about the suite's vectors, about certificates and passports without a
    member or with a value of another type, about credentials with two faults and more, and with each condition. Then
    about fresh passports whose entry in atb-keys.json is retired, of another algorithm, with another kid, or one of two
    keys. Expects 200, and each member as the suite's own verifier computes it. Sends malformed requests and expects 422
    with a list in `detail`.
    """
    if _VERIFIER not in bundled_names(case):
        case.mark_not_applicable(ROW, "the profile has no ATB credential verifier")
        return
    subject = next(one for one in subjects(case, bundled_only=True) if one.name == _VERIFIER)
    async with played_hub(case) as hub:
        passports = _prepare_issuers(case, hub)
        async with started_addon(case, subject, hub.url, hub.token) as addon:
            trials = list_whole_faults()
            members = list(list_member_faults())
            trials += members if case.profile.is_reference else case.draw_part(members, _PART, _PART_WORDS)
            honest = next(one for one in trials if one.judge(list_vector_keys()).reason is None)

            async def ask(again: bool) -> Answer:
                return await _ask(case, addon, _make_body(honest), again=again)

            budget = case.profile.hub_bindings.propagation_budget
            await ask_until(ask, lambda one: one.read_object().get("valid") is True, budget)
            for name, (passport, reason) in passports.items():
                answer = await _ask(case, addon, {"credential": passport.text})
                # A slow addon is not asked about the skew: the passport may have ended beyond it meanwhile.
                if name != _SKEWED or time.time() < _read_end(passport) + SKEW_SECONDS:
                    expected = verdict_members(reason) | {"issuer": passport.did, "type": "agent_passport"}
                    _judge(case, name, answer, expected)
            answers = await run_concurrently(_ask(case, addon, _make_body(one)) for one in trials)
            for trial, answer in zip(trials, answers, strict=True):
                _judge(case, trial.name, answer, expected_members(trial.judge(list_vector_keys())))
            await _judge_requests(case, addon, honest, passports["valid"][0])


def _prepare_issuers(case: Case, hub: PlayedHub) -> dict[str, tuple[IssuedCredential, str | None]]:
    """Give the hub the keys of all trials; return fresh passports with the reason that each must get, by their name."""
    passports: dict[str, tuple[IssuedCredential, str | None]] = {}
    keys = dict(list_vector_keys())

    def issue(name: str, reason: str | None, further: Mapping[str, Any] | None = None) -> IssuedCredential:
        passport = issue_passport(case, name.replace(" ", "_"), further)
        passports[name] = (passport, reason)
        return passport

    for name, reason, seconds in (("valid", None, 600), (_SKEWED, None, -5), ("over", "expired", -300)):
        passport = issue(name, reason, {"expires_at": time_text(seconds)})
        keys[passport.did] = passport.key
    stranger = issue_passport(case, "stranger")
    changes: dict[str, dict[str, Any]] = {
        "retired": {"status": "retired"},
        "revoked": {"status": "revoked"},
        "of another algorithm": {"alg": "Falcon-512"},
        "with the kid of another key": {"kid": make_key_entry(stranger.did, stranger.key)["kid"]},
    }
    for name, change in changes.items():
        passport = issue(name, "no_public_key")
        hub.key_entries.append(make_key_entry(passport.did, passport.key) | change)
    for first in (True, False):
        passport = issue(f"{'first' if first else 'second'} of two keys", "no_public_key")
        entries = [make_key_entry(passport.did, one) for one in (passport.key, stranger.key)]
        hub.key_entries += entries if first else entries[::-1]
    passport = issue("one key twice", None)
    hub.key_entries += [make_key_entry(passport.did, passport.key)] * 2
    passport = issue("active next to a retired key", None)
    retired = make_key_entry(passport.did, stranger.key) | {"status": "retired"}
    hub.key_entries += [retired, make_key_entry(passport.did, passport.key)]
    # The trust set has every key, so that an addon that asks it would accept what its key document does not allow.
    hub.trust_set = keys | {one.did: one.key for one, _ in passports.values()}
    hub.atb_keys = keys
    return passports


def _read_end(passport: IssuedCredential) -> int:
    return unix_of(passport.payload["expires_at"])


def _make_body(trial: Trial) -> dict[str, Any]:
    return {"credential": trial.text, "now": VECTOR_TIME, **trial.conditions}


async def _ask(
    case: Case,
    addon: RunningProgram,
    body: Mapping[str, Any] | None,
    headers: Mapping[str, str] | None = None,
    *,
    again: bool = False,
) -> Answer:
    return await case.client.call("POST", addon.url + _PATH, json_body=body, headers=headers or {}, retry=again)


def _judge(case: Case, name: str, answer: Answer, expected: Mapping[str, Any]) -> None:
    faults = differing_members(answer.read_object(), expected) if answer.status == 200 else [f"status {answer.status}"]
    expectation = f"200 with reason {expected['reason']} and the members of 8.2"
    where = {"credential": name}
    case.expect(ROW, not faults, expectation, f"other values: {', '.join(faults)}", exchange=answer, where=where)


async def _judge_requests(case: Case, addon: RunningProgram, honest: Trial, fresh: IssuedCredential) -> None:
    """Judge where the credential may be, and that a malformed request is refused as such."""
    header = {"X-ATB-Credential": honest.text}
    body = _make_body(honest)
    conditions = {"now": VECTOR_TIME}
    expected = expected_members(honest.judge(list_vector_keys()))
    for name, answer in (
        ("in the header", await _ask(case, addon, conditions, header)),
        ("in header and body", await _ask(case, addon, body, header)),
    ):
        _judge(case, name, answer, expected)
    for name, (text, reason) in list_spellings(honest.text).items():
        # HTTP takes white space around a field's value away, and a field holds one line.
        if text.strip() == text:
            answer = await _ask(case, addon, conditions, {"X-ATB-Credential": text})
            _judge(case, f"in the header, {name}", answer, verdict_members(reason))
    # Without a body the addon's clock decides.
    answer = await _ask(case, addon, None, {"X-ATB-Credential": fresh.text})
    _judge(case, "in the header, without a body", answer, verdict_members(None))
    malformed: dict[str, tuple[Mapping[str, Any], Mapping[str, str] | None]] = {
        "no credential": (conditions, None),
        "another credential in the header": (body, {"X-ATB-Credential": honest.text[:-4]}),
        "a credential that is a number": ({**body, "credential": 7}, None),
        "a min_score above 1": ({**body, "min_score": 1.1}, None),
        "a min_score below 0": ({**body, "min_score": -0.1}, None),
        "a min_score that is a text": ({**body, "min_score": "0.5"}, None),
        "an expected_issuer that is a number": ({**body, "expected_issuer": 7}, None),
        "a now that is a word": ({**body, "now": "tomorrow"}, None),
    }
    for name, (members, headers) in malformed.items():
        answer = await _ask(case, addon, members, headers)
        is_refused = answer.status == 422 and isinstance(answer.read_object().get("detail"), list)
        where = {"request": name}
        case.expect(ROW, is_refused, "422 with a list in detail", answer.status, exchange=answer, where=where)
