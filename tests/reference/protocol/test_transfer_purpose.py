"""What a Solana transfer is for, read off its transaction (decision record 0045)."""

from __future__ import annotations

import itertools

import pytest

from reference.protocol.observed_transaction import ObservedTransaction, Transfer, TxStatus
from reference.protocol.transfer_purpose import (
    assign_links,
    checkout_reference,
    checkout_token,
    is_for_a_call,
    is_for_links,
)

FIRST_TOKEN, OTHER_TOKEN = "AAECAwQFBgcICQoLDA0ODw", "BBECAwQFBgcICQoLDA0ODw"
LINK, OTHER_LINK = checkout_reference("weldproof", FIRST_TOKEN), checkout_reference("weldproof", OTHER_TOKEN)
CALL, OWN = "a rail's reference", "a wallet's own account"


def build_transaction(memos: tuple[str, ...], *accounts: tuple[str, ...]) -> ObservedTransaction:
    """Return a transaction with memos and a transfer for each tuple of further accounts."""
    transfers = tuple(
        Transfer(place, "USDC", "PAYER", "ACCOUNT", 1, accounts=one) for place, one in enumerate(accounts)
    )
    return ObservedTransaction(TxStatus.CONFIRMED, transfers=transfers, memos=tuple(one.encode() for one in memos))


MEMO, SECOND = f"weldproof:{FIRST_TOKEN}", f"weldproof:{OTHER_TOKEN}"
# Memos and further accounts by transfer; for each transfer whether it is for links.
CASES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...], list[bool]]] = {
    "a call": ((), ((CALL,),), [False]),
    "a call, another memo": (
        ("thank you", "otherword:" + FIRST_TOKEN, "weldproof:", "weldproof:a b"),
        ((CALL,),),
        [False],
    ),
    "a link": ((MEMO,), ((),), [True]),
    "a link by its code": ((MEMO,), ((LINK,),), [True]),
    "a link by its code, a wallet's own account": ((MEMO,), ((OWN, LINK),), [True]),
    "a link, a wallet's own account": ((MEMO,), ((OWN,),), [True]),
    "a link that does not exist": (("weldproof:x",), ((CALL,),), [True]),
    "one for both": ((MEMO,), ((CALL,),), [True]),
    "one for both, both named": ((MEMO,), ((CALL, LINK),), [True]),
    "a call and a link": ((MEMO,), ((CALL,), ()), [False, True]),
    "a call and a link by its code": ((MEMO,), ((LINK,), (CALL,)), [True, False]),
    "a call and two links": ((MEMO, SECOND), ((LINK,), (CALL,), (OTHER_LINK,)), [True, False, True]),
    "two calls and a link": ((MEMO,), ((CALL,), ("another",), ()), [False, False, True]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_transfer_is_for(name: str) -> None:
    """Each transfer is for links or for calls, and with a link's memo there, for one of the two."""
    memos, accounts, expected = CASES[name]
    transaction = build_transaction(memos, *accounts)
    assert expected == [is_for_links(one, transaction, "weldproof") for one in transaction.transfers]
    if expected != [False]:
        assert expected == [not is_for_a_call(one, transaction, "weldproof") for one in transaction.transfers]


def test_no_transfer_is_for_both() -> None:
    """Over every transaction of up to three transfers and two memos, a link and a call never take the same one."""
    ways = [(), (LINK,), (OTHER_LINK,), (CALL,), (OWN, LINK), (CALL, LINK)]
    for memos in ((MEMO,), (SECOND,), (MEMO, SECOND)):
        for accounts in itertools.chain(*(itertools.product(ways, repeat=count) for count in (1, 2, 3))):
            transaction = build_transaction(memos, *accounts)
            for transfer in transaction.transfers:
                assert is_for_links(transfer, transaction, "weldproof") is not is_for_a_call(
                    transfer, transaction, "weldproof"
                )


def test_each_link_has_its_place() -> None:
    """By its reference; the others in the order of their memos; no transfer has two."""
    assert dict(assign_links(build_transaction((MEMO, SECOND), (), ()), "weldproof")) == {
        0: FIRST_TOKEN,
        1: OTHER_TOKEN,
    }
    assert dict(assign_links(build_transaction((MEMO, SECOND), (OTHER_LINK,), ()), "weldproof")) == {
        0: OTHER_TOKEN,
        1: FIRST_TOKEN,
    }
    assert dict(assign_links(build_transaction((MEMO, SECOND), ()), "weldproof")) == {0: FIRST_TOKEN}
    assert dict(assign_links(build_transaction((SECOND, MEMO), ()), "weldproof")) == {0: OTHER_TOKEN}
    assert dict(assign_links(build_transaction((MEMO,), (CALL,), ()), "weldproof")) == {1: FIRST_TOKEN}
    assert dict(assign_links(build_transaction((MEMO, MEMO), (), ()), "weldproof")) == {0: FIRST_TOKEN}
    assert dict(assign_links(build_transaction((), (CALL,)), "weldproof")) == {}


def test_a_memo_has_a_form() -> None:
    """The service word, a colon and a token."""
    assert checkout_token("weldproof", MEMO.encode()) == FIRST_TOKEN
    for other_memo in (
        b"",
        b"weldproof:",
        b"weldproof",
        b"Weldproof:" + FIRST_TOKEN.encode(),
        MEMO.encode() + b"\n",
        b"x" + b":y",
    ):
        assert checkout_token("weldproof", other_memo) is None
