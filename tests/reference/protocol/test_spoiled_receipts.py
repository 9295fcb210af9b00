"""Receipts that an honest one was turned into: refused, and each taken by the mutant that it is for (8.4)."""

from __future__ import annotations

import asyncio
import base64
import itertools
import random
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.engine.check import Case
from conformance.surfaces.control_plane.issued_credentials import IssuedCredential, issue_receipt, spoil_receipt
from reference.addons.falcon_library import find_library
from reference.protocol import zk_receipts
from reference.protocol.credentials import Question
from reference.protocol.issuer_key_documents import keys_of_trust_set
from tests.reference.edited_modules import import_mutated

LIBRARY = find_library()
# What each is refused for, and the mutant that takes it.
SPOILED_RECEIPTS = {
    "the proof of another payment": ("proof_invalid", "remembered-proofs"),
    "a scalar with the group's order added": ("proof_invalid", "reduced-scalars"),
    "a byte after the proof": ("proof_invalid", "any-length"),
    "an honest proof that its issuer has not signed": ("sig_invalid", "unsigned"),
}


@pytest.fixture(scope="module")
def receipts() -> dict[str, IssuedCredential]:
    """The honest receipt, under no name, and what it was turned into."""
    names, numbers = SimpleNamespace(secret=lambda *_: None), itertools.count()
    session = SimpleNamespace(nonce="n", count=lambda: next(numbers))
    context = SimpleNamespace(rng=random.Random(1), session=session, client=SimpleNamespace(names=names))
    case = cast("Case", context)

    async def made_of_it() -> dict[str, IssuedCredential]:
        honest = await issue_receipt(case, "honest")
        return {"": honest, **await spoil_receipt(case, honest)}

    return asyncio.run(made_of_it())


def reasons(receipts: dict[str, IssuedCredential], judge_module: Any = zk_receipts) -> dict[str, str | None]:
    """Return what is wrong with each, the honest one first, all of their issuers being trusted, by one module."""
    question = Question(int(time.time()), 60)
    keys = keys_of_trust_set({credential.did: credential.key for credential in receipts.values()})
    return {
        words: judge_module.judge_receipt(credential.text, question, keys, LIBRARY, own_keys=[]).judgement.reason
        for words, credential in receipts.items()
    }


def list_accepted(reason_by_words: dict[str, str | None]) -> set[str]:
    return {words for words, reason in reason_by_words.items() if reason is None}


def judging_of(mutant: str) -> Any:
    """Return the module that judges receipts, with the edits of a mutant."""
    return import_mutated(f"zk-receipt-{mutant}", "reference.protocol.zk_receipts")


def test_only_the_honest_one_holds(receipts: dict[str, IssuedCredential]) -> None:
    """Each of the others for what is wrong with it."""
    assert reasons(receipts) == {"": None} | {words: reason for words, (reason, _) in SPOILED_RECEIPTS.items()}


@pytest.mark.parametrize("words", SPOILED_RECEIPTS)
def test_a_spoiled_receipt_has_a_mutant_that_takes_it_alone(words: str, receipts: dict[str, IssuedCredential]) -> None:
    """And the honest one, which is asked about first."""
    assert list_accepted(reasons(receipts, judging_of(SPOILED_RECEIPTS[words][1]))) == {"", words}


def test_a_transcript_without_the_payload_takes_nothing(receipts: dict[str, IssuedCredential]) -> None:
    """It refuses a proof that every other verifier accepts."""
    assert list_accepted(reasons(receipts, judging_of("no-payload"))) == set()


def test_receipts_differ_in_one_thing(receipts: dict[str, IssuedCredential]) -> None:
    """What was changed, and no other member; every issuer has a key of its own."""
    honest = receipts[""].payload

    def list_changes(one: IssuedCredential) -> Iterable[str]:
        return (name for name in honest if honest[name] != one.payload[name])

    changed_names = {words: list(list_changes(one)) for words, one in receipts.items() if words}
    assert list(changed_names.values()) == [["payment_id"], ["proof_b64"], ["proof_b64"], []]
    assert len({one.key for one in receipts.values()}) == len({one.did for one in receipts.values()}) == 5
    assert {len(base64.b64decode(one.payload["proof_b64"])) for one in receipts.values()} == {672, 673}
