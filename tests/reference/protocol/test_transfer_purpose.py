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

ONE, OTHER = "AAECAwQFBgcICQoLDA0ODw", "BBECAwQFBgcICQoLDA0ODw"
LINK, ANOTHER = checkout_reference("weldproof", ONE), checkout_reference("weldproof", OTHER)
CALL, OWN = "a rail's reference", "a wallet's own account"


def told(memos: tuple[str, ...], *accounts: tuple[str, ...]) -> ObservedTransaction:
    """Return a transaction with memos and a transfer for each tuple of further accounts."""
    moved = tuple(Transfer(place, "USDC", "PAYER", "ACCOUNT", 1, accounts=one) for place, one in enumerate(accounts))
    return ObservedTransaction(TxStatus.CONFIRMED, transfers=moved, memos=tuple(one.encode() for one in memos))


MEMO, SECOND = f"weldproof:{ONE}", f"weldproof:{OTHER}"
# Memos and further accounts by transfer; for each transfer whether it is for links.
CASES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...], list[bool]]] = {
    "a call": ((), ((CALL,),), [False]),
    "a call, another memo": (("thank you", "otherword:" + ONE, "weldproof:", "weldproof:a b"), ((CALL,),), [False]),
    "a link": ((MEMO,), ((),), [True]),
    "a link by its code": ((MEMO,), ((LINK,),), [True]),
    "a link by its code, a wallet's own account": ((MEMO,), ((OWN, LINK),), [True]),
    "a link, a wallet's own account": ((MEMO,), ((OWN,),), [True]),
    "a link that does not exist": (("weldproof:x",), ((CALL,),), [True]),
    "one for both": ((MEMO,), ((CALL,),), [True]),
    "one for both, both named": ((MEMO,), ((CALL, LINK),), [True]),
    "a call and a link": ((MEMO,), ((CALL,), ()), [False, True]),
    "a call and a link by its code": ((MEMO,), ((LINK,), (CALL,)), [True, False]),
    "a call and two links": ((MEMO, SECOND), ((LINK,), (CALL,), (ANOTHER,)), [True, False, True]),
    "two calls and a link": ((MEMO,), ((CALL,), ("another",), ()), [False, False, True]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_transfer_is_for(name: str) -> None:
    """Each transfer is for links or for calls, and with a link's memo there, for one of the two."""
    memos, accounts, expected = CASES[name]
    seen = told(memos, *accounts)
    assert expected == [is_for_links(one, seen, "weldproof") for one in seen.transfers]
    if expected != [False]:
        assert expected == [not is_for_a_call(one, seen, "weldproof") for one in seen.transfers]


def test_no_transfer_is_for_both() -> None:
    """Over every transaction of up to three transfers and two memos, a link and a call never take the same one."""
    ways = [(), (LINK,), (ANOTHER,), (CALL,), (OWN, LINK), (CALL, LINK)]
    for memos in ((MEMO,), (SECOND,), (MEMO, SECOND)):
        for accounts in itertools.chain(*(itertools.product(ways, repeat=count) for count in (1, 2, 3))):
            seen = told(memos, *accounts)
            for one in seen.transfers:
                assert is_for_links(one, seen, "weldproof") is not is_for_a_call(one, seen, "weldproof")


def test_each_link_has_its_place() -> None:
    """By its reference; the others in the order of their memos; no transfer has two."""
    assert dict(assign_links(told((MEMO, SECOND), (), ()), "weldproof")) == {0: ONE, 1: OTHER}
    assert dict(assign_links(told((MEMO, SECOND), (ANOTHER,), ()), "weldproof")) == {0: OTHER, 1: ONE}
    assert dict(assign_links(told((MEMO, SECOND), ()), "weldproof")) == {0: ONE}
    assert dict(assign_links(told((SECOND, MEMO), ()), "weldproof")) == {0: OTHER}
    assert dict(assign_links(told((MEMO,), (CALL,), ()), "weldproof")) == {1: ONE}
    assert dict(assign_links(told((MEMO, MEMO), (), ()), "weldproof")) == {0: ONE}
    assert dict(assign_links(told((), (CALL,)), "weldproof")) == {}


def test_a_memo_has_a_form() -> None:
    """The service word, a colon and a token."""
    assert checkout_token("weldproof", MEMO.encode()) == ONE
    for other in (b"", b"weldproof:", b"weldproof", b"Weldproof:" + ONE.encode(), MEMO.encode() + b"\n", b"x" + b":y"):
        assert checkout_token("weldproof", other) is None
