"""What the Base checks present is wrong in the one way it is said to be wrong."""

from __future__ import annotations

import json

from eth_account import Account
from eth_utils.crypto import keccak

from conformance.checks.rail.base.malformed_authorizations import make_wrong_proofs
from conformance.checks.rail.base.signatures import list_signature_changes
from conformance.checks.rail.base.weld import make_wrong_nonces
from conformance.lanes.base.authorization import Authorization, Domain, nonce_of
from conformance.surfaces.rail.base.spellings import spellings

KEY = b"\x11" * 32
TOKEN = "1767225600:0011223344556677:" + "ab" * 32
DOMAIN = Domain("USD Coin", "2", 8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")


def sign_authorization() -> Authorization:
    payer = str(Account.from_key(KEY).address)
    return Authorization(payer, "0x" + "1A" * 20, 10_000, 0, 2**40, nonce_of(TOKEN), DOMAIN, TOKEN).sign(KEY)


def test_no_wrong_nonce_is_right() -> None:
    """All are 32 bytes, all differ from one another and from the token's hash."""
    nonces = make_wrong_nonces(TOKEN, b"\x09" * 32)
    assert {len(nonce) for nonce in nonces.values()} == {32}
    assert len(set(nonces.values())) == len(nonces) >= 15
    assert keccak(TOKEN.encode()) not in nonces.values()


def test_spellings_mean_the_same_authorization() -> None:
    """Read by value, each is the proof that was signed."""
    right = sign_authorization().proof()
    for what, spell in spellings("eip155:8453").items():
        proof = spell(sign_authorization())
        assert json.dumps(proof) != json.dumps(right), what
        terms, own = proof["authorization"], right["authorization"]
        assert {name: str(value).lower() for name, value in terms.items()} == {
            name: str(value).lower() for name, value in own.items()
        }
        assert proof["signature"].lower()[:-2] == right["signature"][:-2]
        assert int(proof["signature"][-2:], 16) % 27 == int(right["signature"][-2:], 16) % 27


def test_every_broken_signature_is_another_one() -> None:
    """Nothing but the signature differs, and none is the right one."""
    right = sign_authorization()
    for what, change in list_signature_changes(b"\x07" * 64).items():
        changed_authorization = change(right)
        assert changed_authorization.message == right.message, what
        assert changed_authorization.signature != right.signature, what


def test_spoiled_members_are_spoiled_one_at_a_time() -> None:
    """Each proof differs from the right one in one member, and no two are the same."""
    right = sign_authorization().proof()
    wrong_proofs = make_wrong_proofs(right)
    assert len({json.dumps(value) for value in wrong_proofs.values()}) == len(wrong_proofs) > 90
    for what, value in wrong_proofs.items():
        outer = [name for name in right if value.get(name, right) != right[name]]
        assert len(outer) == 1, what
        if outer == ["authorization"] and isinstance(value.get("authorization"), dict) and value["authorization"]:
            terms, own = value["authorization"], right["authorization"]
            assert len([name for name in own if terms.get(name, own) != own[name]]) == 1, what
