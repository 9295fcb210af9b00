"""RAIL-402-25 on Base: the code of each fault that an authorization can have (5.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, judge_wrong_payment
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.base.authorization import Authorization, nonce_of

_NONCE_SIZE, _SIGNATURE_SIZE = 32, 64
_AN_HOUR = 3600
_WORD_SIZE = 32
# ERC-6492: the last 32 bytes of a signature of a wallet that is not deployed yet.
_ENVELOPE_SUFFIX = bytes.fromhex("6492" * 16)


@check(
    ROW,
    surface="rail",
    lane="base",
    fix="Check an authorization in the order of 5.5, and answer with the code of the first fact that is wrong.",
)
async def codes_of_wrong_authorizations(case: Case) -> None:
    """An authorization with one fault is answered with the code of that fault, by REST and over A2A.

    Signs for each challenge an authorization with one fault: another recipient, one unit more or less, a nonce that
    differs in one bit of each eighth or is made of another text, a window that is over or not open yet, a signature of
    another key, with one bit changed or in the envelope of a contract wallet, an empty account, and an authorization
    that its payer cancelled. Expects the code of 5.5 for each.
    """
    payer, operations = await get_base_payer(case), case.session.catalog.operations
    stakes = FundedChallenges(case, payer)
    now, stranger = await payer.block_time(), await payer.new_account()
    cancelled, poor = "cancelled by its payer", "of an empty account"
    changes: Mapping[str, tuple[str, Callable[[FundedChallenge], Mapping[str, Any]]]] = {
        "to another account": ("wrong_recipient", lambda _: {"to": stranger.address}),
        "to the payer itself": ("wrong_recipient", lambda stake: {"to": stake.account.address}),
        "one unit less": ("wrong_amount", lambda stake: {"value": stake.price - 1}),
        "one unit more": ("wrong_amount", lambda stake: {"value": stake.price + 1}),
        **{
            f"bit {place * 8} of the nonce changed": ("weld_mismatch", _flip_nonce(case, place))
            for place in (0, 4, 8, 12, 15, 16, 20, 24, 28, _NONCE_SIZE - 1)
        },
        **{
            f"a nonce of the token {name}": ("weld_mismatch", _make_nonce(case, edit))
            for name, edit in (
                ("in upper case", str.upper),
                ("and a space", "{} ".format),
                ("in quotes", '"{}"'.format),
            )
        },
        "expired a second ago": ("authorization_expired", lambda _: {"valid_before": now - 1}),
        "valid for ten more seconds": ("authorization_expired", lambda _: {"valid_before": now + 10}),
        "valid in an hour": ("authorization_not_yet_valid", lambda _: {"valid_after": now + _AN_HOUR}),
        "signed by a stranger": ("invalid_signature", lambda _: {"key": stranger.key}),
        cancelled: ("authorization_used", lambda _: {}),
        poor: ("insufficient_funds", lambda _: {}),
    }
    edits: Mapping[str, Callable[[Authorization], Authorization]] = {
        "with the other s": lambda given: given.with_other_s(),
        "with a compact signature": lambda given: given.compact(),
        "with v 29": lambda given: given.with_recovery(29),
        "in the envelope of a contract wallet": _wrap_for_contract_wallet,
        **{
            f"byte {place} of the signature changed": _flip_signature(place)
            for place in (1, 16, 31, 33, 48, _SIGNATURE_SIZE - 1)
        },
    }

    async def attempt(number: int, name: str) -> None:
        code, change = changes.get(name, ("invalid_signature", lambda _: {}))
        # Money for three prices, so that a greater value is refused for itself.
        stake = await stakes.open_challenge(operations[number % len(operations)], prices=0 if name == poor else 3)
        authorization = await stake.sign(**change(stake))
        if name in edits:
            authorization = edits[name](authorization)
        if name == cancelled:
            await payer.cancel(stake.account, authorization)
        await judge_wrong_payment(case, WrongPayment(name, stake.quote, authorization.proof(), code))

    await run_concurrently(attempt(number, name) for number, name in enumerate([*changes, *edits]))


def _flip_nonce(case: Case, place: int) -> Callable[[FundedChallenge], Mapping[str, Any]]:
    def change(stake: FundedChallenge) -> Mapping[str, Any]:
        nonce = bytearray(nonce_of(stake.quote.reference(case.lane)))
        nonce[place] ^= 1
        return {"nonce": bytes(nonce)}

    return change


def _make_nonce(case: Case, edit: Callable[[str], str]) -> Callable[[FundedChallenge], Mapping[str, Any]]:
    return lambda stake: {"nonce": nonce_of(edit(stake.quote.reference(case.lane)))}


def _wrap_for_contract_wallet(given: Authorization) -> Authorization:
    """Return the authorization with its signature in the envelope of ERC-6492: factory, call, signature, and suffix."""
    # The ABI encoding of (address, bytes, bytes): the factory, no call, and the signature of 65 bytes in three words.
    words = (0x11, 0x60, 0x80, 0, len(given.signature))
    wrapped = b"".join(word.to_bytes(_WORD_SIZE, "big") for word in words) + given.signature.ljust(
        3 * _WORD_SIZE, b"\0"
    )
    return given.with_changes(signature=wrapped + _ENVELOPE_SUFFIX)


def _flip_signature(place: int) -> Callable[[Authorization], Authorization]:
    def change(given: Authorization) -> Authorization:
        raw = bytearray(given.signature)
        raw[place] ^= 1
        return given.with_changes(signature=bytes(raw))

    return change
