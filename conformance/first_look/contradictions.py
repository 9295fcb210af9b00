"""Contradictions between the terms in the header and in the body of one 402.

The HTTP transport of x402 version 2 leaves the body to the server. A body may leave offers out, add further ones, say
more of each, or carry terms of version 1 for clients that read those alone. Two copies of one version contradict each
other where an offer of one scheme on one network has another price, payee or asset, or where no network is common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

_TERMS: Final = ("asset", "payTo", "amount")
# Scheme and network, to the terms that are demanded there.
_Offers: TypeAlias = dict[tuple[Any, Any], list[tuple[Any, ...]]]


def contradictions(header: Mapping[str, Any], body: Mapping[str, Any]) -> list[str]:
    """Return the contradictions of body and header in words; none if their versions differ."""
    if header.get("x402Version") != body.get("x402Version"):
        return []
    header_offers, body_offers = _offers(header), _offers(body)
    if header_offers and body_offers and not header_offers.keys() & body_offers.keys():
        return ["header and body have no network in common"]
    return [
        text
        for place in header_offers.keys() & body_offers.keys()
        for text in _differences(place, header_offers[place], body_offers[place])
    ]


def _differences(place: tuple[Any, Any], header: list[tuple[Any, ...]], body: list[tuple[Any, ...]]) -> Iterator[str]:
    # If there are several offers for a place, one copy may leave some of them out.
    if all(one in header for one in body) or all(one in body for one in header):
        return
    has_gaps = False
    for number, name in enumerate(_TERMS):
        # A term that one copy leaves out contradicts nothing: a body may call the price `maxAmountRequired`.
        header_values, body_values = (
            [one[number] for one in offers if one[number] is not None] for offers in (header, body)
        )
        has_gaps = has_gaps or len(header_values) < len(header) or len(body_values) < len(body)
        if not all(one in header_values for one in body_values) and not all(
            one in body_values for one in header_values
        ):
            terms = f"{header_values[0]!r:.80} in the header and {body_values[0]!r:.80} in the body"
            yield f"{name} on {place[1]!r:.80} is {terms}"
            return
    if not has_gaps:
        yield f"the offers on {place[1]!r:.80} combine asset, payTo and amount differently in header and body"


def _offers(document: Mapping[str, Any]) -> _Offers:
    accepts = document.get("accepts")
    offers: _Offers = {}
    for offer in accepts if isinstance(accepts, list) else ():
        if isinstance(offer, dict):
            place = (_plain(offer.get("scheme")), _plain(offer.get("network")))
            offers.setdefault(place, []).append(tuple(_plain(offer.get(name)) for name in _TERMS))
    return offers


def _plain(value: Any) -> Any:
    """Return a value for the comparison of offers; a hexadecimal address in lower case."""
    if isinstance(value, str):
        return value.lower() if value.lower().startswith("0x") else value
    return value if isinstance(value, int | float) or value is None else repr(value)
