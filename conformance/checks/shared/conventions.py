"""X-HTTP-01: every route of every surface answers as section 1.1 says, if the target claims the specification."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.fuzz.hostile_inputs import JSON
from conformance.http.client import Answer, Client, JsonFault, Unreachable
from conformance.http.raw import RawTransport
from conformance.http.trust import make_context
from conformance.oracles.conventional_answers import (
    find_media_type_faults,
    find_rate_faults,
    find_request_id_faults,
    find_value_faults,
)
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane.access import SERVICES
from conformance.surfaces.endpoints import Endpoint, list_endpoints
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, RESOURCES, create_link, resource_body, token_of
from conformance.surfaces.rail.purchase import challenge, header_value, pay

ROW: Final = "X-HTTP-01"
_FIX: Final = (
    "Keep the rules of section 1.1 in one layer around every route: request ids, limits, methods, HEAD, probes and the "
    "answer to a body that is not JSON."
)
_QUICK: Final = sample("ways to call, one of each operation")
_RAW_SECONDS: Final = 5.0
_UNKNOWN_METHOD: Final = "PATCH"
_BODY_LIMITS: Final = {"agent": 262_144}
_USUAL_BODY_LIMIT, _LINE_LIMIT, _HEAD_LIMIT = 65_536, 8_192, 16_384
# Room for the parts of a line and a head that a client library adds.
_ROOM: Final = 300
# Values of a further member with which a body counts as not JSON (P-CV-02). The rest of the body is a good one, so that
# a service that reads such a value would take it.
_NOT_JSON: Final[Mapping[str, bytes]] = {
    "nothing": b"",
    "bad UTF-8": b'"\xff"',
    "half a surrogate pair in UTF-8": b'"\xed\xa0\x80"',
    "members twice": b'{"a":1,"a":1}',
    "members twice inside": b'[{"b":1,"b":2}]',
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "33 levels": b"[" * 32 + b"]" * 32,
}
# Values of a further member that JCS refuses (P-CV-20).
_NOT_CANONICAL: Final[Mapping[str, bytes]] = {
    "an integer beyond 2^53 - 1": b"9007199254740993",
    "a number outside binary64": b"1e400",
    "a lone surrogate": b'"\\ud800"',
}
# A service that a control plane would register.
_SERVICE: Final = {
    "name": "conventions",
    "type": "addon",
    "base_url": "http://service.invalid:9",
    "health_path": "/health",
}
_FURTHER: Final = "urn:example:further"
# Thirty-two levels with the object around them, which is the most (P-CV-02).
_DEEPEST: Final = b"[" * 31 + b"]" * 31


@dataclass(slots=True)
class Walk:
    """Calls of one surface, whose answers are all judged by P-CV-03 to P-CV-05 and P-CV-11."""

    case: Case
    surface: str
    base: str
    seen_ids: set[str] = field(default_factory=set)
    _number: int = 0

    async def call(
        self,
        method: str,
        url: str,
        trial: str,
        *,
        status: int | frozenset[int] | None = None,
        body: bytes | None = None,
        headers: Sequence[tuple[str, str]] = (),
        client: Client | None = None,
        is_page: bool = False,
        is_counted: bool = False,
    ) -> Answer | None:
        """Send one request, judge its answer, and return it; None if the connection ended without one.

        Args:
            method: HTTP method.
            url: The whole address.
            trial: What the request tries, for the report.
            status: The status or statuses that it must have; None for any.
            body: The body, if any.
            headers: All header fields.
            client: Another client than the case's.
            is_page: Whether an answer with 200 is a page for people.
            is_counted: Whether a limit of rate counts the call.
        """
        self._number += 1
        # Every other request has an id of its own, which the answer must not repeat.
        sent_id = "req_" + secrets.token_hex(16) if self._number % 2 else None
        sent_headers = [*headers, *([] if sent_id is None else [("X-Request-Id", sent_id)])]
        try:
            answer = await (client or self.case.client).call(method, url, body=body, headers=sent_headers)
        except Unreachable:
            return None
        statuses = status if isinstance(status, frozenset) else frozenset({answer.status if status is None else status})
        found = find_request_id_faults(answer.headers.get("X-Request-Id"), sent_id, self.seen_ids)
        found += find_rate_faults(answer.headers) if is_counted else []
        found += [] if answer.status in statuses else [f"status {answer.status}, not {sorted(statuses)}"]
        if answer.body:
            path = url.removeprefix(self.base).partition("?")[0]
            content_type = answer.headers.get("Content-Type")
            is_success = answer.status == 200
            found += find_media_type_faults(path, content_type, is_page=is_page and is_success, is_success=is_success)
            found += find_value_faults(_read_json(answer))
        self.expect(answer, found, trial)
        return answer

    def expect(self, answer: Answer, faults: Sequence[str], trial: str) -> None:
        """Judge one answer."""
        finding = "; ".join(faults) or "so"
        self.case.expect(ROW, not faults, "as 1.1 says", finding, exchange=answer, where={"call": trial})


def _read_json(answer: Answer) -> Any:
    try:
        return answer.parse_json()
    except JsonFault:
        return None


async def _start_walk(case: Case, surface: str) -> tuple[Walk, list[Endpoint]]:
    endpoints = await list_endpoints(case, surface)
    return Walk(case, surface, endpoints[0].base), endpoints


async def _walk_surface(case: Case, surface: str) -> None:
    """Judge everything that holds for every surface alike."""
    walk, endpoints = await _start_walk(case, surface)
    await _judge_probes(walk)
    paid_paths = {one.path for one in case.session.catalog.operations} if surface == "rail" else frozenset()
    methods: dict[str, set[str]] = {}
    for endpoint in endpoints:
        methods.setdefault(endpoint.path, set()).add(endpoint.method)
    routes = [one for one in endpoints if one.path not in paid_paths]
    await run_concurrently(_judge_methods(walk, one, methods[one.path]) for one in case.sample(routes))
    await _judge_limits(walk, routes)


async def _judge_probes(walk: Walk) -> None:
    for word in ("live", "ready"):
        for method in ("GET", "HEAD"):
            answer = await walk.call(method, f"{walk.base}/health/{word}", f"{method} /health/{word}", status=200)
            if answer is not None:
                document = {"status": word} if method == "GET" else None
                faults = [] if _read_json(answer) == document else [f"body {answer.body[:80]!r}"]
                walk.expect(answer, faults, f"the body of {method} /health/{word}")


async def _judge_methods(walk: Walk, endpoint: Endpoint, known: set[str]) -> None:
    """Judge a wrong method, and HEAD wherever GET works (P-CV-10)."""
    headers, is_page = list(endpoint.headers.items()), _is_page(endpoint)
    answer = await walk.call(
        _UNKNOWN_METHOD, endpoint.url, f"{_UNKNOWN_METHOD} {endpoint.template}", headers=headers, status=405
    )
    if answer is not None:
        allowed = {one.strip() for one in answer.headers.get("Allow", "").split(",")}
        wanted = known | ({"HEAD"} if "GET" in known else set())
        is_right = wanted <= allowed and _UNKNOWN_METHOD not in allowed
        faults = [] if is_right else [f"Allow {answer.headers.get('Allow')!r} where {sorted(wanted)} work"]
        walk.expect(answer, faults, f"Allow of {endpoint.template}")
    if endpoint.method != "GET":
        return
    is_counted = walk.surface in {"gateway", "agent", "control_plane"} and not headers and endpoint.path != "/health"
    first = await walk.call(
        "GET", endpoint.url, endpoint.label, headers=headers, is_page=is_page, is_counted=is_counted
    )
    second = await walk.call("HEAD", endpoint.url, f"HEAD {endpoint.template}", headers=headers)
    if first is not None and second is not None:
        same = {name: (first.headers.get(name), second.headers.get(name)) for name in ("Content-Type", "Cache-Control")}
        faults = [f"{name} {two[1]!r} where GET has {two[0]!r}" for name, two in same.items() if two[0] != two[1]]
        faults += [] if first.status == second.status else [f"{second.status} where GET is {first.status}"]
        faults += ["a body"] if second.body else []
        walk.expect(second, faults, f"HEAD {endpoint.template} beside GET")


def _is_page(endpoint: Endpoint) -> bool:
    return endpoint.path.startswith(CHECKOUT) and endpoint.template.endswith("{token}")


async def _judge_limits(walk: Walk, routes: Sequence[Endpoint]) -> None:
    """Judge each limit of P-CV-16 on both sides, and what P-CV-23 says of a method and of a line's end."""
    posts = [one for one in routes if one.method == "POST"]
    if not posts:
        return
    post, health = posts[0], f"{walk.base}/health"
    headers = [*post.headers.items(), JSON]
    limit = _BODY_LIMITS.get(walk.surface, _USUAL_BODY_LIMIT)
    too_large = b" " * (limit + 1)
    await walk.call("POST", post.url, f"a body of {limit + 1} bytes", body=too_large, headers=headers, status=413)
    answer = await walk.call("POST", post.url, f"a body of {limit} bytes", body=b" " * limit, headers=headers)
    _expect_not(walk, answer, 413, f"a body of {limit} bytes, which is allowed")
    coded = [*headers, ("Content-Encoding", "gzip")]
    await walk.call("POST", post.url, "Content-Encoding: gzip", body=b"{}", headers=coded, status=415)
    plain = [*headers, ("Content-Encoding", "identity")]
    answer = await walk.call("POST", post.url, "Content-Encoding: identity", body=b"{}", headers=plain)
    _expect_not(walk, answer, 415, "Content-Encoding: identity, which is allowed")
    for length, status in ((_LINE_LIMIT + 1, 414), (_LINE_LIMIT - _ROOM, None)):
        target = f"{health}?{'a' * (length - len('/health?'))}"
        answer = await walk.call("GET", target, f"a target of {length} bytes", status=status)
        if status is None:
            _expect_not(walk, answer, 414, f"a target of {length} bytes, which is allowed")
    for length, status in ((_HEAD_LIMIT + 1, 431), (_HEAD_LIMIT - _ROOM, None)):
        fields = [(f"X-Long-{place}", "a" * 4000) for place in range(3)]
        fields.append(("X-Long-3", "a" * (length - 3 * 4014 - 14)))
        answer = await walk.call("GET", health, f"header fields of {length} bytes", headers=fields, status=status)
        if status is None:
            _expect_not(walk, answer, 431, f"header fields of {length} bytes, which are allowed")
    await _judge_lines(walk, health)


def _expect_not(walk: Walk, answer: Answer | None, status: int, trial: str) -> None:
    if answer is not None:
        walk.expect(answer, [] if answer.status != status else [f"status {status}"], trial)


async def _judge_lines(walk: Walk, health: str) -> None:
    case = walk.case
    raw = case.client.with_transport(
        RawTransport(
            walk.base,
            seconds=_RAW_SECONDS,
            requests_per_second=case.profile.pace.requests_per_second,
            tls=make_context(case.profile.tls),
        )
    )
    for method in ("get", "Get"):
        answer = await walk.call(method, health, f"the method {method}", status=501, client=raw)
        if answer is not None:
            name = "error" if walk.surface in {"gateway", "rail"} else "detail"
            body = answer.read_object()
            code = body.get("error")
            faults = [] if name == "detail" or code == "not_implemented" else [f"error {code!r}"]
            walk.expect(answer, faults, f"the code for the method {method}")
    bare = [("X-First", "a\nX-Second: b")]
    await walk.call("GET", health, "a line that ends with a bare LF", headers=bare, status=400, client=raw)


async def _judge_bodies(case: Case, surface: str) -> None:
    """Judge what is not JSON, what JCS refuses, and further members, at each operation that takes a body."""
    walk, endpoints = await _start_walk(case, surface)
    posts = [one for one in endpoints if one.body is not None and one.is_stated and one.path != "/a2a"]
    trials = [
        (endpoint, name, body, status) for endpoint in posts for name, body, status in _list_bodies(walk, endpoint)
    ]
    chosen = case.sample(trials, lambda trial: (trial[0].label, trial[3]))
    await run_concurrently(_judge_body(walk, *trial) for trial in chosen)


async def _judge_link(case: Case) -> None:
    """Judge page, QR code, status and calls of a live link, with a further member in each body (P-CV-03, P-CV-14)."""
    walk = Walk(case, "gateway", case.session.gateway)
    token = token_of(await create_link(case))
    if token is None:
        raise Inconclusive("no link with a token was created, which GW-LINK judges")
    url = f"{case.session.gateway}{CHECKOUT}{quote(token, safe='')}"
    for tail in ("", "/qr", "/status"):
        endpoint = Endpoint(
            "gateway", walk.base, "GET", url.removeprefix(walk.base) + tail, f"{CHECKOUT}{{token}}{tail}"
        )
        await _judge_methods(walk, endpoint, {"GET"})
    members: Mapping[str, Mapping[str, Any]] = {
        "/verify": {"tx_id": "A" * 52},
        "/cancel": {"cancel_secret": "no such secret"},
        "/abandon": {},
    }
    for tail, body in members.items():
        await _judge_further(walk, url + tail, f"{CHECKOUT}{{token}}{tail}", [body, body], ())


async def _judge_further(
    walk: Walk, url: str, place: str, bodies: Sequence[Mapping[str, Any]], headers: Sequence[tuple[str, str]]
) -> None:
    """Judge that a body with a further member has the status and the code of the same body without it."""
    plain, further = bodies
    contents = {"": json.dumps(dict(plain)).encode(), ", with a further member": _add_member(further, _DEEPEST)}
    outcomes: list[tuple[Any, ...]] = []
    answers: list[Answer] = []
    for name, content in contents.items():
        answer = await walk.call("POST", url, f"{place}{name}", body=content, headers=[*headers, JSON])
        if answer is None:
            return
        report = answer.read_object()
        answers.append(answer)
        outcomes.append((answer.status, report.get("error"), report.get("reason"), report.get("error_code")))
    faults = [] if outcomes[0] == outcomes[1] else [f"{outcomes[1]} where the body without it gets {outcomes[0]}"]
    walk.expect(answers[1], faults, f"a further member at {place}")


def _list_bodies(walk: Walk, endpoint: Endpoint) -> Iterator[tuple[str, bytes, int]]:
    """Yield bodies that an operation must refuse, each with its name and its status."""
    good = _SERVICE if endpoint.path == SERVICES else endpoint.body or {}
    status = 400 if walk.surface == "gateway" else 422
    for name, body in list_malformed_bodies(good).items():
        yield name, body, status
    # The agent refuses these only in a member that it knows.
    if walk.surface != "agent":
        for name, value in _NOT_CANONICAL.items():
            yield f"a further member that is {name}", _add_member(good, value), 422


def list_malformed_bodies(good: Mapping[str, Any]) -> dict[str, bytes]:
    """Return bodies that count as not JSON, by their names (P-CV-02)."""
    text = json.dumps(dict(good)).encode()
    bodies = {"half an object": text[:-1], "no body": b"", "a byte order mark": b"\xef\xbb\xbf" + text}
    return bodies | {f"a further member: {name}": _add_member(good, value) for name, value in _NOT_JSON.items()}


def _add_member(good: Mapping[str, Any], value: bytes) -> bytes:
    inner = json.dumps(dict(good)).encode()[1:-1]
    return b"{" + inner + (b"," if inner else b"") + b'"' + _FURTHER.encode() + b'":' + value + b"}"


async def _judge_body(walk: Walk, endpoint: Endpoint, name: str, body: bytes, status: int) -> None:
    headers = [*endpoint.headers.items(), JSON]
    trial = f"{name} at {endpoint.template}"
    # The administrator's calls are not counted (P-RL-07).
    is_counted = walk.surface != "control_plane"
    answer = await walk.call(
        "POST", endpoint.url, trial, body=body, headers=headers, status=status, is_counted=is_counted
    )
    if answer is not None:
        walk.expect(answer, _find_refusal_faults(walk.surface, answer), f"the refusal of {trial}")


def _find_refusal_faults(surface: str, answer: Answer) -> list[str]:
    """Return what is wrong with the body of a refusal of a body (P-CV-13)."""
    report = answer.read_object()
    if surface == "gateway":
        code = "invalid_request" if answer.status == 400 else "validation_error"
        return [] if report.get("error") == code else [f"error {report.get('error')!r}, not {code}"]
    return [] if report.get("detail") else ["no detail"]


@check(ROW, surface="gateway", pays_rail=True, fix=_FIX, quick=_QUICK)
async def conventions_of_the_gateway(case: Case) -> None:
    """Every route of the gateway has request ids, media types, methods, HEAD, limits and refusals as 1.1 says.

    Calls each route plainly, with HEAD and with PATCH, the probes, and on both sides of each limit. Sends to each
    operation bodies that are not JSON, values that JCS refuses and a further member. Calls page, QR code, status and
    deeds of a live link. Expects the status, the code and the fields.
    """
    await _walk_surface(case, "gateway")
    await _judge_bodies(case, "gateway")
    walk, endpoints = await _start_walk(case, "gateway")
    for endpoint in endpoints:
        if endpoint.body is not None and endpoint.is_stated and endpoint.path != LINKS:
            # A resource is created once, so each body has a name of its own.
            is_resource, body = endpoint.path == RESOURCES, endpoint.body
            bodies = [resource_body(case) if is_resource else body for _ in range(2)]
            await _judge_further(walk, endpoint.url, endpoint.template, bodies, list(endpoint.headers.items()))
    await _judge_link(case)


@check(ROW, surface="agent", fix=_FIX, quick=_QUICK)
async def conventions_of_the_agent(case: Case) -> None:
    """Every route of the agent has request ids, media types, methods, HEAD, limits and refusals as 1.1 says.

    Calls each route plainly, with HEAD and with PATCH, the probes, and on both sides of each limit. Sends to each
    operation bodies that are not JSON. Expects the status and the fields.
    """
    await _walk_surface(case, "agent")
    await _judge_bodies(case, "agent")


@check(ROW, surface="control_plane", fix=_FIX, quick=_QUICK)
async def conventions_of_the_control_plane(case: Case) -> None:
    """Every route of the control plane has request ids, media types, methods, HEAD, limits and refusals as 1.1 says.

    Calls each route plainly, with HEAD and with PATCH, the probes, and on both sides of each limit. Sends to each
    operation bodies that are not JSON and values that JCS refuses. Expects the status and the fields.
    """
    await _walk_surface(case, "control_plane")
    await _judge_bodies(case, "control_plane")


@check(ROW, surface="rail", fix=_FIX, quick=_QUICK)
async def conventions_of_the_rail(case: Case) -> None:
    """Every route of the rail has request ids, media types, methods, HEAD, limits and refusals as 1.1 says.

    Calls each route plainly, with HEAD and with PATCH, the probes, and on both sides of each limit. Pays one call, and
    presents the payment with bodies that are not JSON, with values that JCS refuses and with a further member. Expects
    422 with detail, and the paid answer for the right body afterwards.
    """
    await _walk_surface(case, "rail")
    lanes = case.profile.claims.lanes
    if not lanes:
        raise Inconclusive("the profile claims no lane to pay on")
    walk, _ = await _start_walk(case, "rail")
    await run_concurrently(_judge_paid_bodies(walk, one, lanes[0]) for one in case.session.catalog.operations)


async def _judge_paid_bodies(walk: Walk, operation: Operation, lane: str) -> None:
    """Judge bodies beside a payment, which stays usable (5.7, step 8)."""
    case = walk.case
    offer = await challenge(case, operation)
    proof = header_value(await pay(case, offer, lane))
    case.client.names.name(proof, "X_PAYMENT")
    headers = [JSON, ("X-PAYMENT", proof)]
    bodies = list_malformed_bodies(operation.body)
    bodies |= {name: _add_member(operation.body, value) for name, value in _NOT_CANONICAL.items()}
    bodies["a further member"] = _add_member(operation.body, b"1")
    for name, body in bodies.items():
        trial = f"{name} in a paid body of {operation.path}"
        answer = await walk.call("POST", operation.url, trial, body=body, headers=headers, status=422)
        if answer is not None:
            walk.expect(answer, _find_refusal_faults("rail", answer), f"the refusal of {trial}")
    good = json.dumps(operation.body).encode()
    await walk.call("POST", operation.url, "the right body", body=good, headers=headers, status=frozenset({200, 402}))
