"""CP-ADDON-12: an addon whose control plane is away, comes back, or is not set (P-AD-01 to P-AD-04)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles.credentials.answers import verdict_members
from conformance.oracles.range_proof.system import NAME
from conformance.oracles.strict_json import JsonTextFault, strict_json
from conformance.processes.launching import RunningProgram
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import ATB_KEYS, PKS, SERVICES, ask_until
from conformance.surfaces.control_plane.issued_credentials import IssuedCredential, issue_passport, issue_receipt
from conformance.surfaces.control_plane.played_hub import PlayedHub, played_hub
from conformance.surfaces.control_plane.services import HEALTH
from conformance.surfaces.control_plane.starting import AddonSubject, bundled_names, started_addon, subjects
from conformance.webhook_receiver.raw_receiver import Arrival, Reply

ROW: Final = "CP-ADDON-12"
# The names behind `<service>-` in the posture (P-AD-03, 8).
_NAMES: Final = {
    "atb_verifier": "atb-credential-verifier",
    "federation_validator": "federation-validator",
    "zkp_receipt": "zkp-receipt",
}
_STALE_SECONDS: Final = 8
_OUTAGE: Final = {"S2_HUB_POLL_SECONDS": "1", "S2_HUB_MAX_STALE_SECONDS": str(_STALE_SECONDS)}
_AWAY: Final = Reply(503, (("Content-Type", "application/json"),), b'{"detail":"away"}')
_ACCEPTED: Final = Reply(202)
# Calls come again after 1, 2, 4, ... 30 seconds, and a registration every 30. A busy machine gets three times that.
_PATIENCE_SECONDS: Final = 90.0
_RENEWAL_PAUSE: Final = 12.0
_MOST_AT_ONCE: Final = 2
_NO_TRUST_SET: Final = verdict_members("no_trust_set")


@check(
    ROW,
    surface="control_plane",
    self_contained=True,
    fix="Serve without the control plane, repeat both calls until a 2xx, register again every 30 seconds, and use no "
    "trust set that is older than S2_HUB_MAX_STALE_SECONDS.",
    quick=OWN_PROCESSES,
)
async def an_addon_outlives_its_hub(case: Case) -> None:
    """An addon serves without its control plane, joins it when it comes, and uses no trust set that is too old.

    Starts each bundled service that can be asked about a credential, with the suite as a hub that answers 503. Expects
    health, and no_trust_set for an honest and for a malformed credential. Then the hub answers, a registration with
    202: expects the trust set pulled, and a registration with the members of 7.1. The hub goes away for longer than the
    trust set may be used: expects no_trust_set again. Starts each without the hub's address, without its token and
    without its own address: expects what P-AD-03 says, and that a registration is renewed.
    """
    askable = [
        one
        for one in subjects(case, bundled_only=True)
        if bundled_names(case)
        and one.addon.question is not None
        and one.addon.question.proof_system in {None, NAME}
        and one.addon.command is not None
    ]
    if not askable:
        case.mark_not_applicable(ROW, "the profile starts no bundled service that can be asked about a credential")
        return
    await run_concurrently(_judge_addon(case, one) for one in askable)


async def _judge_addon(case: Case, subject: AddonSubject) -> None:
    label = subject.name
    receipt = subject.addon.question is not None and subject.addon.question.proof_system == NAME
    honest = await issue_receipt(case, label) if receipt else issue_passport(case, label)
    async with played_hub(case) as hub, played_hub(case) as renewal_hub:
        trial, renewal_trial = _Trial(case, subject, hub, honest), _Trial(case, subject, renewal_hub, honest)
        # A renewal comes after 30 seconds, so the other trials run meanwhile, at another hub. Two processes of an addon
        # with a fixed address would want the same port.
        at_once = 2 if subject.addon.url is None else 1
        await run_concurrently((trial.judge_outage_and_settings(), renewal_trial.judge_address()), at_once=at_once)


class _Trial:
    """One addon with its played hub and a credential of an issuer that the hub trusts."""

    def __init__(self, case: Case, subject: AddonSubject, hub: PlayedHub, honest: IssuedCredential) -> None:
        self.case = case
        self.subject = subject
        self.hub = hub
        self.honest = honest
        hub.trust_set = {honest.did: honest.key}

    async def judge_outage_and_settings(self) -> None:
        """Judge the trials at one hub, one after the other."""
        await self._judge_outage()
        await self._judge_missing_settings()

    async def _judge_outage(self) -> None:
        """Judge an addon that starts before its hub, and whose hub goes away later."""
        hub = self.hub
        hub.receiver.plan = lambda _: _AWAY
        async with started_addon(self.case, self.subject, hub.url, hub.token, variables=_OUTAGE) as addon:
            await self._judge_health(addon, "before its hub", {"hub": "unreachable", "issuers": 0})
            for name, text in (("an honest one", self.honest.text), ("a malformed one", "{}")):
                answer = await self._ask(addon, text)
                self._expect(f"before its hub, {name}", _find_differences(answer, _NO_TRUST_SET), answer)
            before = hub.last
            hub.receiver.plan = self._answer_accepted
            await self._judge_joining(addon, before)
            hub.receiver.plan = lambda _: _AWAY
            gone = time.monotonic()
            answer = await self._ask_until(addon, lambda one: _reason_of(one) == "no_trust_set")
            self._expect("its hub away for longer than the trust set", _find_differences(answer, _NO_TRUST_SET), answer)
            seconds = time.monotonic() - gone
            # The last pull may have been some seconds ago on a busy machine.
            faults = [] if seconds > _STALE_SECONDS / 2 else [f"after {seconds:.1f} s"]
            self._expect("the trust set used as long as it may be", faults, answer)
            await self._judge_health(addon, "its hub away", {"hub": "unreachable", "issuers": 0})
            hub.receiver.plan = hub.answer
            answer = await self._ask_until(addon, lambda one: _reason_of(one) is None)
            self._expect("its hub back", _find_differences(answer, verdict_members(None)), answer)

    def _answer_accepted(self, arrival: Arrival) -> Reply:
        reply = self.hub.answer(arrival)
        return _ACCEPTED if reply.status == 201 else reply

    async def _judge_joining(self, addon: RunningProgram, before: int) -> None:
        hub = self.hub
        registration = await hub.wait_for_call(SERVICES, "POST", seconds=_PATIENCE_SECONDS, after=before)
        # The order is that of the first calls. When the hub is back, each call comes again at its own time.
        pulls = [one.number for path in (PKS, ATB_KEYS) for one in hub.calls(path)]
        first = min((one.number for one in hub.calls(SERVICES, "POST")), default=0)
        if registration is None:
            self._expect("its hub there at last", ["no registration"], None)
            return
        record = hub.record_call(registration)
        faults = [] if pulls and min(pulls) < first else ["the trust set is pulled first"]
        faults += _find_record_faults(self.case, self.subject, _body_of(registration), addon.url)
        self.case.expect(
            ROW,
            not faults,
            "a registration, and the trust set pulled before the first one",
            ", ".join(faults),
            exchange=record,
            where=self._where,
        )
        answer = await self._ask_until(addon, lambda one: _reason_of(one) is None)
        self._expect("joined", _find_differences(answer, verdict_members(None)), answer)
        await self._judge_health(addon, "joined", {"hub": "connected", "issuers": 1})

    async def _judge_renewal(self, first: int) -> None:
        """Judge that a registration comes again, and that the first, accepted one was not repeated as if it had failed.

        The hub is there from the start, so that no earlier failure makes the next attempt late.
        """
        count, last, start = 0, first, time.monotonic()
        record, finding = None, "none again"
        while (left := start + _PATIENCE_SECONDS - time.monotonic()) > 0:
            asked = time.monotonic()
            again = await self.hub.wait_for_call(SERVICES, "POST", seconds=left, after=last)
            if again is None:
                break
            record, last = self.hub.record_call(again), again.number
            if time.monotonic() - asked > _RENEWAL_PAUSE:
                finding = ""
                break
            count += 1
        # An addon may register once more when its hub answers. After a refusal it registers after 1, 2, 4, 8 seconds.
        finding = finding or (f"{count} at once" if count > _MOST_AT_ONCE else "")
        where = {**self._where, "trial": "renewal after an answer 202"}
        self.case.expect(ROW, not finding, "one again after 30 seconds", finding, exchange=record, where=where)

    async def _judge_missing_settings(self) -> None:
        """Judge an addon without the address of its hub, and one without its token (P-AD-03)."""
        hub = self.hub
        hub.receiver.plan = hub.answer
        async with started_addon(self.case, self.subject, hub.url, hub.token, without=["S2_HUB_URL"]) as addon:
            await self._judge_health(addon, "without a hub", {"hub": "disabled", "issuers": 0})
            answer = await self._ask(addon, self.honest.text)
            self._expect("without a hub", _find_differences(answer, verdict_members("no_public_key")), answer)
        before = hub.last
        async with started_addon(
            self.case, self.subject, hub.url, hub.token, variables=_OUTAGE, without=["S2_HUB_TOKEN"]
        ) as addon:
            answer = await self._ask_until(addon, lambda one: _reason_of(one) is None)
            faults = _find_differences(answer, verdict_members(None))
            faults += ["it registers"] if hub.calls(SERVICES, "POST", after=before) else []
            self._expect("without a token", faults, answer)

    async def judge_address(self) -> None:
        """Judge an addon without its own address, and that its registration is renewed (P-AD-02, P-AD-03)."""
        hub = self.hub
        hub.receiver.plan = self._answer_accepted
        name = f"named-{self.subject.name}".replace("_", "-")
        async with started_addon(
            self.case,
            self.subject,
            hub.url,
            hub.token,
            variables={**_OUTAGE, "S2_HUB_NAME": name},
            without=["S2_HUB_SELF_URL"],
        ) as addon:
            call = await hub.wait_for_call(SERVICES, "POST", seconds=_PATIENCE_SECONDS)
            body = {} if call is None else _body_of(call)
            # The address that it was bound to is the suite's own choice of a port.
            port = addon.url.rpartition(":")[2]
            faults = [] if str(body.get("base_url", "")).rstrip("/").endswith(f":{port}") else ["base_url"]
            faults += [] if body.get("name") == name else ["name"]
            exchange = None if call is None else hub.record_call(call)
            finding = ", ".join(faults)
            self.case.expect(
                ROW, not faults, "its address and S2_HUB_NAME", finding, exchange=exchange, where=self._where
            )
            if call is not None:
                await self._judge_renewal(call.number)

    @property
    def _where(self) -> Mapping[str, str]:
        return self.subject.where

    async def _ask(self, addon: RunningProgram, text: str, *, again: bool = False) -> Answer:
        question = self.subject.addon.question
        assert question is not None  # noqa: S101 - only addons with a question are tried
        body = document_reader.fill_template(question.body, {"credential": text, "zk_receipt": text})
        return await self.case.client.call("POST", addon.url + question.path, json_body=body, retry=again)

    async def _ask_until(self, addon: RunningProgram, holds: Callable[[Answer], bool]) -> Answer:
        def ask(again: bool) -> Awaitable[Answer]:
            return self._ask(addon, self.honest.text, again=again)

        return await ask_until(ask, holds, _PATIENCE_SECONDS)

    async def _judge_health(self, addon: RunningProgram, name: str, members: Mapping[str, Any]) -> None:
        answer = await self.case.client.call("GET", addon.url + HEALTH)
        body = answer.read_object()
        faults = [] if answer.status == 200 else [f"status {answer.status}"]
        faults += [one for one, value in {"status": "ok", **members}.items() if body.get(one) != value]
        faults += [one for one in ("service", "version") if not isinstance(body.get(one), str) or not body[one]]
        word = self.case.profile.service_word
        expected_service = None if word is None else f"{word.lower()}-{_NAMES[self.subject.name]}"
        faults += ["service"] if expected_service not in {None, body.get("service")} else []
        self._expect(f"health {name}", faults, answer)

    def _expect(self, name: str, faults: Sequence[str], answer: Answer | None) -> None:
        where = {**self._where, "trial": name}
        finding = f"other: {', '.join(faults)}"
        self.case.expect(ROW, not faults, "as 8.1 says", finding, exchange=answer, where=where)


def _results_of(answer: Answer) -> Mapping[str, Any]:
    """Return the result of the one credential: the answer itself, or the only item of `results`."""
    body = answer.read_object()
    results = body.get("results")
    return results[0] if isinstance(results, list) and results and isinstance(results[0], dict) else body


def _reason_of(answer: Answer) -> Any:
    return _results_of(answer).get("reason", "no reason")


def _find_differences(answer: Answer, expected: Mapping[str, Any]) -> list[str]:
    result = _results_of(answer)
    return [f"{name}: {result.get(name)!r}" for name, value in expected.items() if result.get(name, 0) != value]


def _body_of(call: Arrival) -> Mapping[str, Any]:
    try:
        body = strict_json(call.body)
    except JsonTextFault:
        return {}
    return body if isinstance(body, dict) else {}


def _find_record_faults(case: Case, subject: AddonSubject, body: Mapping[str, Any], url: str) -> list[str]:
    faults = [] if str(body.get("base_url", "")).rstrip("/") == url else ["base_url"]
    word = case.profile.service_word
    name = None if word is None else f"{word.lower()}-{_NAMES[subject.name]}"
    faults += ["name"] if name not in {None, body.get("name")} else []
    path = body.get("health_path")
    return faults + ([] if isinstance(path, str) and path.startswith("/") else ["health_path"])
