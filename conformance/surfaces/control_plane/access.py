"""Access to the control plane under test, with or without the admin token, by bound or discovered names."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from conformance.engine.check import Case
from conformance.http.client import Answer, JsonFault
from conformance.oracles import falcon_making
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.services import HEALTH, NamedService, play_service
from conformance.target import ProfileError
from conformance.target.hub import HubBindings
from conformance.text.target_text_escaping import one_line

PKS, ATB_KEYS, ISSUERS = "/v1/issuer-pks", "/.well-known/atb-keys.json", "/v1/issuers"
SERVICES, POSTURE, AUDIT = "/v1/services", "/v1/posture", "/v1/audit"
OPEN_READS: Final = (HEALTH, PKS, ATB_KEYS, POSTURE)
# Bodies that register a service with some control plane: the family's first, the one with every usual name last.
CANDIDATES: Final[tuple[Mapping[str, str], ...]] = (
    {"name": "{name}", "type": "addon", "base_url": "{base_url}", "health_path": "{health_path}"},
    {"name": "{name}", "url": "{base_url}"},
    {"name": "{name}", "self_url": "{base_url}"},
    {"name": "{name}", "address": "{base_url}"},
    {"name": "{name}", "health_url": "{health_url}"},
    {
        "name": "{name}",
        "id": "{name}",
        "service": "{name}",
        "service_id": "{name}",
        "type": "addon",
        "url": "{base_url}",
        "base_url": "{base_url}",
        "self_url": "{base_url}",
        "address": "{base_url}",
        "health_url": "{health_url}",
        "health_path": "{health_path}",
        "endpoint": "{base_url}",
    },
)
NOT_ADMITTED: Final = frozenset({401, 403})
UNBOUND_TOKEN: Final = "needs the admin token: give [hub] token, an environment variable or a file"  # noqa: S105
# The pause doubles from the first to the longest: a fast target is seen at once, and a slow one
# is not flooded.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_CALLED_SECONDS = 5.0
# Letters of a control plane's answer that are quoted.
_QUOTED_LETTERS = 200


@dataclass(frozen=True, slots=True)
class Issuer:
    """An issuer that a check registers.

    Attributes:
        did: Its DID.
        key: Its public key in standard base64.
    """

    did: str
    key: str

    @property
    def body(self) -> dict[str, str]:
        """The body that registers it."""
        return {"did": self.did, "public_key_b64": self.key}


@dataclass(frozen=True, slots=True)
class Hub:
    """A control plane with its known names.

    Attributes:
        case: The case of the check that calls it.
        url: Its address, without a slash at its end.
        bindings: Its names.
        token: The admin token, or None.
        no_token: Why the admin token is unknown.
    """

    case: Case
    url: str
    bindings: HubBindings
    token: str | None = field(default=None, repr=False)
    no_token: str = UNBOUND_TOKEN

    async def call(self, method: str, path: str, *, credential: str | None = None, **options: Any) -> Answer:
        """Send one request, with a Bearer credential if one is given."""
        headers = dict(options.pop("headers", {}))
        if credential is not None:
            headers["Authorization"] = f"Bearer {credential}"
        return await self.case.client.call(method, self.url + path, headers=headers, **options)

    async def admin(self, method: str, path: str, **options: Any) -> Answer:
        """Send one request with the admin token.

        Raises:
            Inconclusive: The token is unknown.
        """
        return await self.call(method, path, credential=self.known_token, **options)

    @property
    def known_token(self) -> str:
        """The admin token.

        Raises:
            Inconclusive: The token is unknown.
        """
        if self.token is None:
            raise Inconclusive(self.no_token)
        return self.token

    def leave_to_reads(self, row: str) -> None:
        """Mark the rows of a check as in need of the token, except one that checks without the token judge."""
        for check_row in self.case.check.rows:
            judge = self.case.mark_not_applicable if check_row == row else self.case.mark_inconclusive
            judge(check_row, self.no_token)

    # Issuers.

    def new_issuer(self, label: str = "issuer", form: str = "did:web:{host}") -> Issuer:
        """Return a new issuer, named in the log."""
        names, session = self.case.client.names, self.case.session
        number = f"{session.nonce}-{session.count()}"
        host = f"{label}-{number}.example"
        # In a path the DID is percent-encoded, so the host does not begin a word. Only a secret is replaced everywhere.
        names.secret(host, f"{label.upper()}_HOST")
        return Issuer(form.replace("{host}", host), self.new_key(label))

    def new_key(self, label: str = "issuer", *, beside: str | None = None) -> str:
        """Return a new public key in base64; with `beside`, one that differs from it only in the case of a letter."""
        random_key = base64.b64encode(falcon_making.any_public_key(self.case.rng)).decode()
        key = random_key if beside is None else falcon_making.neighbour_of(beside)
        # Two thousand letters of base64 would only fill log and report.
        self.case.client.names.secret(key, f"{label.upper()}_KEY")
        return key

    async def register(self, issuer: Issuer) -> Answer:
        """Register an issuer with the admin token."""
        return await self.admin("POST", ISSUERS, json_body=issuer.body)

    async def revoke(self, did: str, *, is_encoded: bool = True) -> Answer:
        """Revoke an issuer with the admin token, its DID percent-encoded or raw."""
        return await self.admin("DELETE", f"{ISSUERS}/{quote(did, safe='') if is_encoded else did}")

    async def trust_set(self, *, again: bool = False) -> dict[str, Any]:
        """Return the trust set.

        Raises:
            JsonFault: The answer is not JSON, or contains a DID twice.
            Inconclusive: It is no object.
        """
        answer = await self.call("GET", PKS, retry=again)
        value = answer.parse_json() if answer.status == 200 else None
        if not isinstance(value, dict):
            raise Inconclusive(f"the trust set cannot be read: GET {PKS} answered {quote_answer(answer)}")
        return value

    @asynccontextmanager
    async def registered_issuer(self, issuer: Issuer) -> AsyncIterator[Answer]:
        """Register an issuer, and revoke it on leaving in any case.

        Raises:
            Inconclusive: It was not registered, which a check of that judges.
        """
        answer = await self.register(issuer)
        try:
            if not is_success(answer):
                reason = f"no issuer could be registered: POST {ISSUERS} answered {quote_answer(answer)}"
                raise Inconclusive(explain_token_refusal(answer) or reason)
            yield answer
        # A trust set is shared by all checks, so no issuer may remain in it.
        finally:
            await self.revoke(issuer.did)

    # Services.

    def service_body(self, service: NamedService) -> dict[str, Any]:
        """Return the body that registers a service."""
        values = {
            "name": service.name,
            "base_url": service.url,
            "health_path": service.health,
            "health_url": service.url + service.health,
        }
        body: dict[str, Any] = document_reader.fill_template(self.bindings.service_body or CANDIDATES[0], values)
        return body

    @property
    def has_health_path(self) -> bool:
        """Whether the operator's body of a registration contains the health path.

        For a discovered body this is unknown: the control plane may read only the address.
        """
        return self._body_says("health_path") or self._body_says("health_url")

    @property
    def has_separate_health_path(self) -> bool:
        """Whether the operator's body of a registration has the health path separate from the address."""
        return self._body_says("health_path")

    def _body_says(self, name: str) -> bool:
        body = self.case.profile.hub_bindings.service_body
        return body is not None and f"{{{name}}}" in json.dumps(body)

    async def register_service(self, service: NamedService) -> Answer:
        """Register a service with the admin token."""
        return await self.admin("POST", SERVICES, json_body=self.service_body(service))

    @asynccontextmanager
    async def registered_services(self, *services: NamedService) -> AsyncIterator[Sequence[Answer]]:
        """Register services, and remove them on leaving if the profile binds how.

        Raises:
            Inconclusive: One was not registered, which a check of that judges.
        """
        answers: list[Answer] = []
        try:
            for service in services:
                answers.append(await self.register_service(service))
                if not is_success(answers[-1]):
                    reason = f"no service could be registered: POST {SERVICES} answered {quote_answer(answers[-1])}"
                    raise Inconclusive(explain_token_refusal(answers[-1]) or reason)
            yield answers
        finally:
            for service in services[: len(answers)]:
                await self.remove_service(service)

    async def remove_service(self, service: NamedService) -> None:
        """Remove a service, if the profile binds how."""
        if self.bindings.service_delete is not None:
            await self.admin(
                "DELETE", document_reader.fill_template(self.bindings.service_delete, {"name": service.name})
            )

    async def posture(self, *, again: bool = False) -> Answer:
        """Read the posture without a credential."""
        return await self.call("GET", POSTURE, retry=again)

    def posture_records(self, posture: Answer, service: NamedService) -> list[Any]:
        """Return the records of a posture about a service."""
        document = json_of(posture)
        return document_reader.records(document, service.name, service.url, self.bindings.posture_name_at)

    def health(self, posture: Answer, service: NamedService) -> bool | None:
        """Return whether a posture shows a service as healthy; None if it does not list it or states no health."""
        records = self.posture_records(posture, service)
        states = [
            document_reader.read_health(record, self.bindings.posture_name_at, self.bindings.posture_healthy_at)
            for record in records
        ]
        # Records that contradict each other state nothing.
        return states[0] if len(set(states)) == 1 else None

    async def read_posture_until(self, holds: Callable[[Answer], bool], seconds: float | None = None) -> Answer:
        """Read the posture until a condition holds, or the time is over; return the last one."""
        return await ask_until(
            lambda again: self.posture(again=again), holds, seconds or self.bindings.propagation_budget
        )


def json_of(answer: Answer) -> Any:
    """Return an answer's JSON, or None; another check judges whether it is JSON."""
    try:
        return answer.parse_json()
    except JsonFault:
        return None


def is_success(answer: Answer) -> bool:
    """Return whether a call was carried out, with any 2xx."""
    return 200 <= answer.status < 300


def is_client_error(answer: Answer) -> bool:
    """Return whether a call was refused with a client error."""
    return 400 <= answer.status < 500


def quote_answer(answer: Answer) -> str:
    """Return the status of an answer with the beginning of its body."""
    quotation = one_line(answer.body.decode("utf-8", "replace"), _QUOTED_LETTERS)
    return f"{answer.status}: {quotation}" if quotation else str(answer.status)


def explain_token_refusal(answer: Answer) -> str:
    """Return the hint for a call that refused the admin token; empty if it did not."""
    if answer.status not in NOT_ADMITTED:
        return ""
    # Other statuses say nothing about the token, so the hint names it only here.
    return f"the control plane does not take [hub] token ({answer.status}): is it what its file admin_token holds now?"


async def ask_until(
    ask: Callable[[bool], Awaitable[Answer]], holds: Callable[[Answer], bool], seconds: float
) -> Answer:
    """Send a request until a condition holds for the answer, or the time is over; return the last answer.

    Args:
        ask: Sends the request; its argument says whether it is a repetition.
        holds: The condition.
        seconds: Longest wait.
    """
    ends, pause = time.monotonic() + seconds, _FIRST_PAUSE
    last = time.monotonic() >= ends
    answer = await ask(False)
    while not holds(answer) and not last:
        await asyncio.sleep(pause)
        # The last request is sent after the time is over. An answer that took long shows an earlier
        # state.
        pause, last = min(2 * pause, _LONGEST_PAUSE), time.monotonic() >= ends
        answer = await ask(True)
    return answer


async def hub_of(case: Case) -> Hub:
    """Return the control plane of a run, with its bound names.

    Raises:
        Inconclusive: The profile gives no address of one.
    """
    surface = case.profile.surfaces.get("control_plane")
    if surface is None:
        raise Inconclusive("needs a running control plane: give [surfaces.control_plane] url")
    return Hub(case, surface.url.rstrip("/"), case.profile.hub_bindings, *read_token(case))


async def serving_hub(case: Case) -> Hub:
    """Return the control plane of a run with a body that it takes for a service's registration.

    Raises:
        Inconclusive: There is no address, no token, or no body that it takes.
    """
    return await with_service_body(await hub_of(case))


async def with_service_body(hub: Hub) -> Hub:
    """Return a control plane with a bound or discovered body that registers a service; discovered once a run.

    Raises:
        Inconclusive: There is no body that it takes.
    """
    if hub.bindings.service_body is not None or hub.token is None:
        return hub
    body = await hub.case.session.find_once("the control plane's service body", lambda: _find_service_body(hub))
    return replace(hub, bindings=hub.bindings.model_copy(update={"service_body": body}))


async def _find_service_body(hub: Hub) -> Mapping[str, Any]:
    """Return the first body that registers a service whose health is then called, else the first accepted body."""
    accepted_bodies: list[Mapping[str, Any]] = []
    reason = unbound = "unbound: no body is known that registers a service; give [hub] service_body"
    async with AsyncExitStack() as kept:
        service = await play_service(hub.case, kept, "probe")
        for template in CANDIDATES:
            trial = replace(hub, bindings=hub.bindings.model_copy(update={"service_body": template}))
            answer = await trial.register_service(service)
            if not is_success(answer):
                refusal = f"{unbound}; the usual one is answered {quote_answer(answer)}"
                reason = explain_token_refusal(answer) or refusal
                continue
            accepted_bodies.append(template)
            await trial.posture()
            # Acceptance alone proves little, because a control plane may accept any object. A
            # health call proves that it read the address.
            if await service.wait_for_call(_CALLED_SECONDS):
                await trial.remove_service(service)
                return template
    if not accepted_bodies:
        raise Inconclusive(reason)
    return accepted_bodies[0]


def token_of(case: Case) -> str | None:
    """Return the admin token, kept out of the log; None if the profile names none or it cannot be read."""
    return read_token(case)[0]


def read_token(case: Case) -> tuple[str | None, str]:
    """Return the admin token, kept out of the log, or None, with the reason why it is unknown."""
    if case.profile.hub.token is None:
        return None, UNBOUND_TOKEN
    try:
        token = case.profile.hub.token.read()
    except ProfileError as fault:
        return None, f"[hub] token: {fault}"
    # A token with a line break would be refused by the HTTP library with an unclear error.
    if not token.isascii() or not token.isprintable():
        return None, "[hub] token: it holds characters that no header takes, such as a line break"
    case.client.names.secret(token, "ADMIN_TOKEN")
    return token, ""
