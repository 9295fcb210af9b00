"""Notes on times, algorithm and tag: the difference, and the probable mistake (P-AG-04, P-AG-05)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from reference.protocol.message_signatures.diagnosis.suspect_trial import clip
from reference.protocol.message_signatures.policy import Demands

# Unix seconds reach this number in the year 5138, so a larger one is surely in milliseconds.
_MILLISECONDS = 10**11
_HOUR = 3600
# As a moment this is in January 1970. A signer that sends it means a duration.
_LONGEST_LIFETIME = 10**6
_OF_JOSE = {"eddsa": "JOSE", "hs2019": "an older draft", "ed25519": "this registry, in lower case"}
_UNITS = ((86400, "d"), (_HOUR, "h"), (60, "min"), (1, "s"))


def policy_notes(
    code: str, demands: Demands, parameters: Mapping[str, Any], *, algorithm: str, now: int, skew: int
) -> Iterator[str]:
    """Yield what can be said about one fault in the parameters.

    Args:
        code: The fault.
        demands: What the caller demands.
        parameters: The signature's parameters.
        algorithm: What the expected key is for.
        now: The moment of judgement.
        skew: Seconds by which clocks may differ.
    """
    note_writer = _NOTE_WRITERS.get(code)
    if note_writer is not None:
        yield from note_writer(demands, parameters, now, skew)
    if code == "alg_not_allowed":
        yield from _note_algorithm(demands, parameters, algorithm)


def _note_in_future(demands: Demands, parameters: Mapping[str, Any], now: int, skew: int) -> Iterator[str]:
    del demands
    created = parameters["created"]
    if created >= _MILLISECONDS:
        yield (
            f"created={created} looks like milliseconds; in seconds it is {created // 1000} ({_utc(created // 1000)})."
            " Sign created as integer seconds since 1970."
        )
        return
    ahead = created - now
    yield (
        f"created is {_utc(created)}, {_span(ahead)} ahead of the judging clock, {_utc(now)}; {skew} s are allowed. Set"
        f" the signer's clock back by {ahead} s, or the judge's forward.{_zone(ahead)}"
    )


def _note_expired(demands: Demands, parameters: Mapping[str, Any], now: int, skew: int) -> Iterator[str]:
    del demands
    expires, created = parameters["expires"], parameters.get("created")
    if 0 <= expires < _LONGEST_LIFETIME:
        yield f"expires={expires} looks like a lifetime; it is a moment in seconds since 1970."
    elif created is not None and expires < created:
        yield f"expires lies {_span(created - expires)} before created: it was never valid. Set it after created."
    else:
        late = now - expires
        yield (
            f"expires was {_utc(expires)}, {_span(late)} before the judging clock, {_utc(now)}; {skew} s are allowed."
            f" Sign again, and send at once.{_zone(late)}"
        )


def _note_too_old(demands: Demands, parameters: Mapping[str, Any], now: int, skew: int) -> Iterator[str]:
    del skew
    created = parameters.get("created")
    if created is not None:
        yield f"created was {_utc(created)}, {_span(now - created)} ago; max_age_seconds is {demands.max_age_seconds}."


def _note_tag(demands: Demands, parameters: Mapping[str, Any], now: int, skew: int) -> Iterator[str]:
    del now, skew
    tag = parameters.get("tag")
    found_tag = "none" if tag is None else f'"{clip(tag)}"'
    yield f'The tag "{clip(demands.expected_tag or "")}" is expected, but the signature has {found_tag}.'


def _note_algorithm(demands: Demands, parameters: Mapping[str, Any], algorithm: str) -> Iterator[str]:
    alg = parameters.get("alg", algorithm)
    if alg != algorithm:
        origin = _OF_JOSE.get(alg.lower())
        origin_note = f" {clip(alg)} is the name of {origin}." if origin else ""
        yield f'alg is "{clip(alg)}" and the expected key is for "{algorithm}".{origin_note}'
    if algorithm not in demands.allowed_algorithms:
        yield f'allowed_algorithms does not hold "{algorithm}", which the expected key is for.'


_NOTE_WRITERS: Mapping[str, Callable[[Demands, Mapping[str, Any], int, int], Iterator[str]]] = {
    "created_in_future": _note_in_future,
    "expired": _note_expired,
    "too_old": _note_too_old,
    "tag_mismatch": _note_tag,
}


def _utc(unix: int) -> str:
    try:
        return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{unix} s"


def _span(seconds: int) -> str:
    """Return a span as its two largest units."""
    parts, remainder = [], abs(seconds)
    for size, unit in _UNITS:
        if remainder >= size:
            parts.append(f"{remainder // size} {unit}")
            remainder %= size
    return " ".join(parts[:2]) or "0 s"


def _zone(seconds: int) -> str:
    # Differences of whole hours, two minutes allowed, are the mark of a local time that was taken for UTC.
    hours, remainder = divmod(seconds + 120, _HOUR)
    if 1 <= hours <= 14 and remainder <= 240:
        return f" It is {hours} h almost exactly: was local time taken for UTC?"
    return ""
