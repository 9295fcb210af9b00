"""Algorand on a real algod: the operator's at ALGOD_URL, or the one that `algokit localnet` runs in containers.

No package registry has an algod, so nothing is started here but AlgoKit's containers where an engine answers.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
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

from localnet import verbs
from localnet.accounts import write_secret
from localnet.lanes.algorand.trailing import catch_up
from localnet.processes import ChildFault
from localnet.rpc import NodeFault
from localnet.verbs import Members, Refused, Verb
from programs.missing import Missing

T = TypeVar("T")
USDC = 31566704
# Genesis hash of Algorand's main network, on which nothing is funded: a funder there gives real money away.
_MAIN_NETWORK = "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8="
ALGOKIT_INSTALLED = "pipx install algokit && apt install podman; or ALGOD_URL=http://…"
SIMULATED_INSTEAD = "or go without it: --chains localnet,algorand=sim (up, run), localnet start base solana"
_ALGOKIT_URL, _ALGOKIT_INDEXER, _ALGOKIT_TOKEN = "http://localhost:4001", "http://localhost:8980", "a" * 64
_START_SECONDS, _ASK_SECONDS, _WAIT_ROUNDS = 300, 5.0, 10
_MOST = 2**63
_STRANGE = (error.AlgodHTTPError, error.AlgodResponseError, OSError, ValueError, LookupError, TypeError)


@dataclass(frozen=True, slots=True)
class Algod:
    """A running node.

    Attributes:
        url: Its algod.
        indexer: Its indexer.
        token_file: File with the token of algod, mode 0600.
        funder_file: File with the mnemonic that gives Algos and USDC.
    """

    url: str
    indexer: str
    token_file: Path
    funder_file: Path

    def secrets(self) -> str:
        """Return what the sidecar needs to know: the token, and the funder's words in a second line.

        Raises:
            Missing: One of the files cannot be read.
        """
        try:
            return "\n".join(one.read_text("ascii").strip() for one in (self.token_file, self.funder_file))
        except (OSError, ValueError) as fault:
            raise Missing(
                f"cannot read a secret of algod: {fault}", "ALGOD_TOKEN_FILE=…, ALGOD_FUNDER_FILE=…"
            ) from fault


def found(data_dir: Path) -> Algod:
    """Return the node that the environment names; where it names none, AlgoKit's, started when need be.

    ALGOD_URL is the address; ALGOD_TOKEN_FILE or ALGOD_TOKEN its token; INDEXER_URL its indexer;
    ALGOD_FUNDER_FILE a file with the mnemonic of an account that holds Algos and USDC.

    Raises:
        Missing: There is none, or something that goes with it is not told.
    """
    url = os.environ.get("ALGOD_URL")
    if url is None:
        _start_algokit()
    funder = os.environ.get("ALGOD_FUNDER_FILE")
    if funder is None:
        raise Missing(
            "the Algorand node has no account that funds payers",
            "ALGOD_FUNDER_FILE=FILE with the 25 words of an account that holds Algos and USDC there, "
            + SIMULATED_INSTEAD,
        )
    local = url is None
    indexer = os.environ.get("INDEXER_URL", _ALGOKIT_INDEXER if local else "")
    if not indexer:
        raise Missing("no indexer goes with ALGOD_URL", f"INDEXER_URL=http://…, {SIMULATED_INSTEAD}")
    return Algod(url or _ALGOKIT_URL, indexer, _token_file(data_dir, local=local), Path(funder))


def _token_file(data_dir: Path, *, local: bool) -> Path:
    given = os.environ.get("ALGOD_TOKEN_FILE")
    if given is not None:
        return Path(given)
    path = data_dir / "algod_token"
    write_secret(path, os.environ.get("ALGOD_TOKEN", _ALGOKIT_TOKEN if local else ""))
    return path


def algokit_lacks(tool: str | None) -> str:
    """Return what AlgoKit's network lacks here, in words; nothing when `tool` is AlgoKit and an engine answers."""
    engine = next(filter(None, map(shutil.which, ("docker", "podman"))), None)
    lacking = [] if tool else ["algokit is not here"]
    if engine is None:
        lacking.append("no container engine is here")
    elif not _answers(engine):
        lacking.append(f"{engine} does not answer")
    return ", ".join(lacking)


def _answers(engine: str) -> bool:
    try:
        done = subprocess.run([engine, "info"], capture_output=True, timeout=_ASK_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _start_algokit() -> None:
    tool = shutil.which("algokit")
    lacking = algokit_lacks(tool)
    if tool is None or lacking:
        raise Missing(
            f"Algorand: ALGOD_URL is not set, and {lacking} (no registry ships algod by itself)",
            f"{ALGOKIT_INSTALLED}; {SIMULATED_INSTEAD}",
        )
    words = [tool, "localnet", "start"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_START_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Missing(f"algokit did not start its network: {fault}", f"algokit doctor; {SIMULATED_INSTEAD}") from fault
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise Missing(f"algokit did not start its network: {said}", f"algokit doctor; {SIMULATED_INSTEAD}")


async def check(session: aiohttp.ClientSession, node: Algod) -> None:
    """Ask the node whether it is there, lets us in, costs nobody anything, and has the asset that the lane is paid in.

    Raises:
        Missing: One of them is not so.
    """
    try:
        token = node.token_file.read_text("ascii").strip()
    except OSError as fault:
        raise Missing(
            f"cannot read the token of algod, {node.token_file}", "ALGOD_TOKEN_FILE=FILE or ALGOD_TOKEN=…"
        ) from fault
    status, params = await _read(session, node, token, "/v2/transactions/params")
    if status == 401:
        raise Missing(f"algod at {node.url} refuses the token", "ALGOD_TOKEN_FILE=FILE or ALGOD_TOKEN=…")
    if params.get("genesis-hash") == _MAIN_NETWORK:
        raise Missing(
            f"algod at {node.url} is of Algorand's main network, whose money is real",
            f"a node of a network of your own, {SIMULATED_INSTEAD}",
        )
    status, _ = await _read(session, node, token, f"/v2/assets/{USDC}")
    if status != 200:
        raise Missing(
            f"algod at {node.url} has no asset {USDC} (it answered {status}), which the rail is paid in",
            f"a node whose USDC has that id, {SIMULATED_INSTEAD}",
        )


async def _read(session: aiohttp.ClientSession, node: Algod, token: str, path: str) -> tuple[int, dict[str, Any]]:
    """Return status and JSON object of an answer; an empty object where it is not an object."""
    timeout = aiohttp.ClientTimeout(total=_ASK_SECONDS)
    asked = node.url.rstrip("/") + path
    try:
        async with session.get(asked, headers={"X-Algo-API-Token": token}, timeout=timeout) as response:
            status, text = response.status, await response.text()
    except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
        raise Missing(
            f"no algod answers at {node.url}: {type(fault).__name__}", f"start it, or {SIMULATED_INSTEAD}"
        ) from fault
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return status, value if isinstance(value, dict) else {}


async def opt_in(url: str, token_file: Path, key_file: Path, asset: int) -> None:
    """Opt the account whose mnemonic a file holds in to an asset; the opt-in may still wait for its block.

    The node takes transfers of the asset to the account from now on: they land behind the opt-in.

    Raises:
        ChildFault: The node refused it.
    """
    key = mnemonic.to_private_key(key_file.read_text("ascii").strip())
    address = account.address_from_private_key(key)
    headers = {"X-Algo-API-Token": token_file.read_text("ascii").strip()}
    # Not through the SDK's client, which would ask a proxy that the environment names.
    async with aiohttp.ClientSession(url.rstrip("/"), headers=headers, trust_env=False) as session:
        async with session.get("/v2/transactions/params") as answer:
            told = await _members(answer)
        first, genesis_hash, genesis_id = told["last-round"], told["genesis-hash"], told["genesis-id"]
        fee = max(told["min-fee"], told["fee"])
        params = transaction.SuggestedParams(fee, first, first + 1000, genesis_hash, genesis_id, flat_fee=True)
        opting = transaction.AssetTransferTxn(address, params, address, 0, asset)
        (signed,) = AccountTransactionSigner(key).sign_transactions([opting], [0])
        raw = base64.b64decode(encoding.msgpack_encode(signed))
        async with session.post("/v2/transactions", data=raw) as answer:
            await _members(answer)


async def _members(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    text = await answer.text()
    if answer.status != 200:
        raise ChildFault(f"algod at {answer.url} refused to opt an account in: {answer.status} {text[:300]}")
    members: dict[str, Any] = json.loads(text)
    return members


async def _asked(call: Callable[[], T]) -> T:
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
            secrets: File with the token in its first line and the funder's 25 words in its second.
        """
        del session
        token, words = [*secrets.read_text("ascii").splitlines(), "", ""][:2]
        self._client = AlgodClient(token.strip(), url.rstrip("/"))
        try:
            self._key = mnemonic.to_private_key(words.strip())
        except (error.WrongMnemonicLengthError, error.WrongChecksumError, ValueError, KeyError):
            raise NodeFault("ALGOD_FUNDER_FILE holds no Algorand mnemonic of 25 words") from None
        self._address = str(account.address_from_private_key(self._key))
        self._turn = asyncio.Lock()
        self._count = 0

    async def prepare(self) -> None:
        """Ask the node once, so that a wrong token or address shows at the start, and bring its clock up to date."""
        await _asked(self._client.suggested_params)
        await self.keep_current()

    async def keep_current(self) -> None:
        """Let blocks pass while the node's newest one is too old, as on a node in DevMode that was idle."""
        await catch_up(self._newest_time, self._pass_block)

    async def _newest_time(self) -> int:
        def newest() -> int:
            status: Any = self._client.status()
            block: Any = self._client.block_info(status["last-round"], header_only=True)
            return int(block["block"]["ts"])

        return await _asked(newest)

    async def _pass_block(self) -> None:
        await self._sent(lambda params: transaction.PaymentTxn(self._address, params, self._address, 0))

    async def fund(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`: microAlgos from the funder's account."""
        receiver, units = _address(members), verbs.amount(members, most=_MOST)
        return await self._sent(lambda params: transaction.PaymentTxn(self._address, params, receiver, units))

    async def mint(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC from the funder's account to one that has opted in."""
        receiver, units = _address(members), verbs.amount(members, most=_MOST)
        asset = str(members.get("asset", USDC))
        if not (asset.isascii() and asset.isdecimal() and len(asset) < 20):
            raise Refused("member asset must be the number of an asset")
        return await self._sent(
            lambda params: transaction.AssetTransferTxn(self._address, params, receiver, units, int(asset))
        )

    async def advance(self, members: Members) -> dict[str, Any]:
        """`blocks`: so many blocks; a node in DevMode makes one for each transaction, another one by waiting."""
        for _ in range(verbs.integer(members, "blocks", low=0, high=100)):
            await self._pass_block()
        return {}

    def all(self) -> Mapping[str, Verb]:
        """Return every verb by its name."""
        return {verb.__name__: verb for verb in (self.fund, self.mint, self.advance)}

    async def _sent(self, make: Callable[[Any], Any]) -> dict[str, Any]:
        """Send what `make` returns from suggested parameters, and return its id once it is in a block."""
        async with self._turn:
            params = await _asked(self._client.suggested_params)
            # Two equal transactions would be one: their last rounds tell them apart.
            self._count += 1
            params.last = params.first + 1000 - self._count % 500
            (signed,) = AccountTransactionSigner(self._key).sign_transactions([make(params)], [0])
            tx_id = await _asked(lambda: self._client.send_transaction(signed))
        await _asked(lambda: transaction.wait_for_confirmation(self._client, tx_id, _WAIT_ROUNDS))
        return {"tx_id": str(tx_id)}


def _address(members: Members) -> str:
    value = verbs.text(members, "address")
    if not encoding.is_valid_address(value):
        raise Refused("member address must be an address")
    return value
