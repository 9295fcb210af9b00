"""Our dollar token and Circle's, with the same calls in any order."""

from __future__ import annotations

from typing import Any

from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.token_pair import (
    KINDS,
    MOST,
    NOBODY,
    NOW,
    OPERATOR,
    OTHER_PAYER,
    OWNER,
    PAYEE,
    PAYER,
    STRANGER,
    TOKEN,
    Pair,
    agree_on_state,
    list_damaged_signatures,
    use,
)

PEOPLE = st.sampled_from([PAYER.address, OTHER_PAYER.address, PAYEE, OPERATOR, OWNER, NOBODY, TOKEN.address])
AMOUNTS = st.sampled_from([0, 1, 2, 5, 10, 11, 2**255 - 1, 2**255, MOST])
MINTED_AMOUNTS = st.sampled_from([0, 1, 5, 2**200])  # so much that Circle's limit of one minter is never met
PLAIN = st.one_of(
    st.tuples(
        PEOPLE,
        st.sampled_from(
            [
                *("transfer(address,uint256)", "approve(address,uint256)", "increaseAllowance(address,uint256)"),
                "decreaseAllowance(address,uint256)",
            ]
        ),
        st.tuples(PEOPLE, AMOUNTS),
    ),
    st.tuples(
        st.sampled_from([OPERATOR, STRANGER]), st.just("mint(address,uint256)"), st.tuples(PEOPLE, MINTED_AMOUNTS)
    ),
    st.tuples(PEOPLE, st.just("transferFrom(address,address,uint256)"), st.tuples(PEOPLE, PEOPLE, AMOUNTS)),
    st.tuples(
        st.sampled_from([OPERATOR, STRANGER]),
        st.sampled_from(["blacklist(address)", "unBlacklist(address)", "unBlacklist(address)"]),
        st.tuples(PEOPLE),
    ),
    st.tuples(
        st.sampled_from([OPERATOR, STRANGER]), st.sampled_from(["pause()", "unpause()", "unpause()"]), st.just(())
    ),
)
AUTHORIZED_TERMS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(sorted(KINDS)),
        "kind": st.sampled_from(["", "", "", *KINDS.values()]),
        "key": st.sampled_from([PAYER, OTHER_PAYER]),
        "whole": st.booleans(),
        "sender": st.sampled_from([PAYEE, STRANGER, PAYER.address]),
        "fault": st.sampled_from(
            ["", "", "", *list_damaged_signatures(Account.unsafe_sign_hash(b"\1" * 32, PAYER.key))]
        ),
        "to": st.sampled_from([PAYEE, PAYEE, PAYER.address, NOBODY]),
        "value": st.sampled_from([0, 1, 5, 11, MOST]),
        "validAfter": st.sampled_from([0, 0, NOW - 1, NOW]),
        "validBefore": st.sampled_from([NOW + 1, MOST, NOW]),
        "nonce": st.sampled_from([bytes([one]) * 32 for one in range(3)]),
    }
)


def carry_out(pair: Pair, step: Any) -> None:
    if isinstance(step, tuple):
        sender, signature, arguments = step
        pair.call(sender, signature, *arguments)
        return
    members = dict(step)
    name, kind, key = members.pop("name"), members.pop("kind"), members.pop("key")
    whole, sender, fault = members.pop("whole"), members.pop("sender"), members.pop("fault")
    terms, _ = pair.sign_terms(key, KINDS[name], **members)
    _, signature = pair.sign_terms(key, kind or KINDS[name], **members)
    parts = list_damaged_signatures(signature)[fault][0] if fault else signature
    use(pair, name, terms, parts, whole=whole, sender=sender)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(steps=st.lists(st.one_of(PLAIN, PLAIN, AUTHORIZED_TERMS), min_size=1, max_size=12))
def test_any_sequence_of_calls_goes_the_same_way(steps: list[Any]) -> None:
    """Whatever is done in whatever order: the same outcome of each step, and the same state at the end."""
    pair = Pair.make()
    for owner, amount in ((PAYER.address, 10), (OTHER_PAYER.address, 3)):
        pair.call(OPERATOR, "mint(address,uint256)", owner, amount)
    for step in steps:
        carry_out(pair, step)
    agree_on_state(pair)
