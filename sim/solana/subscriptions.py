"""Subscriptions: what a client waits for, and what of it is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from solders.account import Account
from solders.pubkey import Pubkey

from sim.solana import views
from sim.solana.chain import Chain
from sim.solana.reads import program_filter
from sim.solana.rpc_call import Ask, invalid, read_key, read_level
from sim.solana.slots import FINAL_AFTER, Standing


class Subscription(Protocol):
    """Something that a client waits for.

    Attributes:
        notification: Method name of its notifications.
        is_done: Whether nothing will ever be due again.
    """

    notification: str
    is_done: bool

    def due(self) -> Iterator[Any]:
        """Yield the results that were not sent to the client yet."""


def _in_context(slot: int, value: Any) -> dict[str, Any]:
    return {"context": {"slot": slot}, "value": value}


class Signature:
    """One notification as soon as a transaction has reached a commitment."""

    notification = "signatureNotification"

    def __init__(self, chain: Chain, params: list[Any]) -> None:
        ask = _ask(chain, params)
        self._chain, self._signature = chain, ask.signature(0)
        self._level = read_level(ask.options(1).get("commitment"))
        self.is_done = False

    def due(self) -> Iterator[Any]:
        """Yield the outcome once."""
        entry = self._chain.ledger.get(self._signature)
        if entry is not None and Standing(self._chain.head.number).level(entry.slot) >= self._level:
            self.is_done = True
            yield _in_context(entry.slot, {"err": entry.outcome.err})


class Slots:
    """Every slot."""

    notification = "slotNotification"

    def __init__(self, chain: Chain, params: list[Any]) -> None:
        del params
        self._chain, self._last = chain, chain.head.number
        self.is_done = False

    def due(self) -> Iterator[Any]:
        """Yield the slots since the last one, at most as many as are new after a reorganisation."""
        head = self._chain.head.number
        for number in range(self._last + 1, head + 1):
            yield {"parent": number - 1, "root": number - FINAL_AFTER, "slot": number}
        self._last = head


class Roots:
    """Every slot that becomes final."""

    notification = "rootNotification"

    def __init__(self, chain: Chain, params: list[Any]) -> None:
        del params
        self._chain, self._last = chain, chain.head.number - FINAL_AFTER
        self.is_done = False

    def due(self) -> Iterator[Any]:
        """Yield the numbers since the last one."""
        root = self._chain.head.number - FINAL_AFTER
        yield from range(self._last + 1, root + 1)
        self._last = root


class OneAccount:
    """Every change of an account at a commitment."""

    notification = "accountNotification"

    def __init__(self, chain: Chain, params: list[Any]) -> None:
        ask = _ask(chain, params)
        self._chain, self._key, options = chain, ask.key(0), ask.options(1)
        self._level = read_level(options.get("commitment"))
        self._encoding = str(options.get("encoding") or "binary")
        self._last = self._now()
        self.is_done = False

    def _slot(self) -> int:
        return Standing(self._chain.head.number).slot(self._level)

    def _now(self) -> Account | None:
        return self._chain.account(self._key, self._slot())

    def due(self) -> Iterator[Any]:
        """Yield the account when it differs from what was sent last."""
        slot, now = self._slot(), self._now()
        if now != self._last:
            self._last = now
            empty_account = Account(0, b"", Pubkey.default())
            yield _in_context(slot, views.account(self._chain, now or empty_account, self._encoding, slot))


class ProgramAccounts:
    """Every change of a program's accounts at a commitment."""

    notification = "programNotification"

    def __init__(self, chain: Chain, params: list[Any]) -> None:
        ask = _ask(chain, params)
        options = ask.options(1)
        self._chain, self._fits = chain, program_filter(ask.key(0), options)
        self._level = read_level(options.get("commitment"))
        self._encoding = str(options.get("encoding") or "binary")
        self._last = self._now()
        self.is_done = False

    def _now(self) -> dict[Pubkey, Account]:
        slot = Standing(self._chain.head.number).slot(self._level)
        return {key: account for key, account in self._chain.accounts.all_at(slot) if self._fits(account)}

    def due(self) -> Iterator[Any]:
        """Yield the accounts that differ from what was sent last."""
        slot = Standing(self._chain.head.number).slot(self._level)
        last, self._last = self._last, self._now()
        for key, account in self._last.items():
            if account is not last.get(key):
                view = views.account(self._chain, account, self._encoding, slot)
                yield _in_context(slot, {"pubkey": str(key), "account": view})


class Logs:
    """The logs of every transaction, or of those that name an account."""

    notification = "logsNotification"

    def __init__(self, chain: Chain, params: list[Any]) -> None:
        ask = _ask(chain, params)
        self._chain, self._key = chain, _read_mention(ask.at(0))
        self._level = read_level(ask.options(1).get("commitment"))
        self._last = self._slot()
        self.is_done = False

    def _slot(self) -> int:
        """A slot's logs are sent when it has closed."""
        return min(Standing(self._chain.head.number).slot(self._level), self._chain.head.number - 1)

    def due(self) -> Iterator[Any]:
        """Yield the logs of the slots since the last one."""
        last, self._last = self._last, self._slot()
        for entry in self._chain.ledger.after(last):
            if entry.slot <= self._last and (self._key is None or self._key in entry.sent.keys):
                logs = {
                    "signature": entry.sent.id,
                    "err": entry.outcome.err,
                    "logs": list(entry.outcome.logs),
                }
                yield _in_context(entry.slot, logs)


def _read_mention(filter_member: Any) -> Pubkey | None:
    if filter_member in ("all", "allWithVotes"):
        return None
    mentions = filter_member.get("mentions") if isinstance(filter_member, dict) else None
    if not isinstance(mentions, list) or len(mentions) != 1:
        raise invalid("Invalid Request: Only 1 address supported")
    return read_key(str(mentions[0]))


def _ask(chain: Chain, params: list[Any]) -> Ask:
    return Ask(chain, params, Standing(chain.head.number))


OPENERS: Mapping[str, Callable[[Chain, list[Any]], Subscription]] = {
    "signatureSubscribe": Signature,
    "slotSubscribe": Slots,
    "rootSubscribe": Roots,
    "accountSubscribe": OneAccount,
    "programSubscribe": ProgramAccounts,
    "logsSubscribe": Logs,
}
