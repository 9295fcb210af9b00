"""Unpaid answers: the offered entries, the challenge tokens, leaks of paid results, and caching."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from conformance.engine import clock
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import challenge, pay, redeem

# Members in which x402 lets a server describe its paid answer by examples.
EXAMPLES = frozenset({"extensions", "outputSchema"})


TERMS = frozenset({"accepts", "resource"})


# An object with one member is too common to be recognised as a result.
FEWEST = 2


def entries(answer: Answer) -> list[Mapping[str, Any]]:
    """Return the `accepts` entries of an answer that are objects."""
    accepts = answer.read_object().get("accepts")
    return [entry for entry in accepts if isinstance(entry, dict)] if isinstance(accepts, list) else []


def references(answer: Answer) -> set[str]:
    """Return the challenge tokens of an answer."""
    extras = [entry.get("extra") for entry in entries(answer)]
    tokens = [extra.get("payment_reference") for extra in extras if isinstance(extra, dict)]
    return {token for token in tokens if isinstance(token, str) and token}


def find_request_example(answer: Answer) -> Any:
    """Return the example request in the bazaar extension of a 402, or None."""
    value: Any = answer.read_object()
    for name in ("extensions", "bazaar", "info", "input", "body"):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def find_leaks(answer: Answer, result_at: str | None = None) -> list[str]:
    """Return the places of a 402 with something that only a payment buys.

    That is a result by its name, an object with the members of the server's own example of a result, or a signed token.
    """
    # Extensions contain examples and signed offers, which are public.
    body = {name: member for name, member in answer.read_object().items() if name not in EXAMPLES}
    result_names = {"result", "receipt", "payable_receipt", (result_at or "").removeprefix("body:")}
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "payment-required"}
    named_results = [name for name in body if name in result_names and body[name] is not None]
    other_members = {name: member for name, member in body.items() if name not in TERMS}
    examples = [one.keys() for _, one in objects(example_of(answer), "") if len(one) >= FEWEST]
    similar_objects = [
        place for place, one in objects(other_members, "body") if any(names <= one.keys() for names in examples)
    ]
    # A challenge token may itself be a JWS, and every payer needs it.
    own_tokens = references(answer)
    return (
        named_results
        + similar_objects
        + [place for place, token in jose.tokens_in(body, headers) if token not in own_tokens]
    )


def example_of(answer: Answer) -> Any:
    """Return the example of a paid answer in the bazaar extension of a 402, or None."""
    value: Any = answer.read_object()
    for name in ("extensions", "bazaar", "info", "output", "example"):
        # Each level may be absent or of another type, because the answer is the target's.
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def objects(value: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every object in a value with its place."""
    if isinstance(value, Mapping):
        yield place, value
        for name, member in value.items():
            yield from objects(member, f"{place}.{name}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from objects(member, f"{place}[{number}]")


def cache_control(answer: Answer) -> str:
    """Return the Cache-Control of an answer."""
    return ", ".join(answer.headers.getall("Cache-Control", []))


def is_shareable(answer: Answer) -> bool:
    """Return whether the answer's own fields allow a shared cache to reuse it for another client."""
    parts = [part.strip().lower().partition("=") for part in cache_control(answer).split(",")]
    directives = {name.strip(): value.strip(' "') for name, _, value in parts}
    # A cached 402 would give several payers the same challenge token, and only one of them could
    # use it.
    if directives.keys() & {"no-store", "private"}:
        return False
    lives = [directives[name] for name in ("s-maxage", "max-age") if name in directives]
    if "public" in directives or any(life.strip("0") for life in lives):
        return True
    # Without any lifetime, a cache may estimate one (RFC 9111, 4.2.2), unless the answer
    # forbids it.
    return not lives and "no-cache" not in directives and _expires_later(answer)


def _expires_later(answer: Answer) -> bool:
    try:
        expires, date = (parsedate_to_datetime(answer.headers.get(name, "")) for name in ("Expires", "Date"))
        later = expires > date
    except (TypeError, ValueError):  # no date, or only one of the two with a zone
        return False
    return later


async def let_lapse(case: Case) -> None:
    """Let time pass until all challenges so far have lapsed.

    Raises:
        Inconclusive: The lifetime is not known.
        NodeCannotShow: The lane's chain does not follow the clock.
    """
    operation = case.session.catalog.operations[0]
    bound_ttl = case.profile.rail_bindings.challenge_ttl
    probe = await challenge(case, operation)
    # In x402, maxTimeoutSeconds has another meaning. Without a bound lifetime, a late payment shows
    # whether the challenge really lapsed.
    lifetime = bound_ttl or probe.entry(case.lane).get("maxTimeoutSeconds")
    if not isinstance(lifetime, int) or isinstance(lifetime, bool):
        raise Inconclusive("unbound: the lifetime is not known; bind [rail] challenge_ttl")
    await clock.pass_time(case, lifetime + 61)
    if bound_ttl is None:
        answer = await redeem(case, operation, await pay(case, probe, case.lane))
        if answer.status < 300:
            raise Inconclusive(f"unbound: served after {lifetime} s; bind [rail] challenge_ttl")
