"""Calls that must leave no trace leave none; a failure is reported with its data or its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_abi.abi import decode, encode
from eth_account import Account
from eth_utils.crypto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.base.token import NETWORK_TOKENS, call_data, genesis_operations
from sim.base.vm import BlockContext, Message, Vm

BLOCK = BlockContext(1, 1_800_000_000)
OWNER, OTHER_ADDRESS = "0x" + "0A" * 20, "0x" + "0b" * 20
TOKEN = NETWORK_TOKENS[8453]
PLACES = [OWNER, OTHER_ADDRESS, "0x" + "0C" * 20]
ECHO = bytes.fromhex("365f5f37365ff3")  # returns its call data
SHOUT = bytes.fromhex("365f5f37365ffd")  # reverts with its call data
EVENT = bytes.fromhex("365f5f37" + "602a" + "365fa1")  # emits its call data under topic 42


def fresh() -> Vm:
    vm = Vm(8453)
    for operation in genesis_operations(TOKEN, OWNER, 10**18):
        operation(vm)
    vm.execute(Message(OWNER, TOKEN.address, call_data("mint(address,uint256)", OWNER, 1000)), BLOCK)
    return vm


def read_state(vm: Vm) -> Any:
    """Return everything that calls of these tests could change."""
    calls = [call_data("balanceOf(address)", one) for one in PLACES]
    calls += [keccak(b"totalSupply()")[:4], keccak(b"paused()")[:4]]
    calls += [call_data("allowance(address,address)", one, two) for one in PLACES for two in PLACES]
    outputs = [vm.try_out(Message(OTHER_ADDRESS, TOKEN.address, one), BLOCK).output for one in calls]
    slots = [vm.storage(where, slot) for where in (TOKEN.address, *PLACES) for slot in range(12)]
    return outputs, slots, [(vm.balance(one), vm.code(one)) for one in (TOKEN.address, *PLACES)]


CALLS = st.one_of(
    st.builds(
        lambda name, who, amount: call_data(f"{name}(address,uint256)", who, amount),
        st.sampled_from(["mint", "transfer", "approve"]),
        st.sampled_from(PLACES),
        st.integers(0, 1500),
    ),
    st.sampled_from([keccak(b"pause()")[:4], keccak(b"unpause()")[:4], b"", b"\x12\x34\x56\x78"]),
)
MESSAGES = st.builds(
    Message,
    sender=st.sampled_from([OWNER, OTHER_ADDRESS]),
    to=st.sampled_from([TOKEN.address, OTHER_ADDRESS, None]),
    data=CALLS,
    value=st.sampled_from([0, 0, 0, 7, 10**30]),
    gas=st.sampled_from([100, 30_000, 300_000]),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(st.booleans(), MESSAGES), max_size=8))
def test_trying_leaves_no_trace(steps: list[tuple[bool, Message]]) -> None:
    """However tries and real calls are mixed, a try changes nothing, and the real ones do what they do without it."""
    vm, without = fresh(), fresh()
    for real, message in steps:
        if real:
            assert vm.execute(message, BLOCK).ok == without.execute(message, BLOCK).ok
        else:
            before = read_state(vm)
            vm.try_out(message, BLOCK)
            assert before == read_state(vm)
    assert read_state(without) == read_state(vm)


def test_hundreds_of_tries_are_as_good_as_one() -> None:
    """A checkpoint that is undone costs nothing later: the last of many tries still does what the first did."""
    vm = fresh()
    message = Message(OWNER, TOKEN.address, call_data("transfer(address,uint256)", OTHER_ADDRESS, 1))
    first = vm.try_out(message, BLOCK)
    outcomes = [vm.try_out(message, BLOCK) for _ in range(400)]
    assert {(True, first.output)} == {(one.ok, one.output) for one in outcomes}
    assert vm.execute(message, BLOCK).ok


@pytest.mark.parametrize(
    "code", [b"", b"\0", b"\0" * 33, b"\0" * 40, b"\x60" + b"\0" * 40, b"\x5b" * 100, ECHO, b"\xef\x01"]
)
def test_planted_code_is_told_as_it_was_planted(code: bytes) -> None:
    """Zeros at its end included; wei stay."""
    vm = Vm(8453)
    vm.set_balance(OTHER_ADDRESS, 5)
    vm.set_code(OTHER_ADDRESS, code)
    vm.try_out(Message(OWNER, OTHER_ADDRESS), BLOCK)
    assert (code, 5) == (vm.code(OTHER_ADDRESS), vm.balance(OTHER_ADDRESS))


@pytest.mark.parametrize("code", [b"\x60", b"\x60" + b"\0" * 33, b"\0" * 40, ECHO])
def test_created_code_is_told_as_it_was_returned(code: bytes) -> None:
    """The address follows from sender and count; the creation shows the code."""
    vm = Vm(8453)
    creation = bytes.fromhex(f"61{len(code):04x}80600a5f395ff3") + code
    outcome = vm.execute(Message(OWNER, None, creation, nonce=4), BLOCK)
    assert outcome.created is not None
    expected_address = keccak(bytes.fromhex("d6" + "94" + OWNER[2:] + "04"))[12:].hex()
    assert (expected_address, code, code) == (outcome.created[2:].lower(), outcome.output, vm.code(outcome.created))


def test_a_revert_carries_its_data() -> None:
    """Of any length, and gas that was not used is left."""
    vm = Vm(8453)
    vm.set_code(OTHER_ADDRESS, SHOUT)
    for data in (b"", b"\x01", bytes(range(200))):
        outcome = vm.execute(Message(OWNER, OTHER_ADDRESS, data, gas=100_000), BLOCK)
        assert (False, data, None) == (outcome.ok, outcome.output, outcome.halt)
        assert 21_000 < outcome.gas_used < 30_000


@pytest.mark.parametrize(
    ("code", "halt"),
    [("fe", "InvalidFEOpcode"), ("01", "StackUnderflow"), ("5b5f56", "OutOfGas"), ("600a56", "InvalidJump")],
)
def test_a_halt_takes_all_gas_and_has_no_data(code: str, halt: str) -> None:
    """It is no revert, and says why."""
    vm = Vm(8453)
    vm.set_code(OTHER_ADDRESS, bytes.fromhex(code))
    outcome = vm.execute(Message(OWNER, OTHER_ADDRESS, gas=50_000), BLOCK)
    assert (False, b"", 50_000, halt) == (outcome.ok, outcome.output, outcome.gas_used, outcome.halt)


def test_events_are_in_the_outcome_and_code_sees_its_block() -> None:
    """Address, topic and data; number, time and chain id are those of the call."""
    vm = Vm(84532)
    vm.set_code(OTHER_ADDRESS, EVENT)
    logs = vm.execute(Message(OWNER, OTHER_ADDRESS, b"told"), BLOCK).logs
    assert [(OTHER_ADDRESS, (f"0x{42:064x}",), b"told")] == [(one.address, one.topics, one.data) for one in logs]
    for opcode, value in (("43", 9), ("42", 77), ("46", 84532)):
        vm.set_code(OTHER_ADDRESS, bytes.fromhex(opcode + "5f5260205ff3"))
        output = vm.execute(Message(OWNER, OTHER_ADDRESS), BlockContext(9, 77)).output
        assert value == int.from_bytes(output, "big")


@dataclass
class Asked:
    """The calls of one node that must change nothing."""

    bench: Any
    payer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.payer = self.bench.fund_account(usdc=1000)

    def read_state(self) -> Any:
        chain = self.bench.chain
        money = [(self.bench.usdc_balance(one), self.bench.wei(one)) for one in (self.payer.address, OTHER_ADDRESS)]
        return (
            money,
            chain.head,
            chain.nonce(self.payer.address),
            list(chain.index),
            self.bench.usdc_balance(OTHER_ADDRESS, "pending"),
        )


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
@pytest.mark.parametrize("tag", ["latest", "pending"])
def test_asking_the_node_leaves_no_trace(bench: Any, method: str, tag: str) -> None:
    """A transfer that is asked about many times has not happened, and still can, once."""
    state_reader = Asked(bench)
    before = state_reader.read_state()
    transfer = {"from": state_reader.payer.address, **bench.transfer(OTHER_ADDRESS, 1000)}
    for _ in range(30):
        assert bench.call(method, transfer, tag)
    assert before == state_reader.read_state()
    assert bench.mine_transaction(state_reader.payer, **bench.transfer(OTHER_ADDRESS, 1000))["status"] == "0x1"
    assert (bench.usdc_balance(state_reader.payer.address), bench.usdc_balance(OTHER_ADDRESS)) == (0, 1000)


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_the_node_tells_a_revert_with_its_reason_and_data(bench: Any, method: str) -> None:
    """Code 3; the text of an Error(string) in the message, the bytes in data, and bytes alone for anything else."""
    refusal = bench.call_refused(method, {"from": OWNER, **bench.transfer(OTHER_ADDRESS, 1)})
    assert (refusal["code"], refusal["message"]) == (3, "execution reverted: ERC20: transfer amount exceeds balance")
    data = bytes.fromhex(refusal["data"][2:])
    assert (keccak(b"Error(string)")[:4], "ERC20: transfer amount exceeds balance") == (
        data[:4],
        decode(["string"], data[4:])[0],
    )
    bench.call("anvil_setCode", OTHER_ADDRESS, "0x" + SHOUT.hex())
    for said in (b"", b"\x01\x02", keccak(b"Error(string)")[:4], keccak(b"Error(string)")[:4] + b"\xff" * 70):
        refusal = bench.call_refused(method, {"from": OWNER, "to": OTHER_ADDRESS, "data": "0x" + said.hex()})
        assert (3, "0x" + said.hex()) == (refusal["code"], refusal["data"])
        assert refusal["message"].startswith("execution reverted")


@pytest.mark.parametrize(
    ("code", "members", "reason"),
    [
        ("fe", {}, "invalid opcode: INVALID"),
        ("0c", {}, "invalid opcode"),
        ("5b5f56", {"gas": "0xc350"}, "out of gas"),
        ("01", {}, "stack underflow"),
        ("600a56", {}, "invalid jump destination"),
        ("00", {"gas": "0x1"}, "intrinsic gas too low"),
    ],
)
def test_the_node_tells_a_halt_by_its_reason(bench: Any, code: str, members: dict[str, Any], reason: str) -> None:
    """Not as a revert, and without data."""
    bench.call("anvil_setCode", OTHER_ADDRESS, "0x" + code)
    error = bench.call_refused("eth_call", {"to": OTHER_ADDRESS, **members}, "latest")
    assert {"code": -32000, "message": reason} == error


def test_wei_that_are_not_there_are_told(bench: Any) -> None:
    """By both methods, not as a revert."""
    call = {"from": OTHER_ADDRESS, "to": OWNER, "value": "0x1"}
    for method in ("eth_call", "eth_estimateGas"):
        error = bench.call_refused(method, call)
        assert error["code"] == -32000
        assert error["message"].startswith("insufficient funds")


def test_an_estimate_is_enough_and_not_wasteful(bench: Any) -> None:
    """A first transfer with exactly that gas goes through; it is at most half above what is used."""
    payer = bench.fund_account(usdc=10)
    transfer = bench.transfer(OTHER_ADDRESS, 1)
    gas = bench.number("eth_estimateGas", {"from": payer.address, **transfer})
    receipt = bench.mine_transaction(payer, gas=gas, **transfer)
    assert receipt["status"] == "0x1"
    assert int(receipt["gasUsed"], 16) <= gas <= int(receipt["gasUsed"], 16) * 3 // 2


def test_a_creation_that_is_asked_about_returns_its_code(bench: Any) -> None:
    """As a node does; nothing is created."""
    code = bytes.fromhex(f"61{len(ECHO):04x}80600a5f395ff3") + ECHO
    assert "0x" + ECHO.hex() == bench.call("eth_call", {"from": OWNER, "data": "0x" + code.hex()}, "latest")
    maker = bench.fund_account()
    receipt = bench.mine_transaction(maker, to="", data=code, gas=500_000)
    assert "0x" + ECHO.hex() == bench.call("eth_getCode", receipt["contractAddress"], "latest")
    return_data = encode(["uint256"], [5]).hex()
    assert "0x" + return_data == bench.call(
        "eth_call", {"to": receipt["contractAddress"], "data": "0x" + return_data}, "latest"
    )


def test_ecrecover_is_real(bench: Any) -> None:
    """The precompile names the signer."""
    digest = keccak(b"told")
    signature = Account.unsafe_sign_hash(digest, b"\x05" * 32)
    words = encode(["bytes32", "uint256", "uint256", "uint256"], [digest, signature.v, signature.r, signature.s])
    told = bench.call("eth_call", {"to": "0x" + "0" * 39 + "1", "data": "0x" + words.hex()}, "latest")
    assert Account.from_key(b"\x05" * 32).address.lower() == "0x" + told[-40:]


def test_a_contract_can_be_asked_about_as_the_caller(bench: Any) -> None:
    """Its code, storage and wei are as before; code that is called sees it as its caller."""
    wallet, callee = "0x" + "0d" * 20, "0x" + "0e" * 20
    bench.call("anvil_setCode", wallet, "0x" + ECHO.hex())
    bench.call("anvil_setStorageAt", wallet, "0x1", "0x5")
    bench.call("anvil_setBalance", wallet, "0x7")
    bench.call("anvil_setCode", callee, "0x335f5260205ff3")  # returns who calls
    reply = bench.call("eth_call", {"from": wallet, "to": callee, "value": "0x7"}, "latest")
    assert wallet == "0x" + reply[-40:]
    assert bench.call("eth_getCode", wallet, "latest") == "0x" + ECHO.hex()
    assert bench.number("eth_getStorageAt", wallet, "0x1", "latest") == 5
    assert (bench.wei(wallet), bench.wei(callee)) == (7, 0)
    expected_call = {"from": callee, "to": wallet, "data": "0x1234"}
    assert bench.call("eth_call", expected_call, "latest") == "0x1234"


@pytest.mark.parametrize(
    ("number", "words"), [(0x11, "arithmetic underflow or overflow"), (0x99, "unknown panic code")]
)
def test_a_panic_is_named(bench: Any, number: int, words: str) -> None:
    """By its number, in the words of a real node."""
    bench.call("anvil_setCode", OTHER_ADDRESS, "0x" + SHOUT.hex())
    data = keccak(b"Panic(uint256)")[:4] + number.to_bytes(32, "big")
    refusal = bench.call_refused("eth_call", {"to": OTHER_ADDRESS, "data": "0x" + data.hex()}, "latest")
    assert (refusal["code"], refusal["data"]) == (3, "0x" + data.hex())
    assert words in refusal["message"]
