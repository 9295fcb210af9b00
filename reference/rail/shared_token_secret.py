"""The token secret and the service word, which the workers of one rail must share.

A worker with another secret would not know the tokens of the others, paid or not. So the first worker of a database
records both, and a worker that differs does not start. The secret is recorded as a keyed fingerprint.
"""

from __future__ import annotations

import hmac

from reference.protocol.service_word import ServiceWord
from reference.store.shared_values import SharedFacts
from reference.web.settings import Misconfigured

_SECRET, _WORD = "token_secret", "payable_core"


def fingerprint(secret: bytes) -> str:
    """Return the fingerprint that distinguishes token secrets, in hex."""
    # An HMAC under the secret itself: a reader of the database learns nothing that helps to guess the secret (decision
    # 0043).
    return hmac.digest(secret, b"weldproof:token-secret-fingerprint:1", "sha256").hex()


async def agree(facts: SharedFacts, secret: bytes, word: ServiceWord) -> None:
    """Check that this worker's secret and word are those of the database's other workers.

    Raises:
        Misconfigured: The secret or the word differs.
    """
    # `agree` records the first value and returns the recorded one: of two workers that start together, one wins.
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
