"""`weldproof pay`: pay a checkout link, or for one call of the rail, on one lane; print every step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import orjson

from conformance import extras
from conformance.cli.agreeing import Agreement, in_usdc, within_limits
from conformance.cli.connection import connected
from conformance.cli.paid_address import PaidAddress
from conformance.cli.pay_keeping import RECEIPT, Kept
from conformance.cli.targets import checked_nodes, named_profile
from conformance.cli.usage import UsageFault
from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case, Check
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, JsonFault, Names, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import context_of
from conformance.lanes.spending import Wallet
from conformance.log.events import EventLog
from conformance.oracles import hashing, jose, keys
from conformance.outcome import Exit, Inconclusive
from conformance.processes.interrupt import interruptible
from conformance.surfaces.gateway.paying import Agree, PaymentRefused, pay_checkout, token_in
from conformance.surfaces.rail.purchase import Challenge, Purchase, challenge, name_live_values, redeem
from conformance.target import Profile, ProfileError
from conformance.text.untrusted import one_line
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import network_named

_MINIMUM_SECONDS_LEFT = 120
# Digits of a moment in unix seconds, and of an amount in atomic units; what is longer is another number.
_LONGEST_NUMBER = 20
# Letters of what the other side said that are shown.
_SHOWN = 1000


def pay(
    ctx: click.Context,
    url: str,
    lane: str | None,
    body: str | None,
    config: Path | None,
    receipt_file: Path | None,
    folder: Path | None,
    most: int,
    hosts: tuple[str, ...],
    main_network: bool,
    as_json: bool,
    **connection: Any,
) -> None:
    """Do what `weldproof pay` says of itself; its options are declared beside its help."""
    profile = named_profile(config, (), ours=False)
    if profile is None:
        raise UsageFault("no profile: give --config, or start `weldproof up` in this folder, which writes one")
    profile = connected(profile, connection)
    checked_nodes(profile, main_network=main_network)
    address = PaidAddress.of(url)
    sent = _body(body)
    if lane is not None:
        extras.need(FACTS[lane].extra)
    kept = _places(url, receipt_file, folder)
    steps = _Steps(quiet=as_json)
    try:
        agreement = Agreement(most, Wallet(main_network=main_network), hosts)
        result = asyncio.run(_pay(profile, address, lane, sent, steps, kept, agreement))
    except PaymentRefused as reason:
        steps.fail(str(reason))
        ctx.exit(Exit.FAILED)
    except (Inconclusive, Unreachable, JsonFault, ProfileError) as reason:
        steps.fail(str(reason))
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        ctx.exit(Exit.INTERRUPTED)
    if "payable_receipt" in result:
        result |= _keep_receipt(result["payable_receipt"], result.pop("jwks"), receipt_file, kept, steps)
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))


def _places(url: str, receipt_file: Path | None, folder: Path | None) -> Kept | None:
    """Look at where things are to be kept while nothing is paid yet, and return the folder for the call.

    Raises:
        UsageFault: They cannot be kept there.
    """
    if token_in(url) is not None and (folder is not None or receipt_file is not None):
        raise UsageFault("--keep and --receipt are for calls of the rail: a checkout page gives no receipt")
    if receipt_file is not None and not receipt_file.absolute().parent.is_dir():
        raise UsageFault(f"--receipt {receipt_file}: there is no such folder")
    return Kept.prepared(folder) if folder is not None else None


def _keep_receipt(token: str, jwks: str, receipt_file: Path | None, kept: Kept | None, steps: _Steps) -> dict[str, str]:
    """Keep a receipt, and return where, with the command that verifies it with all that was kept beside it.

    Raises:
        UsageFault: It cannot be written.
    """
    usual = f"receipt-{hashing.sha256_hex(token.encode())[:16]}.jws"
    path = receipt_file or (kept.folder / RECEIPT if kept is not None else Path(usual))
    try:
        path.write_text(f"{token}\n", "ascii")
    except OSError as fault:
        # It was paid for: where it cannot be kept it is shown.
        click.echo(token, err=True)
        raise UsageFault(f"{path}: {fault.strerror}; the receipt stands above") from fault
    steps.say("receipt kept", str(path))
    verifying = kept.verification(path, jwks) if kept is not None else None
    if verifying is None:
        return {"kept": str(path)}
    steps.say("verify it", verifying)
    return {"kept": str(path), "verify": verifying}


class _Steps:
    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, step: str, detail: str) -> None:
        if not self._quiet:
            click.echo(f"{click.style(step + ':', bold=True)} {one_line(detail, _SHOWN)}")

    def fail(self, reason: str) -> None:
        click.echo(f"{click.style('weldproof pay:', fg='red', bold=True)} {one_line(reason, _SHOWN)}", err=True)


def _body(text: str | None) -> Any:
    if text is None:
        return None
    try:
        raw = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return orjson.loads(raw)
    except (OSError, orjson.JSONDecodeError) as fault:
        raise UsageFault(f"--body: {fault}") from fault


async def _pay(
    profile: Profile,
    address: PaidAddress,
    lane: str | None,
    body: Any,
    steps: _Steps,
    kept: Kept | None,
    agreement: Agreement,
) -> dict[str, Any]:
    await interruptible(agreement.at(address, profile))
    is_page = token_in(address.url) is not None
    asked = profile if is_page else address.rail(profile)
    log = EventLog()
    tls = context_of(profile.tls)
    transport = HttpTransport(seconds=profile.budgets.request, requests_per_second=0, connections=4, tls=tls)
    async with transport:
        names = Names()
        client = Client(transport, log, "pay", names, Counter())
        session = Session(asked, client, names, seed=0, wallet=agreement.wallet)

        async def agree(units: int, payee: str, network: str) -> None:
            within_limits(profile, units, network)
            await agreement.reached(units, payee, network)

        try:
            if is_page:
                return await interruptible(pay_checkout(session, client, address.url, lane, steps.say, agree))
            await session.open(rehearse=False)
            chosen = lane or next((name for name in profile.claims.lanes if profile.chains.of(name)), None)
            if chosen is None:
                raise PaymentRefused("the profile gives no chain node, so there is no lane to pay on")
            extras.need(FACTS[chosen].extra)
            one = Check("pay", ("RAIL-PAY-05",), "rail", chosen, exclusive=False, fix="", run=_no_check)
            case = Case(one, asked, client, log, random.SystemRandom(), session)
            return await interruptible(_buy(case, address, body, steps, kept, agree))
        finally:
            await session.close()


async def _buy(
    case: Case, address: PaidAddress, body: Any, steps: _Steps, kept: Kept | None, agree: Agree
) -> dict[str, Any]:
    operation = _operation(case.session, address, body)
    quote = await challenge(case, operation)
    entry = quote.entry(case.lane)
    network, units = _price(case, entry)
    steps.say("challenge", f"{in_usdc(units)} USDC on {network} to {entry.get('payTo')}")
    await agree(units, str(entry.get("payTo")), network)
    _worth_paying(case, quote)
    proof = await (await case.session.payer(case.lane)).pay(entry)
    name_live_values(case, proof)
    steps.say("paid", f"on {case.lane}, {proof.get('tx_id', 'authorized')}")
    answer = await redeem(case, operation, proof)
    if answer.status != 200:
        raise PaymentRefused(f"the rail answered {answer.status}: {answer.body.decode('utf-8', 'replace')[:500]}")
    steps.say("served", f"200 with {len(answer.body)} bytes")
    bought = Purchase(quote, case.lane, proof, answer)
    if kept is not None:
        _keep(kept, bought, steps)
    return await _receipt(case, bought, steps)


def _keep(kept: Kept, bought: Purchase, steps: _Steps) -> None:
    """Keep a call before its receipt is looked at: it is paid for, whatever the receipt is worth."""
    try:
        kept.call(bought)
    except OSError as fault:
        steps.fail(f"--keep {kept.folder}: {fault.strerror}; go on without")
    else:
        steps.say("call kept", f"request, answer and settlement in {kept.folder}")


def _operation(session: Session, address: PaidAddress, body: Any) -> Operation:
    """Return the operation that an address names, with the address's own query.

    Raises:
        PaymentRefused: The rail lists none there.
        Inconclusive: It lists none at all.
    """
    known = next((one for one in session.listed if one.url == address.bare), None)
    if known is None:
        listed = ", ".join(one.path for one in session.listed)
        raise PaymentRefused(f"{address.bare} is none of the rail's paid operations: {listed}. Nothing was paid")
    return Operation(known.role, address.url, known.path, known.body if body is None else body, ())


async def _no_check(case: Case) -> None:
    """Judge nothing; paying is not a check."""


def _price(case: Case, entry: Mapping[str, Any]) -> tuple[str, int]:
    """Return network key and millionths of USDC of an offer.

    Raises:
        PaymentRefused: It asks for another asset than the USDC of the profile's node, or for no amount.
    """
    chain = case.profile.chains.of(case.lane)
    if chain is None:
        raise PaymentRefused(f"the profile has no [chains.{case.lane}], so nothing can be paid on that lane")
    network = chain.network
    usdc, asset, amount = network_named(network), entry.get("asset"), str(entry.get("maxAmountRequired"))
    if usdc is None or not usdc.is_asset(str(asset)):
        known = f"USDC of {network} is {usdc.asset_id}" if usdc is not None else f"no USDC of {network} is known"
        raise PaymentRefused(f"the challenge asks for the asset {asset}, and {known}. Nothing was paid")
    if not (amount.isascii() and amount.isdecimal() and len(amount) <= _LONGEST_NUMBER):
        raise PaymentRefused(f"the challenge's maxAmountRequired {amount} is no amount. Nothing was paid")
    return network, int(amount)


def _worth_paying(case: Case, quote: Challenge) -> None:
    """Refuse to pay a challenge of another request or one that is about to lapse (P-CH-12)."""
    extra = quote.entry(case.lane).get("extra")
    if not isinstance(extra, Mapping):
        raise PaymentRefused("the challenge's offer has no object `extra`; nothing was paid")
    told = extra.get("request_hash")
    operation = quote.operation
    ours = hashing.request_hashes("POST", operation.path, operation.query, b"", quote.body, extra.get("service_id"))
    if isinstance(told, str) and not any(told in values for values in ours.values()):
        raise PaymentRefused("the challenge is for another request (extra.request_hash differs); nothing was paid")
    issued = quote.reference(case.lane).split(":", 1)[0]
    ttl = case.profile.rail_bindings.challenge_ttl or quote.entry(case.lane).get("maxTimeoutSeconds")
    moment = int(issued) if issued.isdecimal() and len(issued) <= _LONGEST_NUMBER else None
    if moment is not None and isinstance(ttl, int) and moment + ttl - clock.now(case) < _MINIMUM_SECONDS_LEFT:
        raise PaymentRefused("the challenge has less than 120 s left; ask again. Nothing was paid")


async def _receipt(case: Case, bought: Purchase, steps: _Steps) -> dict[str, Any]:
    tokens = jose.tokens_in(bought.answer.object(), bought.answer.headers)
    jwks = case.session.rail + "/.well-known/jwks.json"
    published = keys.keys_of_jwks((await case.client.call("GET", jwks)).object())
    for place, token in tokens:
        try:
            claims = jose.verify(token, published)
        except jose.JwsFault:
            continue
        if "request_hash" in claims or "payable" in str(claims.get("kind", "")):
            steps.say("receipt", f"verified against the published key ({place})")
            digest = hashing.sha256_hex(token.encode())
            return {
                "payable_receipt": token,
                "claims": claims,
                "receipt_hash": digest,
                "proof": dict(bought.proof),
                "jwks": jwks,
            }
    raise PaymentRefused("the answer holds no receipt that verifies against the rail's published keys")
