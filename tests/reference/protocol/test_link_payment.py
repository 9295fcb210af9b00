"""What a link asks of its chain, and what pays it (3.5, P-CK-06, P-CK-08)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.eip3009 import nonce_of
from reference.protocol.link_payment import (
    LINK,
    LinkEnding,
    LinkState,
    LinkTerms,
    NotPaid,
    choose_transfer,
    is_on_its_way,
    match_transfers,
    select_paying,
)
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, AuthorizationUsed, ObservedTransaction, Transfer, TxStatus
from reference.protocol.service_word import ServiceWord
from reference.protocol.solana_transfers import associated_account

TOKEN = "AAECAwQFBgcICQoLDA0ODw"
MEMO = ServiceWord().memo(TOKEN)
EXPIRY = 2_000
AMOUNT = 8_410_000
WALLET = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"
PAYEE = "0x00000000000000000000000000000000000000Aa"
PAYER = "0x00000000000000000000000000000000000000bb"
USDC = NETWORKS["base_sepolia"].asset_id
OTHER_NONCE = nonce_of("weldproof:another")

ON_ALGORAND = LinkTerms(NETWORKS["algorand_testnet"], "PAYEE", AMOUNT, MEMO, EXPIRY)
ON_SOLANA = LinkTerms(NETWORKS["solana_devnet"], WALLET, AMOUNT, MEMO, EXPIRY)
ON_BASE = LinkTerms(NETWORKS["base_sepolia"], PAYEE, AMOUNT, MEMO, EXPIRY)
ACCOUNT = associated_account(WALLET, NETWORKS["solana_devnet"].asset_id)


def transaction_with(*transfers: Transfer, **members: object) -> ObservedTransaction:
    """Return a final transaction of the link's last second."""
    transaction = ObservedTransaction(
        TxStatus.CONFIRMED, final=True, block_time=EXPIRY, sender="PAYER", transfers=transfers
    )
    return replace(transaction, **members)  # type: ignore[arg-type]


NOTED_TRANSFER = Transfer(0, "10458941", "PAYER", "PAYEE", AMOUNT)
ALGORAND = transaction_with(NOTED_TRANSFER, note=MEMO.encode())
TOKENS = Transfer(1, NETWORKS["solana_devnet"].asset_id, "PAYER", ACCOUNT, AMOUNT)
SOLANA = transaction_with(TOKENS, memos=(MEMO.encode(),))
LOGGED_TRANSFER = Transfer(4, USDC.lower(), PAYER, PAYEE.lower(), AMOUNT)
USED = AuthorizationUsed(3, USDC.lower(), PAYER, nonce_of(MEMO))
BASE = transaction_with(LOGGED_TRANSFER, sender=PAYER, authorizations_used=(USED,))
WORDS = bytes.fromhex(PAYEE[2:]).rjust(32, b"\0") + AMOUNT.to_bytes(32, "big")
CALL = bytes.fromhex("a9059cbb") + WORDS + MEMO.encode()
PLAIN = transaction_with(LOGGED_TRANSFER, sender=PAYER, called_contract=USDC.lower(), calldata=CALL)
SUFFIX = replace(ON_BASE, suffix_binds=True)

PAYING_CASES = {
    "algorand": (ON_ALGORAND, ALGORAND),
    "solana": (ON_SOLANA, SOLANA),
    "solana, unchecked": (ON_SOLANA, transaction_with(replace(TOKENS, asset=""), memos=(b"x", MEMO.encode()))),
    "base by nonce": (ON_BASE, BASE),
    "base by nonce, others beside it": (
        ON_BASE,
        transaction_with(
            replace(LOGGED_TRANSFER, ordinal=1, value=1),
            LOGGED_TRANSFER,
            authorizations_used=(replace(USED, ordinal=0, nonce=OTHER_NONCE), USED),
        ),
    ),
    "base by call data": (SUFFIX, PLAIN),
    "base by nonce, where call data binds too": (SUFFIX, BASE),
}


def reason(terms: LinkTerms, transaction: ObservedTransaction) -> str | None:
    try:
        select_paying(transaction, terms)
    except NotPaid as fault:
        return fault.reason
    return None


@pytest.mark.parametrize("name", PAYING_CASES)
def test_a_bound_transfer_pays(name: str) -> None:
    """A transfer of the amount, bound as its chain binds, pays in the very second of the expiry."""
    terms, transaction = PAYING_CASES[name]
    assert reason(terms, transaction) is None
    assert choose_transfer(select_paying(transaction, terms), (), terms) is not None


@pytest.mark.parametrize("name", PAYING_CASES)
def test_what_a_transaction_must_be(name: str) -> None:
    """It is known, did not fail, is final, and is in a block no later than the expiry."""
    terms, transaction = PAYING_CASES[name]
    assert reason(terms, ABSENT) == "tx_not_found"
    assert reason(terms, replace(transaction, status=TxStatus.FAILED)) == "tx_failed"
    assert reason(terms, replace(transaction, status=TxStatus.PENDING)) == "tx_not_confirmed"
    assert reason(terms, replace(transaction, final=False)) == "tx_not_confirmed"
    assert reason(terms, replace(transaction, block_time=EXPIRY + 1)) == "late_payment"


@pytest.mark.parametrize("name", PAYING_CASES)
def test_what_a_transfer_must_be(name: str) -> None:
    """It moves the network's asset to the payout address, enough of it, from another account."""
    terms, transaction = PAYING_CASES[name]

    def change_transfer(**members: object) -> ObservedTransaction:
        return replace(transaction, transfers=tuple(replace(one, **members) for one in transaction.transfers))  # type: ignore[arg-type]

    assert reason(terms, replace(transaction, transfers=())) == "wrong_asset"
    assert reason(terms, change_transfer(asset="31566704")) == "wrong_asset"
    assert reason(terms, change_transfer(clawback=True)) == "wrong_asset"
    assert reason(terms, change_transfer(receiver=PAYER)) == "wrong_recipient"
    assert reason(terms, change_transfer(value=AMOUNT - 1)) == "wrong_amount"


@pytest.mark.parametrize("name", ["algorand", "solana", "base by nonce"])
def test_more_than_the_amount_pays(name: str) -> None:
    """Overpayment counts."""
    terms, transaction = PAYING_CASES[name]
    more = tuple(replace(one, value=AMOUNT + 1) for one in transaction.transfers)
    assert reason(terms, replace(transaction, transfers=more)) is None


def test_parts_are_not_added_up() -> None:
    """Two halves under one memo pay nothing."""
    half = replace(TOKENS, value=AMOUNT // 2)
    assert reason(ON_SOLANA, transaction_with(half, replace(half, ordinal=2), memos=(MEMO.encode(),))) == "wrong_amount"


@pytest.mark.parametrize(
    "memo",
    [b"", MEMO.encode() + b" ", b" " + MEMO.encode(), MEMO.swapcase().encode(), TOKEN.encode(), b"x" + MEMO.encode()],
)
def test_another_memo_binds_nothing(memo: bytes) -> None:
    """Only the memo's own bytes bind, on each chain that keeps text."""
    assert reason(ON_ALGORAND, replace(ALGORAND, note=memo)) == "memo_mismatch"
    assert reason(ON_SOLANA, replace(SOLANA, memos=(memo,))) == "memo_mismatch"
    assert reason(SUFFIX, replace(PLAIN, calldata=CALL[: -len(MEMO)] + memo)) == "memo_mismatch"


def test_a_wallet_address_is_no_token_account() -> None:
    """On Solana the derived token account is credited; the wallet itself or another account of its is not meant."""
    assert (
        reason(ON_SOLANA, transaction_with(replace(TOKENS, receiver=WALLET), memos=(MEMO.encode(),)))
        == "wrong_recipient"
    )


UNBOUND_ON_BASE = {
    "no authorization": (),
    "another nonce": (replace(USED, nonce=OTHER_NONCE),),
    "two logs before": (replace(USED, ordinal=2),),
    "the log after": (replace(USED, ordinal=5),),
    "another contract's": (replace(USED, asset=PAYER),),
    "another payer's": (replace(USED, authorizer=PAYEE.lower()),),
}


@pytest.mark.parametrize("name", UNBOUND_ON_BASE)
def test_an_authorization_binds_the_transfer_directly_after_it(name: str) -> None:
    """The asset's own use of the memo's nonce binds the payer's Transfer that is the very next log (P-LN-03)."""
    assert reason(ON_BASE, replace(BASE, authorizations_used=UNBOUND_ON_BASE[name])) == "memo_mismatch"


UNBOUND_CALLS = {
    "to another contract": {"called_contract": PAYER},
    "a creation": {"called_contract": ""},
    "another function": {"calldata": b"\0\0\0\0" + CALL[4:]},
    "another receiver": {"calldata": CALL[:4] + bytes(32) + CALL[36:]},
    "another amount": {"calldata": CALL[:36] + (AMOUNT + 1).to_bytes(32, "big") + CALL[68:]},
    "something more": {"calldata": CALL + b"\0"},
    "nothing": {"calldata": b""},
    "sent by another than the payer": {"sender": PAYEE.lower()},
}


@pytest.mark.parametrize("name", UNBOUND_CALLS)
def test_call_data_binds_a_plain_transfer_sent_straight(name: str) -> None:
    """The memo follows the call data of the payer's own plain transfer to the asset, and nothing else does."""
    assert reason(SUFFIX, replace(PLAIN, **UNBOUND_CALLS[name])) == "memo_mismatch"  # type: ignore[arg-type]


def test_call_data_binds_nothing_where_it_is_switched_off() -> None:
    """Without WP_EVM_SUFFIX_BIND only the nonce binds."""
    assert reason(ON_BASE, PLAIN) == "memo_mismatch"


def test_the_payout_address_does_not_pay_itself() -> None:
    """A payment from the payout address is named as such, whatever the letters of an EVM address."""
    assert (
        reason(ON_ALGORAND, replace(ALGORAND, transfers=(replace(NOTED_TRANSFER, sender="PAYEE"),))) == "self_payment"
    )
    mine = replace(USED, authorizer=PAYEE.lower())
    own = replace(BASE, transfers=(replace(LOGGED_TRANSFER, sender=PAYEE.lower()),), authorizations_used=(mine,))
    assert reason(ON_BASE, own) == "self_payment"
    assert reason(ON_SOLANA, replace(SOLANA, transfers=(replace(TOKENS, sender=WALLET),))) == "self_payment"


def test_the_reason_tells_what_is_wrong_with_the_closest_transfer() -> None:
    """Of several transfers the one that came furthest names the reason."""
    strange, elsewhere, little = replace(TOKENS, asset="x"), replace(TOKENS, receiver=PAYER), replace(TOKENS, value=1)
    assert reason(ON_SOLANA, transaction_with(strange, elsewhere, memos=(MEMO.encode(),))) == "wrong_recipient"
    assert reason(ON_SOLANA, transaction_with(little, strange, elsewhere)) == "wrong_amount"


def test_a_network_without_a_lane_is_never_bound() -> None:
    """On a chain that is not watched no payment counts as paid."""
    terms = replace(ON_ALGORAND, network=NETWORKS["voi_mainnet"])
    transaction = replace(ALGORAND, transfers=(replace(NOTED_TRANSFER, asset=NETWORKS["voi_mainnet"].asset_id),))
    assert reason(terms, transaction) == "memo_mismatch"


def test_of_unused_transfers_the_exact_one_is_chosen_else_the_lowest() -> None:
    """A batched transaction pays several links, each transfer once (P-CK-08)."""
    more, exact, also = (
        replace(TOKENS, ordinal=place, value=AMOUNT + extra) for place, extra in ((1, 5), (2, 0), (3, 0))
    )
    transfers = select_paying(transaction_with(more, exact, also, memos=(MEMO.encode(),)), ON_SOLANA)
    assert transfers == (more, exact, also)
    assert choose_transfer(transfers, (), ON_SOLANA) == exact
    assert choose_transfer(transfers, {2}, ON_SOLANA) == also
    assert choose_transfer(transfers, {2, 3}, ON_SOLANA) == more
    assert choose_transfer(transfers, {1, 2, 3}, ON_SOLANA) is None


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), max_size=8, unique_by=lambda one: one[0]),
    st.sets(st.integers(0, 20)),
)
def test_a_choice_is_never_used_and_never_worse(drawn: list[tuple[int, int]], used: set[int]) -> None:
    """Whatever is offered: what is chosen is unused, and exact where anything unused is."""
    transfers = tuple(replace(TOKENS, ordinal=place, value=AMOUNT + extra) for place, extra in drawn)
    choice = choose_transfer(transfers, used, ON_SOLANA)
    free = [one for one in transfers if one.ordinal not in used]
    assert (choice is None) == (free == [])
    if choice is not None:
        assert choice in free
        assert choice.value == AMOUNT or all(one.value != AMOUNT for one in free)


@pytest.mark.parametrize("name", PAYING_CASES)
def test_what_is_on_its_way(name: str) -> None:
    """A right transaction that is not final yet is on its way; one that is late, wrong or failed is not."""
    terms, transaction = PAYING_CASES[name]
    assert is_on_its_way(replace(transaction, final=False), terms)
    assert is_on_its_way(replace(transaction, status=TxStatus.PENDING, final=False, block_time=0), terms)
    assert not is_on_its_way(replace(transaction, status=TxStatus.FAILED), terms)
    assert not is_on_its_way(replace(transaction, final=False, block_time=EXPIRY + 1), terms)
    assert not is_on_its_way(replace(transaction, final=False, transfers=()), terms)
    assert match_transfers(replace(transaction, final=False, block_time=EXPIRY + 1), terms)


def test_a_link_ends_once() -> None:
    """Active is the only state that something follows."""
    assert {LINK.starts(ending) for ending in LinkEnding} == {(LinkState.ACTIVE,)}
    assert set(LINK.finals) == set(LinkState) - {LinkState.ACTIVE}


def test_the_memo_and_what_derives_from_it() -> None:
    """The profile's example values."""
    assert MEMO == "weldproof:AAECAwQFBgcICQoLDA0ODw"
    assert nonce_of(MEMO) == "0x57887b9466581c1b94799bb3f12ab0d691a4c2e51bf94517a9042489ca6033fe"
    assert MEMO.encode().hex() == "77656c6470726f6f663a41414543417751464267634943516f4c4441304f4477"


def test_what_is_for_a_call_pays_no_link() -> None:
    """On Solana a transfer that names another account than the link's is a call's, where another is for the link."""
    welded_transfer, small = replace(TOKENS, accounts=("a reference",)), replace(TOKENS, ordinal=2, value=1)
    alone, beside = replace(SOLANA, transfers=(welded_transfer,)), replace(SOLANA, transfers=(welded_transfer, small))
    assert reason(ON_SOLANA, alone) is None
    assert reason(ON_SOLANA, beside) == "memo_mismatch"
    two_transfers = replace(SOLANA, transfers=(welded_transfer, replace(TOKENS, ordinal=2)))
    assert [one.ordinal for one in select_paying(two_transfers, ON_SOLANA)] == [2]
