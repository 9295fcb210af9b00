"""Hints for breaches whose likely reason is a binding of the profile, not the target.

Each function returns a hint that names the key, or None if the target is the likely reason.
"""

from __future__ import annotations

from collections.abc import Collection

from conformance.http.client import Answer

# The interface leaves open which of the two a target uses.
_NOT_ADMITTED = frozenset({401, 403})


def of_credentials(answer: Answer) -> str | None:
    """Return the hint for a call whose tenant credentials were not accepted."""
    if answer.status not in _NOT_ADMITTED:
        return None
    return (
        f"The tenant's credentials were answered {answer.status}: is what [tenants.NAME] key names a key of that "
        "tenant, in force, and [tenants.NAME] id its id? If so, accept them"
    )


def of_sound_message(status: int, validity: bool | None) -> str | None:
    """Return the hint for a valid message that was not accepted as valid.

    Args:
        status: The status of verify's answer.
        validity: The validity in its answer; None if it has none.
    """
    if status == 200 and validity is None:
        return (
            "Its answer says nothing about validity at the place that is read: see [agent] validity_at, and "
            "validity_words for what its words mean"
        )
    # These statuses say that the message was read, and perhaps not completely. Any other status is
    # the target's own fault.
    if status in {200, 400, 422}:
        return (
            "Does all that was signed reach the verifier? [agent] verify_body says how: its components by {method}, "
            "{scheme}, {authority} and {path}, keyid and alg by the fields of {headers}, the content by {body_b64}, "
            "and the key by {public_key_hex} or {did_key}. If so, rebuild the signature base from these"
        )
    return None


def of_content() -> str:
    """Return the hint for a digest that differs from the digest of the content."""
    return (
        "Does the content reach the agent? [agent] verify_body, or explain_body where it is bound, says how, by "
        "{body_b64} or {body}. If so, compute the digest from it, every time"
    )


def of_page(name: str, description: str, selectors: Collection[str], missing_names: Collection[str]) -> str | None:
    """Return the hint for a value that the checkout page does not seem to show.

    Args:
        name: Its name in the profile, such as `address`.
        description: The same for a reader.
        selectors: The names that the profile binds.
        missing_names: Those of them that find nothing on the page.
    """
    key = f"[gateway.checkout_selectors] {name}"
    if name in missing_names:
        return f"{key} finds nothing on the page: bind the element that shows {description}, or show it there"
    if name not in selectors:
        return f"If the page shows {description}, bind its element as {key}; else show it"
    return None


def of_spent(status: int, allowed_statuses: Collection[int]) -> str | None:
    """Return the hint for a spent payment that was refused with an unexpected client error."""
    # 429 is a rate limit and says nothing about the payment.
    if not 400 <= status < 500 or status in {429, *allowed_statuses}:
        return None
    return f"If {status} is how the rail refuses a payment that bought something, bind [rail] spent_status"


def of_price(is_bound: bool) -> str | None:
    """Return the hint for a price other than the expected one, which is the usual price if unbound."""
    return None if is_bound else "If the rail sells it at another price, bind [rail] price_receipt_verify"


def of_calls(host: str) -> str:
    """Return the hint for a service of the suite that the control plane did not call."""
    return (
        f"Can the control plane reach the suite at {host} ([hub] listen_host, reach_host), and does [hub] service_body "
        "say the address where it reads it? If so, call each registered service's health address"
    )


def of_posture(name_at: str | None) -> str:
    """Return the hint for a registered service that the posture does not seem to list."""
    if name_at is None:
        return "If the posture lists it, bind [hub] posture_name_at, the place of a service's name; else list it"
    return f"[hub] posture_name_at is {name_at}: is that the place of a service's name? If so, list each service"


def of_chain(is_bound: bool) -> str:
    """Return the hint for a log whose entries do not seem to be linked."""
    key = "[hub.audit_chain] prev and mac"
    return (
        f"Are {key} the members that link an entry to the one before it? If so, link each"
        if is_bound
        else f"If an entry names the one before it, bind {key}; else give it the MAC of that one"
    )


def of_time(tolerance: float) -> str:
    """Return the hint for a delivery whose time differs too much from its arrival."""
    return (
        f"Sign each attempt with the time at which it is sent; if the interface of the target grants more than "
        f"{tolerance:g} s, bind [webhook] tolerance, and see that both clocks are right"
    )
