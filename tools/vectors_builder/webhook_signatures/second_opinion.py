"""Two receivers that share no code with the suite's judge.

A short one on PyCryptodome reads every vector; where it says otherwise, the build stops without asking for a reason.
Stripe's own (from the extra `dev`) reads what has its form: v1, the time, a point and a body of text. It looks at no
time to come, and times are left out altogether because it goes by the clock of the day.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from Crypto.Hash import HMAC, SHA256, SHA384
from Crypto.Protocol.KDF import HKDF

from tools.vectors_builder.drafting import VALID, Draft
from tools.vectors_builder.family import BuildFault

_HEADER: Final = re.compile(r"t=(0|[1-9][0-9]{0,14}),v1=[0-9a-f]{64}(?:,(?!t=)[^,=\s]+=[^,\s]*)*")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where Stripe's receiver disagrees with a draft's author.

    Raises:
        BuildFault: The verifier on PyCryptodome disagrees.
    """
    found = by_pycryptodome(draft.input)
    if found != draft.stage:
        raise BuildFault(f"{draft.name}: PyCryptodome's receiver says {found}")
    said = None if draft.stage == "time" else by_stripe(draft.input)
    if said not in {None, draft.valid}:
        yield f"Stripe's receiver says {said}"


def by_pycryptodome(given: Mapping[str, Any]) -> str:
    """Return the stage at which a delivery is refused, `valid` for none."""
    form = _HEADER.fullmatch(given["header"])
    values = re.findall(rf",{given['scheme']}=([^,]*)", given["header"])
    digits = 64 if given["scheme"] == "v1" else 96
    if form is None or not values or any(re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is None for value in values):
        return "header"
    if not -given["tolerance_seconds"] <= given["now"] - int(form[1]) <= given["tolerance_seconds"]:
        return "time"
    return VALID if _mac(given, form[1]) in values else "signature"


def _mac(given: Mapping[str, Any], t: str) -> str:
    before, after = given["template"].replace("{t}", t).encode().split(b"{body}")
    message, secret = before + base64.b64decode(given["body_b64"]) + after, given["secret"].encode()
    if given["scheme"] == "v1":
        return str(HMAC.new(secret, message, SHA256).hexdigest())
    salt = f"{given['service_word'].lower()}-webhook-v2-pqc".encode()
    key = cast("bytes", HKDF(secret, 48, salt, SHA256, context=b"hmac-sha384-outbound"))
    return str(HMAC.new(key, message, SHA384).hexdigest())


def by_stripe(given: Mapping[str, Any]) -> bool | None:
    """Return what Stripe's receiver says of a signature; None where it has no say."""
    if given["scheme"] != "v1" or given["template"] != "{t}.{body}":
        return None
    import stripe  # noqa: PLC0415 - of the extra `dev`

    try:
        stripe.WebhookSignature.verify_header(base64.b64decode(given["body_b64"]), given["header"], given["secret"])
    except UnicodeDecodeError:
        return None
    except stripe.SignatureVerificationError:
        return False
    return True
