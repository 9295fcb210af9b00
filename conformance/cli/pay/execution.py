"""`weldproof pay`: pay a checkout link, or for one call of a rail, or go on with a payment that has no answer yet."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from conformance import extras
from conformance.cli.connection import connected
from conformance.cli.json_output import print_json
from conformance.cli.pay.attempt import Attempt, PaymentOpen, Steps
from conformance.cli.pay.call_payment import buy_call, finish_call, operation_at
from conformance.cli.pay.checkout_payment import finish_link, pay_link
from conformance.cli.pay.confirmation import Agreement, is_at_terminal, within_limits, yes
from conformance.cli.pay.kept_files import Kept
from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.pay.payment_file import NoPaymentFile, PaymentFile, State, has_payments, open_payment
from conformance.cli.private_files import InUse
from conformance.cli.targets import checked_nodes, named_profile
from conformance.cli.usage import UsageFault
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, JsonFault, Names, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import context_of
from conformance.lanes.spending import Wallet
from conformance.log.events import EventLog
from conformance.outcome import Exit, Inconclusive, PaidExit
from conformance.processes.interrupt import interruptible
from conformance.surfaces.gateway.paying import PaymentRefused, token_in
from conformance.target import ProfileError
from conformance.text.json_safe import json_safe
from conformance.vocabulary.lanes.registry import FACTS


def pay(
    ctx: click.Context,
    url: str | None,
    resumed: Path | None,
    lane: str | None,
    body: str | None,
    config: Path | None,
    receipt_file: Path | None,
    folder: Path | None,
    most: int,
    hosts: tuple[str, ...],
    seconds: float,
    main_network: bool,
    is_a2a: bool,
    again: bool,
    as_json: bool,
    cacert: Path | None,
    insecure: bool,
    timeout: float | None,
) -> None:
    """Do what `weldproof pay` says of itself; its options are declared beside its help."""
    _check_options(url, resumed, lane, body, again=again, is_a2a=is_a2a)
    profile = named_profile(config, (), ours=False)
    if profile is None:
        raise UsageFault("no profile: give --config, or start `weldproof up` in this folder, which writes one")
    profile = connected(profile, cacert=cacert, insecure=insecure, timeout=timeout)
    checked_nodes(profile, main_network=main_network)
    sent = _body(body)
    file = _file(url, resumed, sent, again=again)
    address = PaidAddress.of(file.record.url if file is not None else str(url))
    attempt = Attempt(
        profile,
        address,
        lane,
        sent,
        is_a2a,
        resumed is not None,
        again,
        seconds,
        _places(address.url, receipt_file, folder, file),
        receipt_file,
        Agreement(most, Wallet(main_network=main_network), hosts),
        Steps(quiet=as_json),
        _continuing_options(
            {"--config": config, "--receipt": receipt_file, "--keep": folder, "--cacert": cacert},
            hosts,
            timeout,
            insecure=insecure,
            main_network=main_network,
        ),
        file,
    )
    _end(ctx, attempt, as_json=as_json)


def _check_options(
    url: str | None, resumed: Path | None, lane: str | None, body: str | None, *, again: bool, is_a2a: bool
) -> None:
    """Refuse options that contradict each other, and a lane whose libraries are not installed.

    Raises:
        UsageFault: They contradict each other.
        MissingExtra: The lane's extra is not installed.
    """
    if lane is not None:
        extras.need(FACTS[lane].extra)
    if (url is None) == (resumed is None):
        raise UsageFault("give the address to pay, or --resume FILE for a payment that has no answer yet")
    if url is not None and is_a2a and token_in(url) is not None:
        raise UsageFault("--a2a is only for calls of the rail: a checkout page is paid by a transfer")
    if resumed is not None and (is_a2a or again or lane is not None or body is not None):
        raise UsageFault(
            "--resume continues one payment unchanged: it cannot be combined with --again, --a2a, --lane or --body"
        )


def _end(ctx: click.Context, attempt: Attempt, *, as_json: bool) -> None:
    """Do the work, say how it ended, and how to go on where a payment has no answer yet."""
    try:
        result, code, reason = _outcome(attempt)
    finally:
        if attempt.file is not None:
            attempt.file.close()
    record = None if attempt.file is None else attempt.file.record
    is_left = record is not None and record.may_have_paid
    if is_left and code is not PaidExit.PROOF_REFUSED:
        code = PaidExit.ANSWER_MISSING
    if reason is not None:
        attempt.steps.fail(reason)
    if record is not None and is_left:
        attempt.steps.proceed(record, attempt.resume_command())
    if as_json and (record is not None or result):
        payment = {} if record is None else {**record.report(), "file": str(attempt.payment.path)}
        ending = {"reason": reason} if reason is not None else {}
        ending |= {"resume": attempt.resume_command()} if is_left else {}
        # Claims of a receipt may hold what JSON in UTF-8 cannot.
        print_json(json_safe({**payment, **result, **ending}))
    if code is not Exit.PASSED:
        ctx.exit(code)


def _outcome(attempt: Attempt) -> tuple[dict[str, Any], Exit | PaidExit, str | None]:
    """Do the work; return the answer's members for `--json`, how the command ends, and why."""
    try:
        return asyncio.run(_work(attempt)), Exit.PASSED, None
    except PaymentOpen as left:
        return {}, left.code, str(left)
    except PaymentRefused as refusal:
        return {}, Exit.FAILED, str(refusal)
    except (Inconclusive, Unreachable, JsonFault, ProfileError) as fault:
        return {}, Exit.NO_VERDICT, str(fault)
    except asyncio.CancelledError:
        return {}, Exit.INTERRUPTED, "interrupted"
    except UsageFault as fault:
        if isinstance(fault, NoPaymentFile) or attempt.file is None or not attempt.file.record.may_have_paid:
            raise
        return {}, PaidExit.ANSWER_MISSING, fault.message
    except Exception:
        # What was paid must be found again, whatever this program tripped over.
        if attempt.file is not None and attempt.file.record.may_have_paid:
            attempt.steps.proceed(attempt.file.record, attempt.resume_command())
        raise


def _file(url: str | None, resumed: Path | None, body: Any, *, again: bool) -> PaymentFile | None:
    """Return the payment to go on with: the one that was named, or an open one of the same request.

    Raises:
        UsageFault: A file cannot be used, or another process works on it.
    """
    try:
        if resumed is not None:
            return PaymentFile.open(resumed)
        if url is None or again:
            return None
        return open_payment(PaidAddress.of(url).url, body, default_body=body is None)
    except InUse as fault:
        raise UsageFault(f"another `weldproof pay` already handles {fault}. Nothing was paid here") from fault


def _places(url: str, receipt_file: Path | None, folder: Path | None, file: PaymentFile | None) -> Kept | None:
    """Look at where things are to be kept while nothing is paid yet, and return the folder for the call.

    Raises:
        UsageFault: They cannot be kept there.
    """
    if token_in(url) is not None and (folder is not None or receipt_file is not None):
        raise UsageFault("--keep and --receipt are only for calls of the rail: a checkout page returns no receipt")
    if receipt_file is not None and not receipt_file.absolute().parent.is_dir():
        raise UsageFault(f"--receipt {receipt_file}: the folder does not exist")
    if folder is None:
        return None
    # An earlier process of the same payment may have begun to keep it there.
    return Kept.prepared(folder, begun=file is not None and file.record.folder == str(folder.absolute()))


def _continuing_options(
    paths: Mapping[str, Path | None], hosts: Sequence[str], timeout: float | None, *, insecure: bool, main_network: bool
) -> list[str]:
    """Return the options that a command which goes on with the payment needs as well."""
    words: list[str] = []
    for option, value in paths.items():
        words += [] if value is None else [option, str(value)]
    for host in hosts:
        words += ["--allow-host", host]
    words += [] if timeout is None else ["--timeout", f"{timeout:g}"]
    return words + ["--insecure"] * insecure + ["--main-network"] * main_network


def _body(text: str | None) -> Any:
    if text is None:
        return None
    try:
        raw = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return orjson.loads(raw)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"--body: {fault}") from fault


async def _work(attempt: Attempt) -> dict[str, Any]:
    """Pay, or go on with a payment, and return the answer's members for `--json`."""
    profile = attempt.profile
    await interruptible(attempt.agreement.at(attempt.address, profile))
    await interruptible(_offer_open(attempt))
    is_page = token_in(attempt.address.url) is not None
    asked = profile if is_page else attempt.address.rail(profile)
    transport = HttpTransport(
        seconds=profile.budgets.request, requests_per_second=0, connections=4, tls=context_of(profile.tls)
    )
    async with transport:
        names, log = Names(), EventLog()
        client = Client(transport, log, "pay", names, Counter())
        session = Session(asked, client, names, seed=0, wallet=attempt.agreement.wallet)
        try:
            if is_page:
                return await interruptible(_link(session, client, attempt))
            return await interruptible(_call(session, client, log, attempt))
        finally:
            await session.close()
            if attempt.file is not None and attempt.file.record.state is State.PREPARED:
                attempt.forget()


async def _offer_open(attempt: Attempt) -> None:
    """Show the open payment that is continued, and at a terminal ask first.

    Raises:
        PaymentRefused: That is not wanted, or nothing of the payment was ever signed.
    """
    file = attempt.file
    if file is None:
        return
    record = file.record
    attempt.steps.say("open payment", f"{attempt.described()}, presented to {record.url} only ({file.path})")
    if record.state in {State.PREPARED, State.NOT_PAID}:
        is_settled = await attempt.nothing_paid()
        if not is_settled:
            attempt.steps.fail(f"the balance of the paying account could not be returned: {attempt.resume_command()}")
        if attempt.is_resumed:
            raise PaymentRefused("that run paid nothing, and --resume starts no payment: give the address to pay")
        file.close()
        attempt.file = None
    elif attempt.lane is not None and attempt.lane != record.lane:
        raise PaymentOpen(
            f"{attempt.described()}: it has no answer yet, and --lane asks for another. Continue it, or give --again "
            f"to pay a second time"
        )
    elif not attempt.is_resumed and is_at_terminal() and not await yes(f"Continue {attempt.described()}?"):
        raise PaymentOpen(f"{attempt.described()}: it was not changed. Give --again to pay a second time")


async def _link(session: Session, client: Client, attempt: Attempt) -> dict[str, Any]:
    if attempt.file is not None:
        return await finish_link(session, client, attempt)
    return await pay_link(session, client, attempt, _agreeing(attempt))


async def _call(session: Session, client: Client, log: EventLog, attempt: Attempt) -> dict[str, Any]:
    if attempt.file is None:
        await session.open(rehearse=False)
        operation = operation_at(session, attempt.address, attempt.body)
        # A payment of the published example is one of the same request, whether its body was typed or not.
        if not attempt.again and has_payments(attempt.address.url):
            attempt.file = _open_one(attempt.address.url, operation.body)
            await _offer_open(attempt)
    if attempt.file is not None:
        record = attempt.file.record
        operation = Operation(record.role, record.url, record.path, record.body, ())
        return await finish_call(_case(session, client, log, record.lane), operation, attempt)
    lanes = attempt.profile.claims.lanes
    chosen = attempt.lane or next((name for name in lanes if attempt.profile.chains.of(name)), None)
    if chosen is None:
        raise PaymentRefused("the profile contains no chain node, so there is no lane to pay on")
    extras.need(FACTS[chosen].extra)
    return await buy_call(_case(session, client, log, chosen), operation, attempt, _agreeing(attempt))


def _open_one(url: str, body: Any) -> PaymentFile | None:
    try:
        return open_payment(url, body, default_body=False)
    except InUse as fault:
        raise PaymentRefused(f"another `weldproof pay` already handles {fault}. Nothing was paid here") from fault


def _agreeing(attempt: Attempt) -> Any:
    async def agree(units: int, payee: str, network: str) -> None:
        within_limits(attempt.profile, units, network)
        await attempt.agreement.reached(units, payee, network)

    return agree


def _case(session: Session, client: Client, log: EventLog, lane: str) -> Case:
    check = Check("pay", ("RAIL-PAY-05",), "rail", lane, exclusive=Exclusive.NOTHING, fix="", function=_no_check)
    return Case(check, session.profile, client, log, random.SystemRandom(), session)


async def _no_check(case: Case) -> None:
    """Judge nothing; paying is not a check."""
