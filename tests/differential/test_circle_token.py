"""Our dollar token against Circle's own compiled FiatToken 2.2: the same answers, refusals, events and balances.

One difference is allowed in what both have: the bytes that fill up the last word of a reason (`token_pair.said`). What
ours leaves out or has beside it stands in two tables, and a test compares those with the two interfaces.
"""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from eth_utils.address import to_checksum_address

from sim.base.token import artefact
from tests.differential.token_pair import (
    ARGUMENTS,
    KINDS,
    MOST,
    NOW,
    OPERATOR,
    OTHER_PAYER,
    PAYEE,
    PAYER,
    STRANGER,
    TOKEN,
    Pair,
    agree_on_state,
    deployed_artefact,
    join_signature,
    list_damaged_signatures,
    reason,
    split,
    use,
)

LEFT_OUT = {
    *("PERMIT_TYPEHASH", "permit", "nonces"),  # approval by signature: no payment of ours uses it
    *("burn", "configureMinter", "isMinter", "masterMinter", "minterAllowance", "removeMinter"),  # many minters
    *("blacklister", "owner", "pauser", "rescuer", "rescueERC20", "transferOwnership"),  # one operator has every office
    *("updateBlacklister", "updateMasterMinter", "updatePauser", "updateRescuer"),
    *("initializeV2", "initializeV2_1", "initializeV2_2"),  # one initialisation instead of four
}
BESIDE = {"initialize", "initialized", "operator"}


@pytest.fixture(name="pair")
def _pair() -> Pair:
    """Both tokens, with a payer who holds ten units."""
    token_pair = Pair.make()
    assert token_pair.call(OPERATOR, "mint(address,uint256)", PAYER.address, 10).ok
    return token_pair


def functions(abi: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a caller sees of each function: name and argument types, with result types and whether it writes."""
    return {
        f"{entry['name']}({','.join(part['type'] for part in entry['inputs'])})": (
            [part["type"] for part in entry["outputs"]],
            entry["stateMutability"] in {"view", "pure"},
        )
        for entry in abi
        if entry["type"] == "function"
    }


def events(abi: list[dict[str, Any]]) -> dict[str, Any]:
    """Return each event's argument types and which of them are indexed."""
    return {
        entry["name"]: [(part["type"], part["indexed"]) for part in entry["inputs"]]
        for entry in abi
        if entry["type"] == "event"
    }


def test_the_interface_is_the_deployed_one_but_for_what_is_listed() -> None:
    """Same signatures, results and events; the two tables are exact, so that neither outlives its reason."""
    ours, theirs = functions(artefact()["abi"]), functions(deployed_artefact("v2/FiatTokenV2_2")["abi"])
    missing_names = {one.split("(")[0] for one in set(theirs) - set(ours)} - BESIDE
    assert missing_names == LEFT_OUT
    assert {one.split("(")[0] for one in set(ours) - set(theirs)} == BESIDE
    assert {name: ours[name] for name in set(ours) & set(theirs)} == {
        name: theirs[name] for name in set(ours) & set(theirs)
    }
    deployed_events = events(deployed_artefact("v2/FiatTokenV2_2")["abi"])
    assert events(artefact()["abi"]).items() <= deployed_events.items()


@pytest.mark.parametrize(
    "signature",
    [
        *("name()", "symbol()", "version()", "decimals()", "currency()", "totalSupply()", "paused()"),
        *("DOMAIN_SEPARATOR()", "TRANSFER_WITH_AUTHORIZATION_TYPEHASH()", "RECEIVE_WITH_AUTHORIZATION_TYPEHASH()"),
        "CANCEL_AUTHORIZATION_TYPEHASH()",
    ],
)
def test_constants_are_the_deployed_ones(pair: Pair, signature: str) -> None:
    """Names, domain separator, type hashes."""
    assert pair.call(STRANGER, signature).ok


def test_the_domain_separator_is_the_published_one(pair: Pair) -> None:
    """Of the real token at its real address on the real chain."""
    separator = pair.call(STRANGER, "DOMAIN_SEPARATOR()").output.hex()
    assert separator == "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_an_authorization_is_used_once(pair: Pair, name: str, whole: bool) -> None:
    """By both overloads: events in the same order, the nonce used up for every other act as well."""
    terms, signature = pair.sign_terms(PAYER, KINDS[name], to=PAYEE)
    outcome = use(pair, name, terms, signature, whole=whole, sender=PAYEE)
    assert (outcome.ok, len(outcome.logs)) == (True, 1 if name == "cancelAuthorization" else 2)
    for other_name, kind in KINDS.items():
        again, other_signature = pair.sign_terms(PAYER, kind, to=PAYEE)
        refusal = use(pair, other_name, again, other_signature, whole=whole, sender=PAYEE)
        assert reason(refusal) == "FiatTokenV2: authorization is used or canceled"
    agree_on_state(pair)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["transferWithAuthorization", "receiveWithAuthorization"])
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"validAfter": NOW}, "FiatTokenV2: authorization is not yet valid"),
        ({"validAfter": NOW + 1}, "FiatTokenV2: authorization is not yet valid"),
        ({"validBefore": NOW}, "FiatTokenV2: authorization is expired"),
        ({"validBefore": 0}, "FiatTokenV2: authorization is expired"),
        ({"value": 11}, "ERC20: transfer amount exceeds balance"),
        ({"value": MOST}, "ERC20: transfer amount exceeds balance"),
    ],
)
def test_the_window_and_the_balance_count(
    pair: Pair, name: str, changes: dict[str, Any], words: str, whole: bool
) -> None:
    """Bounds that equal the time are outside; more than is there does not move."""
    terms, signature = pair.sign_terms(PAYER, KINDS[name], to=PAYEE, **changes)
    assert reason(use(pair, name, terms, signature, whole=whole, sender=PAYEE)) == words
    agree_on_state(pair)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("fault", sorted(list_damaged_signatures(Account.unsafe_sign_hash(b"\1" * 32, PAYER.key))))
def test_a_damaged_signature_is_refused(pair: Pair, name: str, fault: str, whole: bool) -> None:
    """In the same words by every act and overload."""
    terms, signature = pair.sign_terms(PAYER, KINDS[name], to=PAYEE)
    parts, words = list_damaged_signatures(signature)[fault]
    assert reason(use(pair, name, terms, parts, whole=whole, sender=PAYEE)).startswith(words)
    agree_on_state(pair)


@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("length", [0, 1, 64, 66, 97])
def test_a_signature_of_another_length_is_refused(pair: Pair, name: str, length: int) -> None:
    """Also the short form of 64 bytes."""
    terms, signature = pair.sign_terms(PAYER, KINDS[name], to=PAYEE)
    proof = (join_signature(*split(signature)) + bytes(40))[:length]
    refusal = pair.call(PAYEE, f"{name}({ARGUMENTS[name]},bytes)", *terms, proof)
    assert reason(refusal) == "ECRecover: invalid signature length"


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["transferWithAuthorization", "receiveWithAuthorization"])
@pytest.mark.parametrize("place", range(6))
def test_a_changed_term_is_refused(pair: Pair, name: str, place: int, whole: bool) -> None:
    """Each of the six is signed."""
    terms, signature = pair.sign_terms(PAYER, KINDS[name], to=PAYEE, validAfter=5)
    changed_terms = [OTHER_PAYER.address, STRANGER, 6, 4, NOW + 2, b"\1" * 32]
    terms[place] = changed_terms[place]
    refusal = use(pair, name, terms, signature, whole=whole, sender=terms[1])
    assert reason(refusal) == "FiatTokenV2: invalid signature"


@pytest.mark.parametrize("whole", [False, True])
def test_one_kind_of_authorization_is_not_another(pair: Pair, whole: bool) -> None:
    """A transfer's signature does not receive, nor the other way round, and only the payee receives."""
    for name, wrong in (
        ("transferWithAuthorization", "ReceiveWithAuthorization"),
        ("receiveWithAuthorization", "TransferWithAuthorization"),
    ):
        terms, signature = pair.sign_terms(PAYER, wrong, to=PAYEE)
        assert reason(use(pair, name, terms, signature, whole=whole, sender=PAYEE)) == "FiatTokenV2: invalid signature"
    terms, signature = pair.sign_terms(PAYER, "ReceiveWithAuthorization", to=PAYEE)
    refusal = use(pair, "receiveWithAuthorization", terms, signature, whole=whole)
    assert reason(refusal) == "FiatTokenV2: caller must be the payee"


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_pausing_and_the_black_list_come_first(pair: Pair, name: str, whole: bool) -> None:
    """Before the caller, the window and the signature are looked at; what a cancelled nonce needs is only no pause."""
    terms, _ = pair.sign_terms(PAYER, KINDS[name], to=PAYEE, validBefore=0)
    parts = (27, bytes(32), bytes(32))
    for listed_address in (PAYER.address, PAYEE, STRANGER):
        assert pair.call(OPERATOR, "blacklist(address)", listed_address).ok
        reason(use(pair, name, terms, parts, whole=whole))
        assert pair.call(OPERATOR, "pause()").ok
        assert reason(use(pair, name, terms, parts, whole=whole)) == "Pausable: paused"
        assert pair.call(OPERATOR, "unpause()").ok
        assert pair.call(OPERATOR, "unBlacklist(address)", listed_address).ok
    reason(use(pair, name, terms, parts, whole=whole))
    agree_on_state(pair)


@pytest.mark.parametrize(
    ("signature", "amount", "words"),
    [
        ("mint(address,uint256)", 2**255, "FiatTokenV2_2: Balance exceeds (2^255 - 1)"),
        ("mint(address,uint256)", 2**255 - 10, "FiatTokenV2_2: Balance exceeds (2^255 - 1)"),
        ("increaseAllowance(address,uint256)", MOST, "SafeMath: addition overflow"),
        ("decreaseAllowance(address,uint256)", 2, "ERC20: decreased allowance below zero"),
    ],
)
def test_numbers_end_where_the_deployed_ones_do(pair: Pair, signature: str, amount: int, words: str) -> None:
    """In its words, and one less than too much is taken."""
    assert pair.call(OPERATOR, "approve(address,uint256)", PAYER.address, 1).ok
    assert reason(pair.call(OPERATOR, signature, PAYER.address, amount)) == words
    less = 2**255 - 11 if signature.startswith("mint") else amount - 1
    assert pair.call(OPERATOR, signature, PAYER.address, less).ok
    agree_on_state(pair)


def test_everything_allowed_is_a_number_like_another(pair: Pair) -> None:
    """It shrinks with what is taken."""
    assert pair.call(PAYER.address, "approve(address,uint256)", STRANGER, MOST).ok
    assert pair.call(STRANGER, "transferFrom(address,address,uint256)", PAYER.address, PAYEE, 3).ok
    allowance = pair.call(STRANGER, "allowance(address,address)", PAYER.address, STRANGER).output
    assert int.from_bytes(allowance, "big") == MOST - 3


def test_the_token_itself_takes_no_dollars(pair: Pair) -> None:
    """It is on its own black list."""
    refusal = pair.call(PAYER.address, "transfer(address,uint256)", TOKEN.address, 1)
    assert reason(refusal) == "Blacklistable: account is blacklisted"


def test_offices_are_kept_in_the_same_words(pair: Pair) -> None:
    """An account without a role is refused by each function."""
    words = {
        "pause()": "Pausable: caller is not the pauser",
        "unpause()": "Pausable: caller is not the pauser",
        "blacklist(address)": "Blacklistable: caller is not the blacklister",
        "unBlacklist(address)": "Blacklistable: caller is not the blacklister",
        "mint(address,uint256)": "FiatToken: caller is not a minter",
    }
    for signature, expected in words.items():
        arguments: list[Any] = [PAYEE, 1][: 0 if "()" in signature else signature.count(",") + 1]
        assert reason(pair.call(STRANGER, signature, *arguments)) == expected


@pytest.mark.parametrize(
    ("code", "is_accepted"),
    [
        ("631626ba7e60e01b5f5260205ff3", True),  # the ERC-1271 word
        ("631626ba7f60e01b5f5260205ff3", False),  # another word
        ("631626ba7e60e01b60015f5260205ff3", False),  # a word that is not there
        ("631626ba7e60e01b6001175f5260205ff3", False),  # the word with a bit behind it
        ("631626ba7e60e01b5f5260045ff3", False),  # four bytes only
        ("631626ba7e60e01b5f52601f5ff3", False),  # one byte too few
        ("631626ba7e60e01b5f5260405ff3", True),  # more than asked for
        ("5f5ffd", False),  # a refusal
        ("fe", False),  # a halt
        ("00", False),  # silence
        ("60015f5560015f5260205ff3", False),  # tries to write
    ],
)
def test_a_contract_wallet_decides_about_its_signatures(pair: Pair, code: str, is_accepted: bool) -> None:
    """ERC-1271, of any length and by both overloads, for every act."""
    wallet = to_checksum_address(b"\x77" * 20)
    pair.call_each(lambda vm: vm.set_code(wallet, bytes.fromhex(code)))
    assert pair.call(OPERATOR, "mint(address,uint256)", wallet, 10).ok
    for place, name in enumerate(KINDS):
        nonce = bytes([place]) * 32
        terms = [wallet, nonce] if name == "cancelAuthorization" else [wallet, PAYEE, 1, 0, NOW + 1, nonce]
        for proof in (b"", b"\1" * 65, b"\2" * 200):
            outcome = pair.call(PAYEE, f"{name}({ARGUMENTS[name]},bytes)", *terms, proof)
            assert outcome.ok or reason(outcome) in {
                "FiatTokenV2: invalid signature",
                "FiatTokenV2: authorization is used or canceled",
            }
        used = pair.call(STRANGER, "authorizationState(address,bytes32)", wallet, nonce).output
        assert is_accepted == bool(used[-1])
        parts = (27, b"\3" * 32, b"\4" * 32)
        assert not use(pair, name, terms, parts, whole=False, sender=PAYEE).ok


def test_the_one_difference_is_still_there(pair: Pair) -> None:
    """What fills up a reason's last word, of which only an overdrawn authorization shows anything."""
    assert not pair.has_padding
    terms, signature = pair.sign_terms(PAYER, "TransferWithAuthorization", to=PAYEE, value=11)
    use(pair, "transferWithAuthorization", terms, signature, whole=True)
    assert pair.has_padding


def test_a_token_with_another_word_is_noticed(pair: Pair) -> None:
    """The control: one changed letter in a refusal, and the comparison fails."""
    code = pair.ours.code(TOKEN.address)
    words = b"ERC20: transfer amount exceeds"
    assert words in code
    pair.ours.set_code(TOKEN.address, code.replace(words, words.upper()))
    with pytest.raises(AssertionError):
        pair.call(PAYER.address, "transfer(address,uint256)", PAYEE, 11)
