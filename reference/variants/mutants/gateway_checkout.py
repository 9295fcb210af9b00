"""Mutants of the checkout: each drops one rule of specification 3.5, P-CK-01 to P-CK-08."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

import base58
from PIL import Image
from quart import Response, request
from sqlalchemy import select

from reference.gateway import refusals
from reference.gateway.checkout import page, qr
from reference.gateway.checkout.page import Page
from reference.gateway.checkout.routes import Routes
from reference.gateway.checkout.settling import Settling, Status
from reference.gateway.checkout.watcher import Watcher
from reference.gateway.links import PaymentLinks
from reference.lanes.algorand.finder import AlgorandFinder
from reference.lanes.base.lane import BaseLane
from reference.lanes.node import Node
from reference.lanes.solana.lane import SolanaLane
from reference.protocol import checkout
from reference.protocol.checkout import Asked, LinkState
from reference.protocol.eip3009 import follows, nonce_of
from reference.protocol.networks import NETWORKS, same_address
from reference.protocol.observed import ObservedTransaction, Transfer, TxStatus
from reference.protocol.purposes import checkout_reference
from reference.store.checkout_tables import links
from reference.store.links import Link, Links
from reference.store.tenant_tables import payouts
from reference.variants.mutants.mutant import Mutant
from reference.variants.mutants.payments import close_out_counts
from reference.variants.seams import Rule, replace, replace_rule, swap
from reference.web.errors import Refused

_PLAIN_TRANSFER = bytes.fromhex("a9059cbb")
_SERVICE = "0x5EB0000000000000000000000000000000000001"


def _always(*_: object) -> bool:
    return True


# The memo's binding.


async def _active(self: Settling, network: str, seen: ObservedTransaction) -> Sequence[Link]:
    """Return every active link of a network: which of them a transaction pays is left to the rule."""
    del seen
    wanted = select(*(links.c[name] for name in Link.__slots__)).where(
        links.c.network == network, links.c.watched_until.is_(None)
    )
    return [Link(*row) for row in await self.links._database.rows(wanted)]  # noqa: SLF001 - a mutant reaches in


def _bound_by(rule: Rule, other: Rule) -> Callable[[], None]:
    """Return what binds transactions of a lane by another rule."""

    def apply() -> None:
        replace(Settling, "bound", lambda _: _active)
        replace_rule(checkout, rule, other)

    return apply


def _note(holds: Callable[[str, str], bool]) -> Callable[[], None]:
    """Return what compares Algorand's note with the memo in another way."""

    def rule(_: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
        return bool(seen.note) and holds(seen.note.decode("utf-8", "replace"), asked.memo)

    return _bound_by(checkout.note_is_memo, rule)


def _exact_amount(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    del seen
    return transfer.value == asked.atomic


def _reference_or_memo(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    word, _, token = asked.memo.partition(":")
    named = checkout_reference(word, token) in transfer.accounts
    return named or asked.memo.encode() in seen.memos


def _inner_memos() -> None:
    """Memos of inner instructions count as the transaction's."""

    def generous(observed: Callable[..., Any]) -> Callable[..., Any]:
        async def observe(self: SolanaLane, found: Mapping[str, Any], tx_id: str, *, final: bool) -> Any:
            seen = await observed(self, found, tx_id, final=final)
            listed = (one for group in found["meta"].get("innerInstructions") or () for one in group["instructions"])
            inner = tuple(base58.b58decode(one["data"]) for one in listed)
            return changed(seen, memos=(*seen.memos, *inner))

        return observe

    replace(SolanaLane, "_observed", generous)


def _used_anywhere(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    uses = seen.authorizations_used
    return any(used.nonce == nonce_of(asked.memo) and follows(transfer.ordinal, used.ordinal) for used in uses)


def _anywhere_after() -> None:
    """A transfer anywhere after the authorization's use counts as its own."""
    replace(checkout, "follows", lambda _: lambda ordinal, used: ordinal > used)


def _suffix(other: Rule) -> Callable[[], None]:
    """Return what reads the call data of Base's transactions and binds them by a rule of its own."""

    def reading(made: Callable[..., None]) -> Callable[..., None]:
        def init(self: BaseLane, *given: Any, **named: Any) -> None:
            made(self, *given, **{**named, "reads_calldata": True})

        return init

    def apply() -> None:
        replace(BaseLane, "__init__", reading)
        _bound_by(checkout.calldata_ends_in_memo, other)()

    return apply


def _somewhere_behind(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    del transfer
    straight = same_address(asked.network, seen.called, asked.network.asset_id)
    return straight and seen.calldata.startswith(_PLAIN_TRANSFER) and asked.memo.encode() in seen.calldata


def _whoever_is_called(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    del transfer
    straight = same_address(asked.network, seen.called, asked.network.asset_id)
    return not straight and seen.calldata.endswith(asked.memo.encode())


def _several_memos() -> None:
    """Each line of a note counts as a memo, and a transfer pays every link that it names."""
    _note(lambda note, memo: memo in note.split("\n"))()
    _transfers_free()


# What moved.


def _nearly(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    del seen
    return transfer.value * 100 >= asked.atomic * 99


_PARTS: dict[str, dict[tuple[int, int], int]] = {}


def _parts_added(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
    if seen.note != asked.memo.encode():
        return transfer.value >= asked.atomic
    parts = _PARTS.setdefault(asked.memo, {})
    parts[seen.block_time, transfer.value] = transfer.value
    return sum(parts.values()) >= asked.atomic


def _any_tenant() -> None:
    """A link is paid at the payout address of any tenant."""
    known: set[str] = set()

    def generous(pay: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def paid(self: Settling, link: Link, *given: Any) -> Any:
            wanted = select(payouts.c.payout_address).where(payouts.c.network == link.network)
            rows = await self._database.rows(wanted)
            known.update(changed(self.asked(link), pay_to=address).credited for (address,) in rows)
            return await pay(self, link, *given)

        return paid

    def to_any(transfer: Transfer, seen: ObservedTransaction, asked: Asked) -> bool:
        del seen
        return any(same_address(asked.network, transfer.receiver, one) for one in known)

    replace(Settling, "pay", generous)
    replace_rule(checkout, checkout.is_to_payout_address, to_any)


def _any_network() -> None:
    """What is seen on a network pays links of every network of its family."""

    def of_family(listed: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def found(self: Links, network: str, *given: Any, **named: Any) -> Any:
            family = NETWORKS[network].family
            networks = [key for key, one in NETWORKS.items() if one.family == family]
            parts = [await listed(self, key, *given, **named) for key in networks]
            return any(parts) if isinstance(parts[0], bool) else [one for part in parts for one in part]

        return found

    def as_if_of(bound: Callable[..., Awaitable[Sequence[Link]]]) -> Callable[..., Awaitable[Sequence[Link]]]:
        async def links_of(self: Settling, network: str, seen: ObservedTransaction) -> Sequence[Link]:
            found = list(await bound(self, network, seen))
            for key, one in NETWORKS.items():
                if one.family == NETWORKS[network].family and key != network:
                    used = tuple(changed(use, asset=one.asset_id) for use in seen.authorizations_used)
                    others = await bound(self, key, changed(seen, authorizations_used=used))
                    found += [changed(other, network=network) for other in others]
            return found

        return links_of

    for name in ("addresses", "new_addresses", "has_active"):
        replace(Links, name, of_family)
    replace(Settling, "bound", as_if_of)


def _any_asset() -> None:
    """A transfer of any asset counts, as far as the search shows it."""

    def generous(payments: Callable[..., Any]) -> Callable[..., Any]:
        def listed(self: AlgorandFinder, signed: Any, block: Mapping[str, Any] | None = None) -> Any:
            found = []
            for one in signed or ():
                asset = one.get("txn", {}).get("xaid")
                mine, self._asset = self._asset, asset if isinstance(asset, int) else 0
                found += payments(self, [one], block)
                self._asset = mine
            return tuple(found)

        return listed

    replace(AlgorandFinder, "_payments", generous)
    replace_rule(checkout, checkout.is_right_asset, _always)


def _failures_unseen() -> None:
    """What a node tells of errors is not looked at."""

    def deaf(post: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def posted(self: Node, *given: Any) -> Any:
            return _without_errors(await post(self, *given))

        return posted

    replace(Node, "post", deaf)


def _without_errors(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: None if name == "err" else _without_errors(value) for name, value in document.items()}
    return [_without_errors(one) for one in document] if isinstance(document, list) else document


def _pool_counts() -> None:
    """A transaction that waits in the node's pool counts as seen and final."""

    def eager(search: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def found(self: Watcher, address: str, *given: Any) -> Any:
            look = await search(self, address, *given)
            for tx_id in await self._lane.finder.waiting(address):
                seen = await self._lane.observe(tx_id)
                for link in await self._settling.bound(self.network, seen):
                    await self._settle(link, tx_id, changed(seen, status=TxStatus.CONFIRMED, final=True))
            return look

        return found

    replace(Watcher, "_search", eager)


def _transfers_free() -> None:
    """A transfer that paid a link may pay another: it is entered anew under another place in its transaction."""

    def anew(payment: Callable[..., Any]) -> Callable[..., Any]:
        def made(self: Settling, link: Link, *given: Any) -> Any:
            return changed(payment(self, link, *given), ordinal=int(link.id[:6], 16))

        return made

    replace(Settling, "_payment", anew)


# Detection and state.


async def _nothing(*_: object) -> None:
    """Do nothing."""


_SHOWN_PAID: set[str] = set()


def _forgets(status: Callable[..., Awaitable[Status]]) -> Callable[..., Awaitable[Status]]:
    """A link is active again once its page has shown Paid."""

    async def forgetful_status(self: Settling, link: Link) -> Status:
        found = await status(self, link)
        if found.state is not LinkState.PAID:
            return found
        first = link.id not in _SHOWN_PAID
        _SHOWN_PAID.add(link.id)
        return found if first else Status(LinkState.ACTIVE, found.redirect_url, None)

    return forgetful_status


def _expires_paid(status: Callable[..., Awaitable[Status]]) -> Callable[..., Awaitable[Status]]:
    """Time ends paid links, too."""

    async def expiring_status(self: Settling, link: Link) -> Status:
        found = await status(self, link)
        over = self._clock.now() > link.expires_at
        return Status(LinkState.EXPIRED, found.redirect_url, None) if over else found

    return expiring_status


# The page.


def _payable(**members: Callable[[Link], Any]) -> Callable[[], None]:
    """Return what changes what a page shows of an open link."""

    def other(payable: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def made(self: Page, link: Link, asked: Asked) -> dict[str, Any]:
            return {**payable(self, link, asked), **{name: give(link) for name, give in members.items()}}

        return made

    return lambda: replace(Page, "_payable", other)


def _paid_early() -> None:
    page._WORDS[LinkState.ACTIVE] = "Paid"  # noqa: SLF001 - a mutant reaches in


def _to_cents(pretty: Callable[..., str]) -> Callable[..., str]:
    return lambda microunits, label: pretty(microunits // 10_000 * 10_000, label)


def _large_to_cents(pretty: Callable[..., str]) -> Callable[..., str]:
    """Show amounts from a hundred USDC on to the cent."""

    def shown(microunits: int, label: str) -> str:
        return pretty(microunits // 10_000 * 10_000 if microunits >= 100_000_000 else microunits, label)

    return shown


def _in_thousands(pretty: Callable[..., str]) -> Callable[..., str]:
    """Show amounts from a thousand USDC on with a mark for thousands, and without their fraction."""

    def shown(microunits: int, label: str) -> str:
        thousands, whole = divmod(microunits // 1_000_000, 1000)
        return f"{thousands}.{whole:03} {label}" if thousands else pretty(microunits, label)

    return shown


def _blank(_: Callable[[str], bytes]) -> Callable[[str], bytes]:
    def png(payload: str) -> bytes:
        out = io.BytesIO()
        Image.new("L", (100 + len(payload) % 2, 100), 255).save(out, "png")
        return out.getvalue()

    return png


def _only_the_page(_: Callable[..., str]) -> Callable[..., str]:
    return lambda self, link: f"{self._settings.public_url}/checkout/{link.token}"


def _code_elsewhere(payload: Callable[..., str]) -> Callable[..., str]:
    """The code, and the link that opens a wallet with it, charge to another address than the page shows."""
    return lambda self, link: payload(self, link).replace(link.pay_to, _SERVICE)


def _to_the_service(network: Callable[..., Awaitable[tuple[Any, str]]]) -> Callable[..., Awaitable[tuple[Any, str]]]:
    """Payers pay an account of the service."""

    async def chosen(self: PaymentLinks, *given: Any) -> tuple[Any, str]:
        return (await network(self, *given))[0], _SERVICE

    return chosen


def _any_page(find: Callable[..., Awaitable[Link]]) -> Callable[..., Awaitable[Link]]:
    """An unknown token is shown some page."""

    async def found(self: Routes, token: str) -> Link:
        try:
            return await find(self, token)
        except Refused:
            return await _some(self._settling)

    return found


async def _some(settling: Settling) -> Link:
    rows = await settling.links._database.rows(select(*(links.c[name] for name in Link.__slots__)).limit(1))  # noqa: SLF001 - a mutant reaches in
    if not rows:
        raise refusals.not_found()
    return Link(*rows[0])


def _by_order(shown: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """What is shown of a link is kept for links of the same tenant, amount and label."""
    kept: dict[tuple[Any, ...], Link] = {}

    async def first_of_its_kind(self: Routes, link: Link, body: Any) -> Response:
        if (await self._settling.status(link)).state is LinkState.ACTIVE:
            link = kept.setdefault((link.tenant_id, link.network, link.amount_microunits, link.label), link)
        return await shown(self, link, body)

    return first_of_its_kind


def _closed(show: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """The page wants credentials."""

    async def shown(self: Routes, link: Link, body: Any) -> Response:
        if "Authorization" not in request.headers:
            raise refusals.invalid_api_key()
        return await show(self, link, body)

    return shown


def _rule(rule: Rule, other: Rule) -> Callable[[], None]:
    return lambda: replace_rule(checkout, rule, other)


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(id_, rule, apply, "gateway")
    for id_, rule, apply in (
        ("checkout-memo-ignored", "the memo binds (3.5)", _bound_by(checkout.note_is_memo, _exact_amount)),
        ("checkout-memo-begins", "nothing stands after the memo (3.5)", _note(str.startswith)),
        ("checkout-memo-ends", "nothing stands before the memo (3.5)", _note(str.endswith)),
        (
            "checkout-memo-any-case",
            "the memo counts letter by letter (3.5)",
            _note(lambda a, b: a.lower() == b.lower()),
        ),
        ("checkout-memo-trimmed", "the memo has no white space (3.5)", _note(lambda note, memo: note.strip() == memo)),
        ("checkout-memo-cut", "the memo is whole (3.5)", _note(lambda note, memo: note in {memo, memo[:-1]})),
        ("checkout-token-alone", "the memo has its prefix (3.5)", _note(lambda a, b: a in {b, b.partition(":")[2]})),
        ("checkout-memos-several", "a note is one memo (P-CK-08)", _several_memos),
        ("checkout-inner-memo", "a memo is a top-level instruction (3.5)", _inner_memos),
        (
            "checkout-reference-binds",
            "the reference binds nothing (3.5)",
            _bound_by(checkout.has_memo_instruction, _reference_or_memo),
        ),
        (
            "checkout-nonce-ignored",
            "the nonce is the memo's hash (3.5)",
            _bound_by(checkout.uses_bound_nonce, _exact_amount),
        ),
        (
            "checkout-nonce-of-any",
            "the asset itself tells of the authorization's use (3.5)",
            _bound_by(checkout.uses_bound_nonce, _used_anywhere),
        ),
        ("checkout-follows-later", "the transfer is the log after the authorization's (3.5)", _anywhere_after),
        ("checkout-suffix-contains", "nothing stands beside the memo (3.5)", _suffix(_somewhere_behind)),
        ("checkout-suffix-any-call", "the memo follows a transfer at the asset (3.5)", _suffix(_whoever_is_called)),
        ("checkout-less", "the value is the amount or more (3.5)", _rule(checkout.is_enough, _always)),
        ("checkout-nearly", "the value is the amount, to the unit (3.5)", _rule(checkout.is_enough, _nearly)),
        ("checkout-parts-added", "parts are not added up (3.5)", _rule(checkout.is_enough, _parts_added)),
        (
            "checkout-any-recipient",
            "the payout address is credited (3.5)",
            _rule(checkout.is_to_payout_address, _always),
        ),
        ("checkout-any-tenant", "the payout address is that of the link's tenant (3.5)", _any_tenant),
        ("checkout-close-out", "what a close-out moves is no payment (P-LN-09)", close_out_counts),
        ("checkout-any-network", "a link is paid on its own network (3.5)", _any_network),
        ("checkout-any-asset", "the asset is the network's USDC (3.5)", _any_asset),
        ("checkout-failed", "the transaction succeeded (3.5)", _failures_unseen),
        ("checkout-pool", "the transaction is final (3.5)", _pool_counts),
        ("checkout-transfer-twice", "a transfer pays once (P-CK-08)", _transfers_free),
        (
            "checkout-welded-pays",
            "what is welded to a call pays no link (decision 0045)",
            _rule(checkout.is_for_this_link, _always),
        ),
        ("checkout-unwatched", "payments are found by themselves (3.5)", swap(Watcher, "round", lambda _: _nothing)),
        ("checkout-forgets", "paid is final (3.5)", swap(Settling, "status", _forgets)),
        ("checkout-expires-paid", "paid is final, whatever the time (3.5)", swap(Settling, "status", _expires_paid)),
        ("checkout-closed", "the page wants no credentials (3.1)", swap(Routes, "_show", _closed)),
        ("checkout-no-code", "the page shows a QR code (P-CK-01)", swap(qr, "png", _blank)),
        ("checkout-code-of-page", "the code says the address (3.5)", swap(Page, "payload", _only_the_page)),
        (
            "checkout-code-elsewhere",
            "the code charges what the page shows (3.5)",
            swap(Page, "payload", _code_elsewhere),
        ),
        ("checkout-no-address", "the page shows the address (P-CK-01)", _payable(address=lambda _: "see your wallet")),
        ("checkout-no-memo", "the page shows the memo (P-CK-01)", _payable(memo=lambda _: "")),
        ("checkout-one-memo", "each link has its memo (3.5)", _payable(memo=lambda _: "weldproof:checkout")),
        ("checkout-to-cents", "the page shows the exact amount (P-CK-01)", swap(page, "amount_pretty", _to_cents)),
        (
            "checkout-large-to-cents",
            "the page shows the exact amount (P-CK-01)",
            swap(page, "amount_pretty", _large_to_cents),
        ),
        (
            "checkout-thousands",
            "the page shows the exact amount (P-CK-01)",
            swap(page, "amount_pretty", _in_thousands),
        ),
        ("checkout-paid-early", "Paid is nowhere before payment (P-CK-01)", _paid_early),
        (
            "checkout-service-address",
            "funds go to the payout address",
            swap(PaymentLinks, "_network", _to_the_service),
        ),
        ("checkout-page-by-order", "a page is its link's (P-CK-01)", swap(Routes, "_show", _by_order)),
        ("checkout-code-by-order", "a code is its link's (3.5)", swap(Routes, "_qr", _by_order)),
        ("checkout-any-token", "an unknown token is 404 (P-CK-03)", swap(Routes, "_link", _any_page)),
    )
)
