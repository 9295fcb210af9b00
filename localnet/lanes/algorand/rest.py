"""Calls to one algod over REST, by localnet's own HTTP session: the SDK's client would ask a proxy that is set."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from algosdk import account, encoding, mnemonic, transaction
from algosdk.atomic_transaction_composer import AccountTransactionSigner

from programs.missing import Missing

# A node takes a transaction into its pool before it passes it on, and answers so when it cannot pass it on. The only
# node of a network with ordinary rounds never can, and puts the transaction into a block.
QUEUE_FULL = "broadcast queue full"
_ASK_SECONDS, _CONFIRM_SECONDS, _PAUSE = 30.0, 60.0, 0.1


class NotAnswered(Exception):
    """The node could not be asked, or refused a transaction; the text says which."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account with its key; the key shows in no text."""

    address: str
    key: str = field(repr=False)

    @classmethod
    def of(cls, words: str) -> Account:
        """Return the account of a mnemonic of 25 words.

        Raises:
            Missing: They are not a mnemonic.
        """
        try:
            key = mnemonic.to_private_key(words.strip())
        except Exception as fault:  # the SDK raises several unrelated classes
            raise Missing(
                "the account that funds payers has no key: the file does not contain an Algorand mnemonic of 25 words",
                "ALGOD_FUNDER_FILE=FILE with the words of an account that holds Algos",
            ) from fault
        return cls(str(account.address_from_private_key(key)), key)


class Rest:
    """One algod with its token."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._session = session
        self._headers = {"X-Algo-API-Token": token}

    async def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return status and JSON object of an answer; the object is empty where the body is not one.

        Raises:
            NotAnswered: The node did not answer.
        """
        return await self._ask("GET", path, None)

    async def params(self) -> dict[str, Any]:
        """Return the node's suggested parameters.

        Raises:
            NotAnswered: It gave none.
        """
        status, answer = await self.get("/v2/transactions/params")
        if status != 200:
            raise NotAnswered(f"algod at {self.url} answered {status}: {answer.get('message', '')}")
        return answer

    async def send(
        self, make: Callable[[transaction.SuggestedParams], Any], signer: Account, *, wait: bool = True
    ) -> dict[str, Any]:
        """Send the transaction that `make` returns from suggested parameters, and `wait` for its block.

        Returns:
            What the node shows of the confirmed transaction; its id without `wait`.

        Raises:
            NotAnswered: The node refused it, or it was not confirmed in time.
        """
        suggested = await self.params()
        first, fee = suggested["last-round"], max(suggested["min-fee"], suggested["fee"])
        params = transaction.SuggestedParams(
            fee, first, first + 1000, suggested["genesis-hash"], suggested["genesis-id"], flat_fee=True
        )
        draft = make(params)
        (signed_transaction,) = AccountTransactionSigner(signer.key).sign_transactions([draft], [0])
        raw = base64.b64decode(encoding.msgpack_encode(signed_transaction))
        status, answer = await self._ask("POST", "/v2/transactions", raw)
        tx_id = str(draft.get_txid())
        if status != 200 and not (QUEUE_FULL in str(answer) and await self._has(tx_id)):
            raise NotAnswered(f"algod at {self.url} refused a transaction: {answer.get('message', status)}"[:300])
        return await self._wait_for_confirmation(tx_id) if wait else {"txId": tx_id}

    async def _has(self, tx_id: str) -> bool:
        status, _ = await self.get(f"/v2/transactions/pending/{tx_id}")
        return status == 200

    async def _wait_for_confirmation(self, tx_id: str) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + _CONFIRM_SECONDS
        while loop.time() < ends:
            _, info = await self.get(f"/v2/transactions/pending/{tx_id}")
            if info.get("confirmed-round"):
                return info
            if info.get("pool-error"):
                raise NotAnswered(f"algod at {self.url} dropped a transaction: {info['pool-error']}")
            await asyncio.sleep(_PAUSE)
        raise NotAnswered(f"algod at {self.url} put no transaction into a block within {_CONFIRM_SECONDS:g} s")

    async def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
        timeout = aiohttp.ClientTimeout(total=_ASK_SECONDS)
        try:
            async with self._session.request(
                method, self.url + path, data=body, headers=self._headers, timeout=timeout
            ) as response:
                status, text = response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            raise NotAnswered(f"no algod answers at {self.url}: {type(fault).__name__}") from fault
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        return status, answer if isinstance(answer, dict) else {}
