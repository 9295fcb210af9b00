"""Observers of the open points of the agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.selftest.observations.a2a import list_calls, list_further_members, read_result
from conformance.selftest.observations.observed_exchanges import Exchange, Observer, Wire, join_names, observe_each
from conformance.surfaces.agent import A2A, CARD, EXPLAIN, HEALTH, LANDING_PAGE, LEGACY_CARD, SIGN, VERIFY
from conformance.surfaces.agent.answer_reader import ABSENT, at, leaves

# Where the variants of the reference put each part of an answer. An observer reports the first place that is present,
# which shows that the point was varied.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "validity": ("valid", "verified", "outcome", "assessment.signature.holds"),
    "errors": ("errors", "problems", "report.errors", "findings"),
    "base": ("signature_base", "canonical_signing_base", "base.lines", "signed.octets", "signing_base_b64"),
    "digest": ("content_digest", "recomputed", "digests", "body_digest"),
    "notes": ("fix_notes", "advice", "hints", "what_to_do"),
    "components": ("covered_components", "components", "covered", "covers"),
    "parameters": ("parameters", "input.params", "signature_parameters", "signature_params"),
    "signed": (
        "headers",
        "signed_request.headers",
        "request.header_fields",
        "request.headers",
        "http",
        "signature_input",
        "added",
    ),
    "key": (
        "public_key_hex",
        "demo_key",
        "verification.key",
        "verification_method",
        "public_key_pem",
        "demo_public_key",
    ),
}
_LABEL = re.compile(r"([a-z*][a-z0-9_.*-]*)=\(([^)]*)\)(.*)", re.DOTALL)
_TOO_OLD = re.compile("too[_-]old", re.IGNORECASE)
_PRIVATE = frozenset(
    {"private_key", "private_key_hex", "private_key_b64", "private_key_pem", "secret_key", "signing_key"}
)


def _results(wire: Wire, *paths: str) -> Iterator[Exchange]:
    """Yield the results of operations."""
    for exchange in wire.of("agent"):
        if exchange.path in paths and exchange.status == 200 and exchange.method == "POST" and exchange.object:
            yield exchange


def _place(kind: str, *paths: str) -> Observer:
    """Return an observer of the place that an answer uses, of several possible ones."""

    def observe(wire: Wire) -> Iterator[str]:
        for exchange in _results(wire, *paths):
            # The first place that exists: an answer may also repeat a value in a further place.
            match = [place for place in _PLACES[kind] if at(exchange.object, place) is not ABSENT]
            yield from match[:1]

    return observe


def _request(wire: Wire) -> Iterator[str]:
    for exchange in _results(wire, VERIFY):
        yield next((name for name in ("method", "envelope", "verb") if name in exchange.request_body), "other")
        # These forms may be drawn together, so each is a separate value.
        if "url" in exchange.request_body and "path" not in exchange.request_body:
            yield "a URL"
        if "signature_input" in exchange.request_body:
            yield "signature_input"


def _validity(wire: Wire) -> Iterator[str]:
    for exchange in _results(wire, VERIFY):
        for place in _PLACES["validity"]:
            value = at(exchange.object, place)
            if value is not ABSENT:
                yield f"{place}: {value}" if isinstance(value, str) else place


def _max_age(wire: Wire) -> Iterator[str]:
    for exchange in _results(wire, VERIFY):
        # The checks send this old signature without a limit of age, so the answer shows the agent's own limit.
        if "created=1735689600" in str(exchange.request_body) and "max_age_seconds" not in exchange.request_body:
            yield "young ones only" if _TOO_OLD.search(exchange.text) else "any"


def _sign_body(wire: Wire) -> Iterator[str]:
    return ("inside" if "to_sign" in exchange.request_body else "as it is" for exchange in _results(wire, SIGN))


def _word(wire: Wire) -> Iterator[str]:
    for exchange in _results(wire, EXPLAIN):
        verdicts = {
            name: exchange.object[name] for name in ("verdict", "result") if isinstance(exchange.object.get(name), str)
        }
        yield join_names(f"{name} {value}" for name, value in verdicts.items()) or "none"


def _members(wire: Wire) -> Iterator[str]:
    for exchange in _results(wire, VERIFY):
        open_members = {"checked", "signature_valid", "ok", "took_ms", "warnings", "engine"}
        yield join_names(open_members & exchange.object.keys()) or "none"


def _items(wire: Wire) -> Iterator[dict[str, Any]]:
    for exchange in wire.of("agent"):
        detail = exchange.object.get("detail") if exchange.status == 422 else None
        for item in detail if isinstance(detail, list) else ():
            if isinstance(item, dict):
                yield item


def _detail(wire: Wire) -> Iterator[str]:
    for item in _items(wire):
        yield f"{item.get('type')}: {join_names(item)}"


def _body_limit(exchange: Exchange) -> str | None:
    text = re.search(r"over ([0-9]+) bytes", exchange.text) if exchange.status == 413 else None
    return text[1] if text else None


def _refusals(exchange: Exchange) -> str | None:
    return join_names(exchange.object) if exchange.status in {404, 405, 413, 415, 429} and exchange.object else None


def _unparsable(wire: Wire) -> Iterator[str]:
    return (
        str(exchange["found"])
        for exchange in wire.list_judgements("AGENT-VERIFY-03", "200 for: the list is not closed")
    )


def _signatures(wire: Wire) -> Iterator[re.Match[str]]:
    """Yield label, cover and parameters of the demo signatures."""
    for exchange in _results(wire, SIGN):
        for _, value in leaves(exchange.object):
            match = _LABEL.fullmatch(value) if isinstance(value, str) and "\n" not in value else None
            if match is not None:
                yield match


def _of_signatures(tell: Callable[[re.Match[str]], str]) -> Observer:
    return lambda wire: (tell(match) for match in _signatures(wire))


def _parameter_names(match: re.Match[str]) -> str:
    return ", ".join(re.findall(r";([a-z]+)=", match[3])) or "none"


def _sign_digest(wire: Wire) -> Iterator[str]:
    for exchange in _results(wire, SIGN):
        for _, value in leaves(exchange.object):
            if isinstance(value, str) and re.match(r"sha-(256|512)=:", value):
                yield ", ".join(re.findall(r"sha-[0-9]+(?==)", value))


def _list_offers(exchange: Exchange) -> str | None:
    # The check offers the agent a private key, which a correct agent refuses or ignores.
    is_offer = exchange.path == SIGN and bool(_PRIVATE & exchange.request_body.keys())
    return str(exchange.status) if is_offer else None


def _openapi(wire: Wire) -> Iterator[Exchange]:
    for exchange in wire.of("agent"):
        if exchange.method == "GET" and exchange.status == 200 and isinstance(exchange.object.get("openapi"), str):
            yield exchange


def _contract(wire: Wire) -> Iterator[str]:
    for exchange in _openapi(wire):
        yield join_names(exchange.object.keys() & {"servers", "security", "components", "tags"}) or "nothing"


def _document(path: str) -> Observer:
    return lambda wire: (join_names(exchange.object) or "nothing" for exchange in wire.documents("agent", path))


def _card(wire: Wire) -> Iterator[str]:
    return (list_further_members(exchange.object) for exchange in wire.documents("agent", CARD))


def _legacy_card(wire: Wire) -> Iterator[str]:
    for exchange in wire.documents("agent", LEGACY_CARD):
        yield f"{'with' if 'protocolVersion' in exchange.object else 'without'} protocolVersion"


def _a2a(wire: Wire) -> Iterator[str]:
    for exchange in list_calls(wire, "agent"):
        if result := read_result(exchange):
            yield str(result.get("kind", join_names(result)))


def _rpc_errors(wire: Wire) -> Iterator[str]:
    for exchange in list_calls(wire, "agent"):
        error = exchange.object.get("error")
        # Only the error of an unknown method, which every agent must give: its text shows the drawn form.
        if isinstance(error, dict) and error.get("code") == -32601:
            words = min(len(str(error.get("message")).split()), 2)
            yield ("no text", "one word", "a sentence")[words] + (" and data" if "data" in error else "")


OBSERVERS: Mapping[str, Observer] = {
    "agent.request": _request,
    "agent.validity": _validity,
    "agent.errors": _place("errors", VERIFY),
    "agent.word": _word,
    "agent.base": _place("base", EXPLAIN),
    "agent.digest": _place("digest", EXPLAIN),
    "agent.notes": _place("notes", EXPLAIN),
    "agent.components": _place("components", EXPLAIN),
    "agent.parameters": _place("parameters", EXPLAIN),
    "agent.members": _members,
    "agent.detail": _detail,
    "agent.body-limit": observe_each(_body_limit, "agent"),
    "agent.refusals": observe_each(_refusals, "agent"),
    "agent.unparsable-headers": _unparsable,
    "agent.max-age": _max_age,
    "agent.sign-body": _sign_body,
    "agent.sign-request": _place("signed", SIGN),
    "agent.sign-key": _place("key", SIGN),
    "agent.sign-cover": _of_signatures(lambda match: match[2]),
    "agent.sign-parameters": _of_signatures(_parameter_names),
    "agent.sign-label": _of_signatures(lambda match: match[1]),
    "agent.sign-digest": _sign_digest,
    "agent.sign-offered-keys": observe_each(_list_offers, "agent"),
    "agent.openapi-path": lambda wire: (one.path for one in _openapi(wire)),
    "agent.openapi": _contract,
    "agent.card": _card,
    "agent.legacy-card": _legacy_card,
    "agent.health": _document(HEALTH),
    "agent.landing": _document(LANDING_PAGE),
    "agent.hint": _document(A2A),
    "agent.a2a": _a2a,
    "agent.rpc-errors": _rpc_errors,
}
