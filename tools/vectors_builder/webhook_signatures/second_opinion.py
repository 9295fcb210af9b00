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
    verdict = by_pycryptodome(draft.input)
    if verdict != draft.stage:
        raise BuildFault(f"{draft.name}: PyCryptodome's receiver says {verdict}")
    stripe_verdict = None if draft.stage == "time" else by_stripe(draft.input)
    if stripe_verdict not in {None, draft.valid}:
        yield f"Stripe's receiver says {stripe_verdict}"


def by_pycryptodome(vector_input: Mapping[str, Any]) -> str:
    """Return the stage at which a delivery is refused, `valid` for none."""
    form = _HEADER.fullmatch(vector_input["header"])
    values = re.findall(rf",{vector_input['scheme']}=([^,]*)", vector_input["header"])
    digits = 64 if vector_input["scheme"] == "v1" else 96
    if form is None or not values or any(re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is None for value in values):
        return "header"
    if (
        not -vector_input["tolerance_seconds"]
        <= vector_input["now"] - int(form[1])
        <= vector_input["tolerance_seconds"]
    ):
        return "time"
    return VALID if _mac(vector_input, form[1]) in values else "signature"


def _mac(vector_input: Mapping[str, Any], t: str) -> str:
    before, after = vector_input["template"].replace("{t}", t).encode().split(b"{body}")
    message, secret = before + base64.b64decode(vector_input["body_b64"]) + after, vector_input["secret"].encode()
    if vector_input["scheme"] == "v1":
        return str(HMAC.new(secret, message, SHA256).hexdigest())
    salt = f"{vector_input['service_word'].lower()}-webhook-v2-pqc".encode()
    key = cast("bytes", HKDF(secret, 48, salt, SHA256, context=b"hmac-sha384-outbound"))
    return str(HMAC.new(key, message, SHA384).hexdigest())


def by_stripe(vector_input: Mapping[str, Any]) -> bool | None:
    """Return what Stripe's receiver says of a signature; None where it has no say."""
    if vector_input["scheme"] != "v1" or vector_input["template"] != "{t}.{body}":
        return None
    import stripe  # noqa: PLC0415 - of the extra `dev`

    try:
        stripe.WebhookSignature.verify_header(
            base64.b64decode(vector_input["body_b64"]), vector_input["header"], vector_input["secret"]
        )
    except UnicodeDecodeError:
        return None
    except stripe.SignatureVerificationError:
        return False
    return True
