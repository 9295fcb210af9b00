"""X-ROB-02: a secret that a caller sends never appears in an answer.

The interface has secrets in Authorization and X-PAYMENT. A caller that puts one elsewhere (in a path, an id, an unknown
member) makes a mistake, and an answer that repeats it there only warns.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from conformance.assertions.rail.proof_echo import judge_paid_proofs
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.engine.secret_echo import FIX, ROW
from conformance.fuzz.hostile_inputs import JSON
from conformance.http.secret_leaks import comes_back
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.control_plane.access import read_token
from conformance.surfaces.endpoints import Endpoint, list_endpoints
from conformance.surfaces.gateway.calls import CHECKOUT, create_link
from conformance.surfaces.gateway.calls import token_of as checkout_token_of

# Calls for an operation that only the target's OpenAPI document names.
_FEW = 10
_ONLY_DOCUMENTED = "calls that hold a secret, at operations that only a document names"
_AT_ONCE = 6
_UNUSUAL_PLACE = OpenPoint("the interface has no secret in this place", "P-CV-12")
_CREDENTIALS = frozenset(
    {"Bearer", "Bearer without a tenant", "Bearer and text after it", "another scheme", "Basic", "no scheme"}
)
_QUICK = sample("calls, one for each secret and place, at some operation")


@dataclass(frozen=True, slots=True)
class _Call:
    """One call that holds a secret at a place."""

    description: str
    endpoint: Endpoint
    secret: str
    headers: list[tuple[str, str]]
    body: bytes | None = None
    tail: str = ""
    # Whether a success may contain the text, because it is not a secret at this place. Only a refusal is then judged.
    refusals_only: bool = False
    # Why an answer that contains the secret only warns; None if it fails.
    beyond: str | None = _UNUSUAL_PLACE


@dataclass(slots=True)
class _Secrets:
    """The secrets of one surface: a real key if there is one, and made-up ones of the same shape."""

    case: Case

    def make_up(self, name: str, prefix: str = "") -> str:
        """Return a made-up secret of the usual shape, hidden in the log."""
        # The run's randomness makes the secret, so that the same run can be repeated with the same requests.
        bits = self.case.rng.getrandbits(256).to_bytes(32, "big")
        secret = prefix + encode_base64url(bits)
        self.case.client.names.secret(secret, name)
        return secret

    def list_keys(self) -> Iterator[tuple[str, str]]:
        """Yield API keys by name: the tenant's, and an unknown one of the same shape."""
        try:
            real = self.case.session.tenants.get().key
        except Inconclusive:
            yield "a made-up key", self.make_up("MADE_UP_KEY", "weld_")
        else:
            yield "the tenant's key", real
            # The same prefix takes a made-up key past a check of the shape, to the code that looks the key up.
            yield "a made-up key", self.make_up("MADE_UP_KEY", real.partition("_")[0] + "_" if "_" in real else "")


def _list_credential_calls(endpoint: Endpoint, key_name: str, key: str) -> Iterator[_Call]:
    tenant = [(name, value) for name, value in endpoint.headers.items() if name.lower() != "authorization"]
    base_headers = [*tenant, JSON] if endpoint.body is not None else tenant
    body = b"{}" if endpoint.body is not None else None
    bearer = ("Authorization", f"Bearer {key}")
    places: Mapping[str, list[tuple[str, str]]] = {
        "Bearer": [*base_headers, bearer],
        "Bearer without a tenant": [bearer, *([JSON] if body else [])],
        "Bearer and text after it": [*base_headers, ("Authorization", f"Bearer {key} x")],
        "another scheme": [*base_headers, ("Authorization", f"Token {key}")],
        "Basic": [*base_headers, ("Authorization", f"Basic {base64.b64encode(f'u:{key}'.encode()).decode()}")],
        "no scheme": [*base_headers, ("Authorization", key)],
        "X-Tenant-Id": [("X-Tenant-Id", key), bearer, *([JSON] if body else [])],
        "X-Api-Key": [*base_headers, ("X-Api-Key", key)],
        "a cookie": [*base_headers, ("Cookie", f"session={key}")],
        "Idempotency-Key": [*base_headers, bearer, ("Idempotency-Key", key + " " * 3 + "é")],
        # An error text often quotes the media type that it does not support.
        "the media type": [*tenant, bearer, ("Content-Type", f"text/{key}")],
    }
    for place, headers in places.items():
        beyond = None if place in _CREDENTIALS else _UNUSUAL_PLACE
        yield _Call(f"{key_name} as {place}", endpoint, key, headers, body, beyond=beyond)
    # A server that ignores the query or the rest of a path may name its own URL in a success, for example in a link.
    yield _Call(f"{key_name} in the query", endpoint, key, base_headers, body, f"?api_key={key}", refusals_only=True)
    yield _Call(f"{key_name} in the path", endpoint, key, base_headers, body, f"/{key}", refusals_only=True)


def _list_body_calls(endpoint: Endpoint, secret_name: str, secret: str) -> Iterator[_Call]:
    """Yield calls with a refused body that contains the secret: as a member, as a name, or in malformed JSON."""
    good_body = dict(endpoint.body or {})
    headers = [*endpoint.headers.items(), JSON]
    json_text = f'"{secret}"'.encode()
    bodies: dict[str, bytes] = {
        "the whole body": json_text,
        "text that is not JSON": b'{"api_key":' + json_text,
        "a name twice": b"{" + json_text + b":1," + json_text + b":2}",
        "members that are not known": b'{"api_key":' + json_text + b',"cancel_secret":' + json_text + b',"amount":{}}',
    }
    # A validator that quotes the rejected value, as many frameworks do by default, repeats the secret here.
    for name in good_body:
        bodies[f"an array as {name}"] = b'{"' + name.encode() + b'":[' + json_text + b"]}"
        bodies[f"the text {name}"] = b'{"' + name.encode() + b'":' + json_text + b"}"
    for place, body in bodies.items():
        yield _Call(f"{secret_name} in {place}", endpoint, secret, headers, body, refusals_only=True)


def _sample_calls(case: Case, calls: Sequence[_Call]) -> list[_Call]:
    """Return the calls to make: all of them, or in a quick look one for each secret and place."""
    return case.sample(calls, lambda call: call.description)


async def _judge(case: Case, call: _Call) -> None:
    answer = await case.client.call(
        call.endpoint.method, call.endpoint.url + call.tail, body=call.body, headers=call.headers
    )
    if call.refusals_only and answer.status < 400:
        return
    places = comes_back(answer, call.secret)
    where = {"operation": call.endpoint.label, "secret": call.description}
    expectation = "the secret nowhere in the answer"
    case.expect(ROW, not places, expectation, places or "nowhere", exchange=answer, where=where, beyond=call.beyond)


@check(ROW, surface="gateway", fix=FIX, quick=_QUICK)
async def keys_never_come_back(case: Case) -> None:
    """API keys that are sent, wherever they are sent, never appear in an answer of the gateway.

    Sends the tenant's key and a made-up one as every kind of credential, and in cookies, ids, queries, paths and
    refused bodies. Sends them to every operation that is known. Expects the key in no body and no header, in no
    encoding.
    """
    secrets = _Secrets(case)
    keys = list(secrets.list_keys())
    calls: list[_Call] = []
    for endpoint in await list_endpoints(case, "gateway"):
        endpoint_calls = [call for name, key in keys for call in _list_credential_calls(endpoint, name, key)]
        if endpoint.body is not None:
            endpoint_calls += _list_body_calls(endpoint, *keys[-1])
        calls += endpoint_calls if endpoint.is_stated else case.draw_part(endpoint_calls, _FEW, _ONLY_DOCUMENTED)
    await run_concurrently((_judge(case, call) for call in _sample_calls(case, calls)), at_once=_AT_ONCE)


@check(ROW, surface="gateway", fix=FIX)
async def cancel_secrets_never_come_back(case: Case) -> None:
    """A link's cancel secret that is sent never appears in an answer.

    Creates a link. If it has a cancel secret, tries a wrong secret, cancels with the right one, and cancels again.
    Expects no secret in any answer except that of the creation.
    """
    creation = await create_link(case)
    secret = creation.read_object().get("cancel_secret")
    token = checkout_token_of(creation)
    if not isinstance(secret, str) or token is None:
        case.mark_not_applicable(ROW, "links have no cancel secret")
        return
    base = case.session.gateway
    cancel = f"{CHECKOUT}{quote(token, safe='')}/cancel"
    endpoint = Endpoint("gateway", base, "POST", cancel, CHECKOUT + "{token}/cancel", {})
    wrong_secret = _Secrets(case).make_up("WRONG_CANCEL_SECRET")
    # The order matters: the second cancellation is refused because the link is cancelled, not because the secret is
    # wrong.
    for description, value in (("a wrong secret", wrong_secret), ("the secret", secret), ("the secret again", secret)):
        body = b'{"cancel_secret":"' + value.encode() + b'"}'
        await _judge(case, _Call(description, endpoint, value, [JSON], body))
    array_body = b'{"cancel_secret":["' + secret.encode() + b'"]}'
    await _judge(case, _Call("the secret in an array", endpoint, secret, [JSON], array_body))


@check(ROW, surface="rail", fix=FIX, quick=_QUICK)
async def payments_never_come_back(case: Case) -> None:
    """X-PAYMENT and other credentials that are sent never appear in an answer of the rail.

    Sends broken X-PAYMENT and PAYMENT-SIGNATURE headers and account keys to every operation that is known. Expects the
    header's value in no body and no header, in no encoding. Buys a call, and presents its proof again with the same
    request and with another. Expects that no answer repeats the whole proof. Every other check's requests with a proof
    or a key are judged in the same way.
    """
    secrets = _Secrets(case)
    calls: list[_Call] = []
    for endpoint in await list_endpoints(case, "rail"):
        text = secrets.make_up("X_PAYMENT")
        proof_value = base64.b64encode(b'{"tx_id":"' + text.encode() + b'","payment_reference":"x"}').decode()
        case.client.names.secret(proof_value, "X_PAYMENT_HEADER")
        base_headers = [*endpoint.headers.items(), *([JSON] if endpoint.body is not None else [])]
        body = b"{}" if endpoint.body is not None else None
        for name, beyond in (("X-PAYMENT", None), ("PAYMENT-SIGNATURE", _UNUSUAL_PLACE)):
            calls.append(_Call(f"text as {name}", endpoint, text, [*base_headers, (name, text)], body, beyond=beyond))
            proof = [*base_headers, (name, proof_value)]
            calls.append(_Call(f"a proof as {name}", endpoint, proof_value, proof, body, beyond=beyond))
        key = secrets.make_up("MADE_UP_KEY", "weld_")
        bearer = [*base_headers, ("Authorization", f"Bearer {key}")]
        calls.append(_Call("an account key", endpoint, key, bearer, body, beyond=None))
    judgements = [_judge(case, call) for call in _sample_calls(case, calls)]
    await run_concurrently([judge_paid_proofs(case, ROW), *judgements], at_once=_AT_ONCE)


def _list_made_up_calls(case: Case, endpoint: Endpoint, key: str) -> Sequence[_Call]:
    """Return the calls with a made-up key, or a sample of them if the interface does not name the operation."""
    calls = list(_list_credential_calls(endpoint, "a made-up key", key))
    if endpoint.body is not None:
        calls += _list_body_calls(endpoint, "a made-up key", key)
    return calls if endpoint.is_stated else case.draw_part(calls, _FEW, _ONLY_DOCUMENTED)


@check(ROW, surface="agent", fix=FIX, quick=_QUICK)
async def credentials_never_come_back_from_the_agent(case: Case) -> None:
    """Credentials that are sent to the agent, which needs none, never appear in its answers.

    Sends a made-up key as every kind of credential, and in cookies, ids, queries, paths and refused bodies. Sends it to
    every operation that is known. Expects the key in no body and no header, in no encoding.
    """
    key = _Secrets(case).make_up("MADE_UP_KEY", "weld_")
    calls: list[_Call] = []
    for endpoint in await list_endpoints(case, "agent"):
        calls += _list_made_up_calls(case, endpoint, key)
    await run_concurrently((_judge(case, call) for call in _sample_calls(case, calls)), at_once=_AT_ONCE)


@check(ROW, surface="control_plane", fix=FIX, quick=_QUICK)
async def the_admin_token_never_comes_back(case: Case) -> None:
    """Neither the admin token nor a made-up one appears in an answer of the control plane.

    Sends a made-up key as every kind of credential, and in ids, queries, paths and refused bodies. Sends the admin
    token as a credential. Both go to every operation that is known. Expects them in no body and no header, in no
    encoding.
    """
    key = _Secrets(case).make_up("MADE_UP_KEY", "weld_")
    token, reason = read_token(case)
    calls: list[_Call] = []
    for endpoint in await list_endpoints(case, "control_plane"):
        calls += _list_made_up_calls(case, endpoint, key)
        if token is not None:
            headers = [("Authorization", f"Bearer {token}"), *([JSON] if endpoint.body is not None else [])]
            body = b"{}" if endpoint.body is not None else None
            calls.append(_Call("the admin token", endpoint, token, headers, body, beyond=None))
    await run_concurrently((_judge(case, call) for call in _sample_calls(case, calls)), at_once=_AT_ONCE)
    # A profile that names a token which cannot be read has a fault. Without a name, a made-up token is all there is to
    # test.
    if token is None and case.profile.hub.token is not None:
        case.mark_inconclusive(ROW, reason)
