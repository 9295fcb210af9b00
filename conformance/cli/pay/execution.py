"""`weldproof pay`: pays a checkout link or one call of a rail, or continues an open payment."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from conformance import extras
from conformance.cli.connection import apply_connection_options
from conformance.cli.json_output import print_json
from conformance.cli.pay.attempt import Attempt, PaymentOpen, Steps
from conformance.cli.pay.call_payment import buy_call, finish_call, operation_at
from conformance.cli.pay.checkout_payment import finish_link, pay_link
from conformance.cli.pay.confirmation import Agreement, ask_yes_no, check_limits, is_at_terminal
from conformance.cli.pay.kept_files import CallFolder
from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.pay.payment_file import NotPaymentFile, PaymentFile, State, has_payments, open_payment
from conformance.cli.private_files import FileInUse
from conformance.cli.targets import check_nodes, load_named_profile
from conformance.cli.usage import UsageFault
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, JsonFault, Names, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.lanes.spending import Wallet
from conformance.log.events import EventLog
from conformance.outcome import Exit, Inconclusive, PaidExit
from conformance.processes.interrupt import make_interruptible
from conformance.surfaces.gateway.checkout_payment import PaymentRefused, token_in
from conformance.target import ProfileError
from conformance.text.json_safe import json_safe
from conformance.vocabulary.lanes.registry import FACTS


def pay(
    ctx: click.Context,
    url: str | None,
    resume_file: Path | None,
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
    """Run the command, whose options and help are in the package."""
    _check_options(url, resume_file, lane, body, again=again, is_a2a=is_a2a)
    profile = load_named_profile(config, (), is_reference=False)
    if profile is None:
        raise UsageFault("no profile: give --config, or start `weldproof up` in this folder, which writes one")
    profile = apply_connection_options(profile, cacert=cacert, insecure=insecure, timeout=timeout)
    check_nodes(profile, main_network=main_network)
    body_value = _read_body(body)
    file = _find_payment_file(url, resume_file, body_value, again=again)
    address = PaidAddress.of(file.record.url if file is not None else str(url))
    attempt = Attempt(
        profile,
        address,
        lane,
        body_value,
        is_a2a,
        resume_file is not None,
        again,
        seconds,
        _prepare_folder(address.url, receipt_file, folder, file),
        receipt_file,
        Agreement(most, Wallet(main_network=main_network), hosts),
        Steps(quiet=as_json),
        _continuation_options(
            {"--config": config, "--receipt": receipt_file, "--keep": folder, "--cacert": cacert},
            hosts,
            timeout,
            insecure=insecure,
            main_network=main_network,
        ),
        file,
    )
    _finish(ctx, attempt, as_json=as_json)


def _check_options(
    url: str | None, resume_file: Path | None, lane: str | None, body: str | None, *, again: bool, is_a2a: bool
) -> None:
    """Reject options that contradict each other, and a lane whose libraries are not installed.

    Raises:
        UsageFault: Options contradict each other.
        MissingExtra: The lane's extra is not installed.
    """
    if lane is not None:
        extras.need(FACTS[lane].extra)
    if (url is None) == (resume_file is None):
        raise UsageFault("give the address to pay, or --resume FILE for a payment that has no answer yet")
    if url is not None and is_a2a and token_in(url) is not None:
        raise UsageFault("--a2a is only for calls of the rail: a checkout page is paid by a transfer")
    if resume_file is not None and (is_a2a or again or lane is not None or body is not None):
        raise UsageFault(
            "--resume continues one payment unchanged: it cannot be combined with --again, --a2a, --lane or --body"
        )


def _finish(ctx: click.Context, attempt: Attempt, *, as_json: bool) -> None:
    """Run the attempt, print its result and how to continue an open payment, and set the exit code."""
    try:
        result, code, reason = _outcome(attempt)
    finally:
        if attempt.file is not None:
            attempt.file.close()
    record = None if attempt.file is None else attempt.file.record
    is_open = record is not None and record.may_have_paid
    # However the attempt ended, an open payment has its own exit code: a script must not pay again.
    if is_open and code is not PaidExit.PROOF_REFUSED:
        code = PaidExit.ANSWER_MISSING
    if reason is not None:
        attempt.steps.fail(reason)
    if record is not None and is_open:
        attempt.steps.show_continuation(record, attempt.resume_command())
    if as_json and (record is not None or result):
        payment = {} if record is None else {**record.report(), "file": str(attempt.payment.path)}
        ending_members = {"reason": reason} if reason is not None else {}
        ending_members |= {"resume": attempt.resume_command()} if is_open else {}
        # Claims of a receipt may contain values that JSON in UTF-8 cannot carry.
        print_json(json_safe({**payment, **result, **ending_members}))
    if code is not Exit.PASSED:
        ctx.exit(code)


def _outcome(attempt: Attempt) -> tuple[dict[str, Any], Exit | PaidExit, str | None]:
    """Run the attempt; return the members for `--json`, the exit code, and the reason of a failure."""
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
        if isinstance(fault, NotPaymentFile) or attempt.file is None or not attempt.file.record.may_have_paid:
            raise
        return {}, PaidExit.ANSWER_MISSING, fault.message
    except Exception:
        # Even after a fault of this program, the user must be able to continue the payment.
        if attempt.file is not None and attempt.file.record.may_have_paid:
            attempt.steps.show_continuation(attempt.file.record, attempt.resume_command())
        raise


def _find_payment_file(url: str | None, resume_file: Path | None, body: Any, *, again: bool) -> PaymentFile | None:
    """Return the payment to continue: the one of --resume, or an open one of the same request.

    Raises:
        UsageFault: The file cannot be used, or another process works on it.
    """
    try:
        if resume_file is not None:
            return PaymentFile.open(resume_file)
        if url is None or again:
            return None
        return open_payment(PaidAddress.of(url).url, body, default_body=body is None)
    except FileInUse as fault:
        raise UsageFault(f"another `weldproof pay` already handles {fault}. Nothing was paid here") from fault


def _prepare_folder(
    url: str, receipt_file: Path | None, folder: Path | None, file: PaymentFile | None
) -> CallFolder | None:
    """Check the places for receipt and call before anything is paid, and return the call's folder.

    Raises:
        UsageFault: A place cannot be used.
    """
    if token_in(url) is not None and (folder is not None or receipt_file is not None):
        raise UsageFault("--keep and --receipt are only for calls of the rail: a checkout page returns no receipt")
    if receipt_file is not None and not receipt_file.absolute().parent.is_dir():
        raise UsageFault(f"--receipt {receipt_file}: the folder does not exist")
    if folder is None:
        return None
    # An earlier process of the same payment may have written files there already.
    return CallFolder.prepare(folder, is_begun=file is not None and file.record.folder == str(folder.absolute()))


def _continuation_options(
    paths: Mapping[str, Path | None], hosts: Sequence[str], timeout: float | None, *, insecure: bool, main_network: bool
) -> list[str]:
    """Return the options that a command which continues the payment also needs."""
    words: list[str] = []
    for option, value in paths.items():
        words += [] if value is None else [option, str(value)]
    for host in hosts:
        words += ["--allow-host", host]
    words += [] if timeout is None else ["--timeout", f"{timeout:g}"]
    return words + ["--insecure"] * insecure + ["--main-network"] * main_network


def _read_body(text: str | None) -> Any:
    if text is None:
        return None
    try:
        raw = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return orjson.loads(raw)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"--body: {fault}") from fault


async def _work(attempt: Attempt) -> dict[str, Any]:
    """Pay or continue a payment, and return the members for `--json`."""
    profile = attempt.profile
    await make_interruptible(attempt.agreement.agree_on_host(attempt.address, profile))
    await make_interruptible(_offer_open(attempt))
    # A checkout page is recognised by the token in its address; everything else is a call of a
    # rail.
    is_page = token_in(attempt.address.url) is not None
    session_profile = profile if is_page else attempt.address.rail(profile)
    transport = HttpTransport(
        # No pace: a payment is a few requests.
        seconds=profile.budgets.request,
        requests_per_second=0,
        connections=4,
        tls=make_context(profile.tls),
    )
    async with transport:
        names, log = Names(), EventLog()
        client = Client(transport, log, "pay", names, Counter())
        session = Session(session_profile, client, names, seed=0, wallet=attempt.agreement.wallet)
        try:
            if is_page:
                return await make_interruptible(_pay_link(session, client, attempt))
            return await make_interruptible(_pay_call(session, client, log, attempt))
        finally:
            await session.close()
            # Nothing was signed, so the file is not needed except to return a funder's money.
            if attempt.file is not None and attempt.file.record.state is State.PREPARED:
                attempt.forget()


async def _offer_open(attempt: Attempt) -> None:
    """Print the open payment that is continued, and ask first at a terminal.

    Raises:
        PaymentRefused: --resume names a payment that was never signed.
    """
    file = attempt.file
    if file is None:
        return
    record = file.record
    attempt.steps.say("open payment", f"{attempt.describe()}, presented to {record.url} only ({file.path})")
    if record.state in {State.PREPARED, State.NOT_PAID}:
        is_settled = await attempt.record_nothing_paid()
        if not is_settled:
            attempt.steps.fail(f"the balance of the paying account could not be returned: {attempt.resume_command()}")
        if attempt.is_resumed:
            raise PaymentRefused("that run paid nothing, and --resume starts no payment: give the address to pay")
        file.close()
        attempt.file = None
    elif attempt.lane is not None and attempt.lane != record.lane:
        raise PaymentOpen(
            f"{attempt.describe()}: it has no answer yet, and --lane asks for another. Continue it, or give --again "
            f"to pay a second time"
        )
    elif not attempt.is_resumed and is_at_terminal() and not await ask_yes_no(f"Continue {attempt.describe()}?"):
        raise PaymentOpen(f"{attempt.describe()}: it was not changed. Give --again to pay a second time")


async def _pay_link(session: Session, client: Client, attempt: Attempt) -> dict[str, Any]:
    if attempt.file is not None:
        return await finish_link(session, client, attempt)
    return await pay_link(session, client, attempt, _make_agree(attempt))


async def _pay_call(session: Session, client: Client, log: EventLog, attempt: Attempt) -> dict[str, Any]:
    if attempt.file is None:
        await session.open(rehearse=False)
        operation = operation_at(session, attempt.address, attempt.body)
        # A payment of the published example is one of the same request, even if its body was given by --body.
        if not attempt.again and has_payments(attempt.address.url):
            attempt.file = _open_existing(attempt.address.url, operation.body)
            await _offer_open(attempt)
    if attempt.file is not None:
        record = attempt.file.record
        operation = Operation(record.role, record.url, record.path, record.body, ())
        return await finish_call(_case(session, client, log, record.lane), operation, attempt)
    lanes = attempt.profile.claims.lanes
    lane = attempt.lane or next((name for name in lanes if attempt.profile.chains.of(name)), None)
    if lane is None:
        raise PaymentRefused("the profile contains no chain node, so there is no lane to pay on")
    extras.need(FACTS[lane].extra)
    return await buy_call(_case(session, client, log, lane), operation, attempt, _make_agree(attempt))


def _open_existing(url: str, body: Any) -> PaymentFile | None:
    try:
        return open_payment(url, body, default_body=False)
    except FileInUse as fault:
        raise PaymentRefused(f"another `weldproof pay` already handles {fault}. Nothing was paid here") from fault


def _make_agree(attempt: Attempt) -> Any:
    async def agree(units: int, payee: str, network: str) -> None:
        check_limits(attempt.profile, units, network)
        await attempt.agreement.agree_on_price(units, payee, network)

    return agree


def _case(session: Session, client: Client, log: EventLog, lane: str) -> Case:
    check = Check("pay", ("RAIL-PAY-05",), "rail", lane, exclusive=Exclusive.NOTHING, fix="", function=_no_check)
    return Case(check, session.profile, client, log, random.SystemRandom(), session)


async def _no_check(case: Case) -> None:
    """Judge nothing. The functions of the suite need a case, and a case needs a check."""
