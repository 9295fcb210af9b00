"""What the workers of one rail must have in common: the token secret and the service word.

A token of one would be unknown to the other, paid or not. So the first worker of a database says what they are, the
secret by a keyed fingerprint that gives nothing of it away, and one that differs does not start.
"""

from __future__ import annotations

import hmac

from reference.protocol.service_word import ServiceWord
from reference.store.shared_facts import SharedFacts
from reference.web.settings import Misconfigured

_SECRET, _WORD = "token_secret", "payable_core"


def fingerprint(secret: bytes) -> str:
    """Return what tells token secrets apart, bare hex."""
    return hmac.digest(secret, b"weldproof:token-secret-fingerprint:1", "sha256").hex()


async def agree(facts: SharedFacts, secret: bytes, word: ServiceWord) -> None:
    """See that this worker's secret and word are those of the database's other workers.

    Raises:
        Misconfigured: One is not.
    """
    used = await facts.agree(_WORD, word.payable_core)
    if used != word.payable_core:
        raise Misconfigured(
            f"WP_SERVICE_WORD: the workers of this database issue tokens of {used}, this one would of"
            f" {word.payable_core}, which they do not know; give it their word, or a database of its own"
        )
    if not hmac.compare_digest(await facts.agree(_SECRET, fingerprint(secret)), fingerprint(secret)):
        raise Misconfigured(
            "WP_RAIL_TOKEN_SECRET_FILE: the workers of this database use another token secret, and would not know the"
            " tokens of this one; give it their file, or a database of its own. If that file is lost, stop every"
            " worker and run `weldproof-rail adopt-token-secret`: what was quoted until then is not redeemed any more"
        )


async def adopt(facts: SharedFacts, secret: bytes, word: ServiceWord) -> None:
    """Make this secret and word those of the database's workers from now on."""
    await facts.replace(_WORD, word.payable_core)
    await facts.replace(_SECRET, fingerprint(secret))
