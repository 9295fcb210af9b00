"""What the settler signs is what a wallet of its key signs, byte for byte, without a wallet's SDK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from reference.lanes.base.account import GAS_LIMIT, EvmAccount
from reference.lanes.base.lane import BaseLane
from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import Fees
from reference.protocol.eip3009 import Authorization
from reference.protocol.networks import NETWORKS

USDC = NETWORKS["base_mainnet"].asset_id
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
SETTLE = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
KEYS = st.integers(1, ORDER - 1).map(lambda one: one.to_bytes(32, "big"))
WORDS = st.integers(0, 2**256 - 1)
ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda one: "0x" + one.hex())


@given(KEYS, st.integers(0, 2**64 - 2), st.binary(max_size=300), st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_settlement_is_signed_as_by_a_wallet(key: bytes, nonce: int, data: bytes, most: int, tip: int) -> None:
    """Whatever has zeros before it, and whatever is nothing at all."""
    ours, wallet = EvmAccount(key), Account.from_key(key)
    raw, tx_id = ours.sign(chain_id=8453, nonce=nonce, to=USDC, data=data, fees=Fees(most, tip))
    transaction = wallet.sign_transaction(
        {
            "type": 2,
            "chainId": 8453,
            "nonce": nonce,
            "to": USDC,
            "data": data,
            "value": 0,
            "gas": GAS_LIMIT,
            "maxFeePerGas": most,
            "maxPriorityFeePerGas": tip,
        }
    )
    assert ours.address == wallet.address
    assert raw == bytes(transaction.raw_transaction)
    assert tx_id == "0x" + bytes(transaction.hash).hex()


@given(ADDRESSES, ADDRESSES, st.tuples(WORDS, WORDS, WORDS, WORDS), st.integers(1, 2**250), st.sampled_from([27, 28]))
def test_a_settlement_s_call_is_the_contract_s(
    payer: str, to: str, words: tuple[int, int, int, int], s: int, v: int
) -> None:
    """As the ABI has it: nine words after the function's own four bytes."""
    value, after, before, r = words
    nonce, parts = r.to_bytes(32, "little"), (r.to_bytes(32, "big"), s.to_bytes(32, "big"))
    signature = "0x" + b"".join(parts).hex() + f"{v:02x}"
    given_one = Authorization(payer, to, value, after, before, "0x" + nonce.hex(), signature)
    types = SETTLE.partition("(")[2].removesuffix(")").split(",")
    call_data = keccak(SETTLE.encode())[:4] + encode(types, (payer, to, value, after, before, nonce, v, *parts))
    lane = BaseLane(NETWORKS["base_mainnet"], JsonRpc(None), 3)  # type: ignore[arg-type]
    assert lane.encode_settlement(given_one) == call_data


@pytest.mark.parametrize("text", ["", "00" * 32, "ff" * 32, "zz" * 32, "11" * 31, "0x" + "11" * 33])
def test_a_file_without_a_key_is_refused(tmp_path: Path, text: str) -> None:
    """Zero and what is beyond the curve's order are no keys either."""
    file = tmp_path / "key"
    file.write_text(text, "ascii")
    with pytest.raises(ValueError, match="no key of 64 hex digits"):
        EvmAccount.from_file(file)


def test_to_settle_takes_no_wallet() -> None:
    """A wallet's SDK costs half a second at each start, and several milliseconds a payment."""
    program = "import sys, reference.lanes.base.account; print({'eth_account', 'eth_abi', 'web3'} & sys.modules.keys())"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "set()"
