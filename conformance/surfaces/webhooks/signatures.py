"""What the checks of signatures share: the header's name, the signed string, and whether a delivery verifies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.engine.check import Case
from conformance.oracles.webhook_signature import SignatureHeader, verify
from conformance.outcome import Inconclusive
from conformance.surfaces.webhooks.constructions import construction, usual_string
from conformance.surfaces.webhooks.mac_keys import Form, decoded_keys, mac_key
from conformance.webhook_receiver.inbox import Place, Received

_NAMED = re.compile(r"x-[a-z0-9][a-z0-9-]*-signature", re.IGNORECASE)


def header_name(case: Case, received: Received) -> str | None:
    """Return the name of the signature header: as the profile has it, else the one that has the interface's form.

    None where neither tells one.
    """
    bound = case.profile.webhook_bindings.header
    word = case.profile.service_word
    if bound is not None or word is not None:
        return bound or f"X-{word}-Signature"
    found = {name.lower() for name, _ in received.arrival.headers if _NAMED.fullmatch(name)}
    return found.pop() if len(found) == 1 else None


def header_of(case: Case, received: Received) -> SignatureHeader | None:
    """Return what a delivery's signature header says, None where it has not exactly one."""
    name = header_name(case, received)
    return None if name is None else received.signature(name)


def usable_header(case: Case, received: Received) -> SignatureHeader:
    """Return what a delivery's signature header says.

    Raises:
        Inconclusive: It has no usable one, which WH-SIG-01 and -02 judge.
    """
    header = header_of(case, received)
    if header is None or not header.is_usable:
        raise Inconclusive("a delivery has no signature header with a time and a v1, which WH-SIG-01 and -02 judge")
    return header


def place_of(received: Received) -> Place:
    """Return the destination that a delivery came to.

    Raises:
        Inconclusive: It came to none, so that nobody can tell its secret.
    """
    if received.place is None:
        raise Inconclusive("a delivery came to a path that is no destination's, which WH-DELIV-01 judges")
    return received.place


def key_of(case: Case, place: Place) -> bytes:
    """Return the key that a destination's deliveries are signed with: as bound, else the secret's whole text."""
    return mac_key(place.secret, case.profile.webhook_bindings.key or "text")


def _open_keys(case: Case, place: Place) -> Iterator[tuple[Form, bytes]]:
    """Yield the keys that a secret might give where nobody says how it is one."""
    if case.profile.webhook_bindings.key is None:
        yield from decoded_keys(place.secret)


def _unbound_key(form: Form) -> Inconclusive:
    return Inconclusive(f'unbound: v1 is keyed with the secret read as {form}; give [webhook] key = "{form}"')


def signed_string(case: Case, received: Received) -> str:
    """Return the string that v1 covers: as the operator declares it, else the usual one that a delivery fits.

    Raises:
        Inconclusive: It is not declared, and none is told by the delivery.
    """
    bound = case.profile.webhook_bindings.signed_string
    if bound is not None:
        if "{body}" not in bound:
            raise Inconclusive(f"[webhook] signed_string = {bound!r} does not say where the body stands: {{body}}")
        return bound
    header, place = usable_header(case, received), place_of(received)
    found = usual_string(header, key_of(case, place), received.arrival.body)
    if found is None:
        for form, key in _open_keys(case, place):
            if usual_string(header, key, received.arrival.body) is not None:
                raise _unbound_key(form)
        raise Inconclusive(
            "unbound: v1 covers none of the usual strings; give [webhook] signed_string, such as '{t}.{body}'"
        )
    return found


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying a delivery.

    Attributes:
        holds: Whether v1 verifies with the destination's secret over the signed string.
        string: The signed string.
        hint: Which known wrong way it was made by instead, where that can be told.
        is_raw: Whether it covers the body's bytes as delivered; None where that cannot be told.
    """

    holds: bool
    string: str
    hint: str | None
    is_raw: bool | None


def verification(case: Case, received: Received) -> Verification:
    """Verify a delivery.

    Raises:
        Inconclusive: Its header cannot be used, or nobody knows what v1 covers or how the secret is its key.
    """
    header, place = usable_header(case, received), place_of(received)
    string = signed_string(case, received)
    body = received.arrival.body
    key = key_of(case, place)
    if verify(header, [key], string, body) is not None:
        return Verification(True, string, None, True)
    for form, other in _open_keys(case, place):
        if verify(header, [other], string, body) is not None:
            raise _unbound_key(form)
    tenant = place.destination.tenant
    others = {one.name: one.secret for one in case.session.inbox.of_tenant(tenant) if one.name != place.name}
    found = construction(header, place.secret, body, others)
    form = case.profile.webhook_bindings.key or "text"
    whole = "the secret's whole text" if form == "text" else f"the secret read as {form}"
    bind = (
        f"[webhook] signed_string = {string!r}, [webhook] key = {form!r} and "
        f"[webhook.destinations.{place.name}] secret must be what you declare: bind them where they are not"
    )
    if found is None:
        return Verification(False, string, f"v1 fits no way that the suite knows; {bind}", None)
    told = f"{found.told}; it must be over {string!r} with {whole}"
    return Verification(False, string, f"{told}; {bind}", found.is_raw)
