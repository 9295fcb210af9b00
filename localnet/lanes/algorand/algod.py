"""Algorand on a real algod: the operator's, one of programs on the PATH, or AlgoKit's in containers.

No package registry has an algod, so nothing is installed here.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from algosdk import account, encoding, error, mnemonic, transaction
from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.v2client.algod import AlgodClient

from localnet import control_verbs
from localnet.control_verbs import Members, Refused, Verb
from localnet.lanes.algorand.devmode_clock import catch_up
from localnet.lanes.algorand.kmd import first_account_words
from localnet.lanes.algorand.private_network import Programs, programs
from localnet.lanes.algorand.rest import QUEUE_FULL, Account, NotAnswered, Rest
from localnet.lanes.algorand.usdc import LEAST_MICROALGOS, created_usdc
from localnet.processes import ChildFault
from localnet.rpc import NodeFault
from localnet.stack_secrets import write_secret
from programs.missing import Missing

T = TypeVar("T")
USDC = 31566704  # on the simulator
# By genesis hash. A funder on the main network would give real money away.
_PUBLIC_NETWORKS = {
    "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=": "Algorand's main network, whose money is real",
    "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=": "Algorand's public TestNet, where localnet creates no asset",
}
_FUNDER = "ALGOD_FUNDER_FILE=FILE with the 25 words of an account that holds Algos there"
ALGOKIT_INSTALLED = "pipx install algokit && apt install podman; or ALGOD_URL=http://…"
SIMULATED_INSTEAD = "or go without it: --chains localnet,algorand=sim (up, run), localnet start base solana"
_ALGOKIT_URL, _ALGOKIT_KMD, _ALGOKIT_INDEXER = (f"http://localhost:{port}" for port in (4001, 4002, 8980))
_ALGOKIT_TOKEN = "a" * 64
_START_SECONDS, _ASK_SECONDS, _WAIT_ROUNDS = 300, 5.0, 10
_MOST = 2**63
_NOT_OPTED_IN = re.compile(r"must optin, asset (\d+) missing from ([A-Z2-7]{58})")
_STRANGE = (error.AlgodHTTPError, error.AlgodResponseError, OSError, ValueError, LookupError, TypeError)


@dataclass(frozen=True, slots=True)
class Algod:
    """A running node.

    Attributes:
        url: Its algod.
        indexer: Its indexer, None without one.
        token_file: File with the token of algod and of the indexer, mode 0600.
        funder_file: File with the mnemonic that gives Algos and creates USDC.
    """

    url: str
    indexer: str | None
    token_file: Path
    funder_file: Path

    def token(self) -> str:
        """Return the token.

        Raises:
            Missing: The file cannot be read.
        """
        return _secret(self.token_file, "the token of algod", "ALGOD_TOKEN_FILE=FILE or ALGOD_TOKEN=…")

    def funder(self) -> Account:
        """Return the account that funds payers.

        Raises:
            Missing: The file cannot be read, or does not contain a mnemonic.
        """
        return Account.of(_secret(self.funder_file, "the words of the account that funds payers", _FUNDER))

    def secrets(self, asset: str) -> str:
        """Return what the sidecar needs in three lines: the token, the funder's words, and the id of USDC.

        Raises:
            Missing: One of the files cannot be read.
        """
        words = _secret(self.funder_file, "the words of the account that funds payers", _FUNDER)
        return f"{self.token()}\n{words}\n{asset}"


def _secret(path: Path, description: str, remedy: str) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError) as fault:
        raise Missing(f"cannot read {description}: {fault}", remedy) from fault


def find_node(data_dir: Path) -> Algod | Programs:
    """Return the operator's node, the programs of a private network, or AlgoKit's network, in this order.

    ALGOD_URL is the operator's node. ALGOD_TOKEN_FILE or ALGOD_TOKEN is its token, INDEXER_URL its indexer, and
    ALGOD_FUNDER_FILE a file with the mnemonic of an account that holds Algos there. AlgoKit's network is started if
    necessary.

    Raises:
        Missing: There is no node, or something that belongs to it is not given.
    """
    url = os.environ.get("ALGOD_URL")
    if url is not None:
        funder = os.environ.get("ALGOD_FUNDER_FILE")
        if funder is None:
            raise Missing(
                "the Algorand node at ALGOD_URL has no account that funds payers", f"{_FUNDER}, {SIMULATED_INSTEAD}"
            )
        return Algod(url, os.environ.get("INDEXER_URL") or None, _token_file(data_dir), Path(funder))
    own = programs()
    if own is not None:
        return own
    _start_algokit()
    token_file, funder_file = data_dir / "algod_token", data_dir / "algorand_funder.mnemonic"
    write_secret(token_file, _ALGOKIT_TOKEN)
    try:
        write_secret(funder_file, first_account_words(_ALGOKIT_KMD, _ALGOKIT_TOKEN))
    except NotAnswered as fault:
        raise Missing(str(fault), f"algokit localnet reset; {SIMULATED_INSTEAD}") from fault
    return Algod(_ALGOKIT_URL, _ALGOKIT_INDEXER, token_file, funder_file)


def is_given() -> bool:
    """Return whether the environment names the operator's node."""
    return "ALGOD_URL" in os.environ


def _token_file(data_dir: Path) -> Path:
    path_text = os.environ.get("ALGOD_TOKEN_FILE")
    if path_text is not None:
        return Path(path_text)
    path = data_dir / "algod_token"
    write_secret(path, os.environ.get("ALGOD_TOKEN", ""))
    return path


def algokit_lacks(tool: str | None) -> str:
    """Return what AlgoKit's network lacks here, in words; nothing when `tool` is AlgoKit and an engine answers."""
    engine = next(filter(None, map(shutil.which, ("docker", "podman"))), None)
    missing_parts = [] if tool else ["algokit is not here"]
    if engine is None:
        missing_parts.append("no container engine is here")
    elif not _answers(engine):
        missing_parts.append(f"{engine} does not answer")
    return ", ".join(missing_parts)


def _answers(engine: str) -> bool:
    try:
        process = subprocess.run([engine, "info"], capture_output=True, timeout=_ASK_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0


def _start_algokit() -> None:
    tool = shutil.which("algokit")
    missing_parts = algokit_lacks(tool)
    if tool is None or missing_parts:
        raise Missing(
            f"Algorand: ALGOD_URL is not set, and {missing_parts} (no registry ships algod by itself)",
            f"{ALGOKIT_INSTALLED}; {SIMULATED_INSTEAD}",
        )
    words = [tool, "localnet", "start"]
    try:
        process = subprocess.run(words, capture_output=True, text=True, timeout=_START_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Missing(f"algokit did not start its network: {fault}", f"algokit doctor; {SIMULATED_INSTEAD}") from fault
    if process.returncode != 0:
        output = (process.stderr or process.stdout).strip()[-300:]
        raise Missing(f"algokit did not start its network: {output}", f"algokit doctor; {SIMULATED_INSTEAD}")


@dataclass(frozen=True, slots=True)
class Checked:
    """What a node answered.

    Attributes:
        genesis_id: Name of its network.
        newest_round: Number of its newest block.
        usdc: USDC that the funder created there earlier, None without one.
    """

    genesis_id: str
    newest_round: int
    usdc: int | None


async def check(session: aiohttp.ClientSession, node: Algod) -> Checked:
    """Ask a node whether it answers, takes the token, is of a private network, and whether its funder has Algos.

    Raises:
        Missing: One of them is not so, or a given indexer does not answer.
    """
    algod, funder = Rest(session, node.url, node.token()), node.funder()
    try:
        status, params = await algod.get("/v2/transactions/params")
        if status == 401:
            raise Missing(f"algod at {node.url} refuses the token", "ALGOD_TOKEN_FILE=FILE or ALGOD_TOKEN=…")
        if status != 200 or "genesis-hash" not in params:
            raise Missing(f"what answers at {node.url} is not an algod (status {status})", "ALGOD_URL=http://…")
        public = _PUBLIC_NETWORKS.get(str(params["genesis-hash"]))
        if public is not None:
            raise Missing(f"algod at {node.url} is of {public}", f"a node of a private network, {SIMULATED_INSTEAD}")
        _, account = await algod.get(f"/v2/accounts/{funder.address}")
        if int(account.get("amount", 0)) < LEAST_MICROALGOS:
            raise Missing(
                f"the account of ALGOD_FUNDER_FILE, {funder.address}, holds {account.get('amount', 0)} microAlgos",
                f"send it {LEAST_MICROALGOS} microAlgos or more, {SIMULATED_INSTEAD}",
            )
        if node.indexer is not None:
            await _check_indexer(session, node)
        return Checked(
            str(params.get("genesis-id")),
            int(params.get("last-round", 0)),
            await created_usdc(algod, funder.address),
        )
    except NotAnswered as fault:
        raise Missing(str(fault), f"start it, {SIMULATED_INSTEAD}") from fault


async def _check_indexer(session: aiohttp.ClientSession, node: Algod) -> None:
    assert node.indexer is not None  # noqa: S101 - asked only if there is one
    remedy = "start it, or unset INDEXER_URL: the rail and the gateway work with algod alone"
    try:
        status, health = await Rest(session, node.indexer, node.token()).get("/health")
    except NotAnswered as fault:
        raise Missing(f"no indexer answers at {node.indexer}: {fault.__cause__!r}"[:300], remedy) from fault
    if status != 200 or "round" not in health:
        raise Missing(f"what answers at {node.indexer} is not an indexer (status {status})", remedy)


async def opt_in(url: str, token_file: Path, key_file: Path, asset: int) -> None:
    """Opt the account whose mnemonic a file holds in to an asset; the opt-in may still wait for its block.

    The node takes transfers of the asset to the account from now on: they land behind the opt-in.

    Raises:
        ChildFault: The node refused it.
    """
    holder = Account.of(key_file.read_text("ascii"))
    me = holder.address
    async with aiohttp.ClientSession(trust_env=False) as session:
        algod = Rest(session, url, token_file.read_text("ascii").strip())
        try:
            await algod.send(lambda params: transaction.AssetTransferTxn(me, params, me, 0, asset), holder, wait=False)
        except NotAnswered as fault:
            raise ChildFault(f"{me} could not opt in to asset {asset}: {fault}") from fault


async def _run_on_thread(call: Callable[[], T]) -> T:
    """Run a blocking call of the SDK on a thread."""
    try:
        return await asyncio.to_thread(call)
    except (error.ConfirmationTimeoutError, error.TransactionRejectedError, *_STRANGE) as fault:
        raise NodeFault(f"algod: {type(fault).__name__}: {fault}"[:300]) from fault


class AlgodVerbs:
    """Control verbs of one algod: what a funded account can do by ordinary transactions, and no more."""

    def __init__(self, session: aiohttp.ClientSession, url: str, secrets: Path) -> None:
        """Take a node.

        Args:
            session: Not used: py-algorand-sdk asks by itself, on threads.
            url: The algod.
            secrets: File with the token in its first line, the funder's 25 words in its second, and the id of USDC in
                its third.
        """
        del session
        token, words, asset = [*secrets.read_text("ascii").splitlines(), "", "", ""][:3]
        self._client = AlgodClient(token.strip(), url.rstrip("/"))
        try:
            self._key = mnemonic.to_private_key(words.strip())
        except (error.WrongMnemonicLengthError, error.WrongChecksumError, ValueError, KeyError):
            raise NodeFault("ALGOD_FUNDER_FILE holds no Algorand mnemonic of 25 words") from None
        self._address = str(account.address_from_private_key(self._key))
        self._usdc = asset.strip()
        self._turn = asyncio.Lock()
        self._count = 0

    async def prepare(self) -> None:
        """Ask the node once, so that a wrong token or address shows at the start, and bring its clock up to date."""
        await _run_on_thread(self._client.suggested_params)
        await self.keep_current()

    async def keep_current(self) -> None:
        """Let blocks pass while the node's newest one is too old, as on a node in DevMode that was idle."""
        await catch_up(self._newest_time, self._pass_block)

    async def _newest_time(self) -> int:
        def newest() -> int:
            status: Any = self._client.status()
            block: Any = self._client.block_info(status["last-round"], header_only=True)
            return int(block["block"]["ts"])

        return await _run_on_thread(newest)

    async def _pass_block(self) -> None:
        await self._sign_and_send(lambda params: transaction.PaymentTxn(self._address, params, self._address, 0))

    async def fund(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`: microAlgos from the funder's account.

        The node takes what the receiver sends with them while they still wait for their block.
        """
        receiver, units = _address(members), control_verbs.amount(members, most=_MOST)
        return await self._sign_and_send(
            lambda params: transaction.PaymentTxn(self._address, params, receiver, units), wait=False
        )

    async def mint(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC from the funder's account to one that has opted in."""
        receiver, units, asset = _address(members), control_verbs.amount(members, most=_MOST), self._asset(members)
        return await self._transfer_asset(
            lambda params: transaction.AssetTransferTxn(self._address, params, receiver, units, asset)
        )

    async def clawback(self, members: Members) -> dict[str, Any]:
        """`address`, `receiver`, `amount`, `asset`?, `note`?: the issuer moves USDC that another account holds."""
        holder, receiver = _address(members), _address(members, "receiver")
        units, asset = control_verbs.amount(members, most=_MOST), self._asset(members)
        note = str(members.get("note", "")).encode()
        return await self._transfer_asset(
            lambda params: transaction.AssetTransferTxn(
                self._address, params, receiver, units, asset, revocation_target=holder, note=note or None
            )
        )

    async def advance(self, members: Members) -> dict[str, Any]:
        """`blocks`: so many blocks; a node in DevMode makes one for each transaction, another one by waiting."""
        for _ in range(control_verbs.integer(members, "blocks", low=0, high=100)):
            await self._pass_block()
        return {}

    def by_name(self) -> Mapping[str, Verb]:
        """Return every verb by its name."""
        return {verb.__name__: verb for verb in (self.fund, self.mint, self.clawback, self.advance)}

    def _asset(self, members: Members) -> int:
        asset = str(members.get("asset", self._usdc))
        if not (asset.isascii() and asset.isdecimal() and len(asset) < 20):
            raise Refused("member asset must be the number of an asset")
        return int(asset)

    async def _transfer_asset(self, make: Callable[[Any], Any]) -> dict[str, Any]:
        """Send a transfer of an asset; a refusal for lack of an opt-in says what to do."""
        try:
            return await self._sign_and_send(make)
        except NodeFault as fault:
            not_opted_in = _NOT_OPTED_IN.search(str(fault))
            if not_opted_in is None:
                raise
            raise Refused(
                f"{not_opted_in[2]} has not opted in to asset {not_opted_in[1]}: let its owner send 0 units of asset "
                f"{not_opted_in[1]} from it to itself, then ask again"
            ) from fault

    async def _sign_and_send(self, make: Callable[[Any], Any], *, wait: bool = True) -> dict[str, Any]:
        """Send what `make` returns from suggested parameters; return its id, with `wait` once it is in a block."""
        async with self._turn:
            params = await _run_on_thread(self._client.suggested_params)
            # Two equal transactions would be one: their last rounds tell them apart.
            self._count += 1
            params.last = params.first + 1000 - self._count % 500
            (signed,) = AccountTransactionSigner(self._key).sign_transactions([make(params)], [0])
            tx_id = await self._submit(signed)
        if wait:
            await _run_on_thread(lambda: transaction.wait_for_confirmation(self._client, tx_id, _WAIT_ROUNDS))
        return {"tx_id": tx_id}

    async def _submit(self, transaction: Any) -> str:
        """Give the node a signed transaction and return its id."""
        try:
            return str(await _run_on_thread(lambda: self._client.send_transaction(transaction)))
        except NodeFault as fault:
            if QUEUE_FULL not in str(fault):
                raise
        tx_id = str(transaction.transaction.get_txid())
        await _run_on_thread(lambda: self._client.pending_transaction_info(tx_id))
        return tx_id


def _address(members: Members, name: str = "address") -> str:
    value = control_verbs.text(members, name)
    if not encoding.is_valid_address(value):
        raise Refused(f"member {name} must be an Algorand address")
    return value
