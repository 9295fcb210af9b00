"""Shared parts of signature checks: the header's name, the signed string, and the verification of a delivery."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.engine.check import Case
from conformance.oracles.webhook_signature import SignatureHeader, verify
from conformance.outcome import Inconclusive
from conformance.surfaces.webhooks.constructions import find_construction, find_usual_string
from conformance.surfaces.webhooks.mac_keys import Form, decoded_keys, mac_key
from conformance.webhook_receiver.inbox import Place, Received

_SIGNATURE_FIELD = re.compile(r"x-[a-z0-9][a-z0-9-]*-signature", re.IGNORECASE)


def header_name(case: Case, delivery: Received) -> str | None:
    """Return the name of the signature header: from the profile, else the only field of its form, or None."""
    bound_name = case.profile.webhook_bindings.header
    word = case.profile.service_word
    if bound_name is not None or word is not None:
        return bound_name or f"X-{word}-Signature"
    names = {name.lower() for name, _ in delivery.arrival.headers if _SIGNATURE_FIELD.fullmatch(name)}
    # Two fields of this form are ambiguous, and a wrong choice would fail a correct target.
    return names.pop() if len(names) == 1 else None


def header_of(case: Case, delivery: Received) -> SignatureHeader | None:
    """Return a delivery's parsed signature header; None if it does not have exactly one."""
    name = header_name(case, delivery)
    return None if name is None else delivery.signature(name)


def usable_header(case: Case, delivery: Received) -> SignatureHeader:
    """Return a delivery's parsed signature header.

    Raises:
        Inconclusive: It has no usable one, which WH-SIG-01 and -02 judge.
    """
    header = header_of(case, delivery)
    if header is None or not header.is_usable:
        raise Inconclusive("a delivery has no signature header with a time and a v1, which WH-SIG-01 and -02 judge")
    return header


def place_of(delivery: Received) -> Place:
    """Return the destination of a delivery.

    Raises:
        Inconclusive: It arrived at no destination, so its secret is unknown.
    """
    if delivery.place is None:
        raise Inconclusive("a delivery came to a path that is no destination's, which WH-DELIV-01 judges")
    return delivery.place


def key_of(case: Case, place: Place) -> bytes:
    """Return the key that signs a destination's deliveries: as bound, else the secret's whole text."""
    return mac_key(place.secret, case.profile.webhook_bindings.key or "text")


def _open_keys(case: Case, place: Place) -> Iterator[tuple[Form, bytes]]:
    """Yield further keys that a secret may stand for, if the profile does not bind its form."""
    if case.profile.webhook_bindings.key is None:
        yield from decoded_keys(place.secret)


def _unbound_key(form: Form) -> Inconclusive:
    return Inconclusive(f'unbound: v1 is keyed with the secret read as {form}; give [webhook] key = "{form}"')


def signed_string(case: Case, delivery: Received) -> str:
    """Return the string that v1 covers: as declared in the profile, else the usual one that fits the delivery.

    Raises:
        Inconclusive: It is not declared, and no usual string fits.
    """
    bound_string = case.profile.webhook_bindings.signed_string
    if bound_string is not None:
        if "{body}" not in bound_string:
            raise Inconclusive(
                f"[webhook] signed_string = {bound_string!r} does not say where the body stands: {{body}}"
            )
        return bound_string
    header, place = usable_header(case, delivery), place_of(delivery)
    fitting_string = find_usual_string(header, key_of(case, place), delivery.arrival.body)
    if fitting_string is None:
        for form, key in _open_keys(case, place):
            if find_usual_string(header, key, delivery.arrival.body) is not None:
                raise _unbound_key(form)
        raise Inconclusive(
            "unbound: v1 covers none of the usual strings; give [webhook] signed_string, such as '{t}.{body}'"
        )
    return fitting_string


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of verifying a delivery.

    Attributes:
        holds: Whether v1 verifies with the destination's secret over the signed string.
        string: The signed string.
        hint: The known wrong way by which it was made, if any.
        is_raw: Whether it covers the body's bytes as delivered; None if that is unknown.
    """

    holds: bool
    string: str
    hint: str | None
    is_raw: bool | None


def verify_delivery(case: Case, delivery: Received) -> Verification:
    """Verify a delivery.

    Raises:
        Inconclusive: Its header is unusable, or the signed string or the form of the key is unknown.
    """
    header, place = usable_header(case, delivery), place_of(delivery)
    string = signed_string(case, delivery)
    body = delivery.arrival.body
    key = key_of(case, place)
    # The declared or usual way first. Only a signature that does not hold is compared with known mistakes, for the
    # hint.
    if verify(header, [key], string, body) is not None:
        return Verification(True, string, None, True)
    # A signature that fits another form of the secret shows an unbound key, not a wrong signature.
    for form, other_key in _open_keys(case, place):
        if verify(header, [other_key], string, body) is not None:
            raise _unbound_key(form)
    tenant = place.destination.tenant
    other_secrets = {one.name: one.secret for one in case.session.inbox.of_tenant(tenant) if one.name != place.name}
    way_found = find_construction(header, place.secret, body, other_secrets)
    form = case.profile.webhook_bindings.key or "text"
    whole = "the secret's whole text" if form == "text" else f"the secret read as {form}"
    bind = (
        f"[webhook] signed_string = {string!r}, [webhook] key = {form!r} and "
        f"[webhook.destinations.{place.name}] secret must be what you declare: bind them where they are not"
    )
    if way_found is None:
        return Verification(False, string, f"v1 fits no way that the suite knows; {bind}", None)
    description = f"{way_found.description}; it must be over {string!r} with {whole}"
    return Verification(False, string, f"{description}; {bind}", way_found.is_raw)
