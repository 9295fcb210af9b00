"""One run of `weldproof pay`: what was asked for, the payment that it works on, and how a payment gets to its chain."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from conformance.cli.pay import payment_file
from conformance.cli.pay.confirmation import Agreement, in_usdc
from conformance.cli.pay.kept_files import CallFolder
from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.pay.payment_file import Channel, NotPaymentFile, PaymentFile, PaymentRecord, SignedMembers, State
from conformance.cli.private_files import FileInUse
from conformance.cli.usage import UsageFault
from conformance.http.client import Names
from conformance.lanes.payers import sender_for, take_back
from conformance.lanes.signed_payment import Fate, Landing, NotAPayment, SignedPayment, SignsAgain, land
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive, PaidExit
from conformance.surfaces.gateway.paying import PaymentRefused
from conformance.target import Chain, Profile
from conformance.text.untrusted import one_line

# Letters of what the other side said that are shown.
_SHOWN_CHARACTERS = 1000
# Letters of a transaction's id; a longer text in a rail's answer is not an id.
_LONGEST_ID = 200
# Pauses before a payment is sent again, if its node says that it came too late. If it can land no more: no pause.
_SEND_AGAIN_SECONDS = (0.5, 1.0, 2.0)


class PaymentOpen(Exception):
    """A payment was made, or may have been, and its answer is not here. The text says why.

    Attributes:
        code: How the command ends.
    """

    code = PaidExit.ANSWER_MISSING


class PaymentStopped(PaymentOpen):
    """A payment was made, and presenting it once more brings nothing."""

    code = PaidExit.PROOF_REFUSED


class Steps:
    """What the command shows of its steps."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, step: str, detail: str) -> None:
        """Show a step, except where the output is for a program."""
        if not self._quiet:
            click.echo(f"{click.style(step + ':', bold=True)} {one_line(detail, _SHOWN_CHARACTERS)}")

    def fail(self, reason: str) -> None:
        """Show why the command ends."""
        click.echo(
            f"{click.style('weldproof pay:', fg='red', bold=True)} {one_line(reason, _SHOWN_CHARACTERS)}", err=True
        )

    def show_continuation(self, payment: PaymentRecord, command: str) -> None:
        """Show what proves a payment that has no answer, and the command that continues, whole."""
        tx_id = None if payment.signed is None else payment.signed.tx_id
        proof = one_line(f"transaction {tx_id or 'not known yet'}, token {payment.reference}", _SHOWN_CHARACTERS)
        click.echo(f"{click.style('proof:', bold=True)} {proof}", err=True)
        click.echo(f"{click.style('continue with:', bold=True)} {command}", err=True)


@dataclass(slots=True)
class Attempt:
    """What was asked for, and the payment that it works on.

    Attributes:
        profile: The profile, with what the options change.
        address: What is paid, or was.
        lane: The lane that was asked for, None for the usual one.
        body: The body that was given, as JSON; None for the published example.
        is_a2a: Whether a call is ordered over A2A.
        is_resumed: Whether a file was named, from which nothing is ever paid again.
        again: Whether to pay although an earlier payment of the request is open.
        seconds: How long a proof is presented again and again.
        kept: Folder that keeps request and answer, None where none does.
        receipt_file: File that keeps the receipt, None for the usual one.
        agreement: What may be paid.
        steps: What is shown.
        options: Options of the command that a later one needs as well.
        file: The payment, None before there is one.
        payer: Whose account pays, None where no account was opened.
    """

    profile: Profile
    address: PaidAddress
    lane: str | None
    body: Any
    is_a2a: bool
    is_resumed: bool
    again: bool
    seconds: float
    call_folder: CallFolder | None
    receipt_file: Path | None
    agreement: Agreement
    steps: Steps
    options: Sequence[str] = ()
    file: PaymentFile | None = None
    payer: Any = None
    _ends: float | None = field(default=None)
    _is_signed_here: bool = field(default=False)

    @property
    def ends(self) -> float:
        """Time of the loop's clock until which this run waits, counted from the first time that it is asked for."""
        if self._ends is None:
            self._ends = asyncio.get_running_loop().time() + self.seconds
        return self._ends

    @property
    def payment(self) -> PaymentFile:
        """The payment that is worked on."""
        if self.file is None:
            raise UsageFault("there is no payment yet")
        return self.file

    @property
    def signed_payment(self) -> SignedPayment:
        """The signed payment that is worked on."""
        members = self.payment.record.signed
        if members is None:
            raise UsageFault(f"{self.payment.path}: the file contains no signed payment")
        return members.payment()

    def resume_command(self) -> str:
        """Return the command that continues with the payment."""
        return shlex.join(["weldproof", "pay", "--resume", str(self.payment.path), *self.options])

    def chain(self) -> Chain:
        """Return the profile's node of the payment's network.

        Raises:
            PaymentRefused: It has none.
        """
        record = self.payment.record
        chains = self.profile.gateway_chains if record.channel is Channel.CHECKOUT else self.profile.chains
        chain = chains.of(record.lane)
        if chain is None or chain.network != record.network:
            raise PaymentRefused(
                f"the payment is on {one_line(record.network, 80)}, and the profile has no node of it: "
                f"[chains.{record.lane}] network"
            )
        return chain

    def begin(self, **members: Any) -> PaymentFile:
        """Write the file of a new payment, before anything moves.

        Raises:
            PaymentRefused: The offer cannot be kept, or another process has begun to pay.
            UsageFault: It cannot be written.
        """
        try:
            record = PaymentRecord(
                url=self.address.url,
                default_body=self.body is None,
                folder=None if self.call_folder is None else str(self.call_folder.folder.absolute()),
                **members,
            )
        except ValidationError as fault:
            place = ".".join(map(str, fault.errors()[0]["loc"]))
            raise PaymentRefused(
                f"the offer cannot be stored ({place}: {fault.errors()[0]['msg']}). Nothing was paid"
            ) from None
        try:
            self.file = payment_file.create(record, again=self.again)
        except FileInUse as other:
            raise PaymentRefused(
                f"another `weldproof pay` already handles this request: {other}. Nothing was paid here"
            ) from None
        self.agreement.wallet.label = record.label
        return self.file

    def keep_signed(self, payment: SignedPayment) -> None:
        """Store a signed payment before it is sent or presented for the first time."""
        self.payment.save(state=State.SIGNED, signed=SignedMembers.of(payment))
        if self.payer is not None:
            self.payer.has_open_payment = True
        self._is_signed_here = True
        self.steps.say("signed", f"{payment.tx_id or 'an authorization'}, stored in {self.payment.path}")

    async def bring_to_chain(self) -> None:
        """Send the payment, if the chain does not show it, and wait for its block.

        A payment that is not there in time is left as it is, and presented: the rail's node may know more.

        Raises:
            PaymentRefused: It failed, or is too old to happen: nothing was paid.
            NoPaymentFile: The file holds another payment than it says.
            Inconclusive: The node refused it when it was sent for the first time: nothing was paid.
        """
        sender = sender_for(self.chain(), self.profile.budgets, Names())
        try:
            # The other half is for the proof, which is worth presenting even if this node cannot be asked.
            landing = await land(sender, self.signed_payment, self._seconds_left() / 2)
            for pause in _SEND_AGAIN_SECONDS:
                if not (landing.outdated and self._is_signed_here and isinstance(self.payer, SignsAgain)):
                    break
                # Signing again pays once only, because the payer does it only if the first transaction can land no
                # more. A funder has also given the paying account no more than one price.
                new_payment = await self.payer.sign_again(self.signed_payment)
                if new_payment is None:
                    await asyncio.sleep(pause)
                else:
                    self.keep_signed(new_payment)
                landing = await land(sender, self.signed_payment, self._seconds_left() / 2)
        except NotAPayment as fault:
            raise NotPaymentFile(self.payment.path, str(fault)) from fault
        finally:
            await sender.close()
        await self._conclude(landing)

    def _seconds_left(self) -> float:
        """Return the seconds that are left for the payment and its proof."""
        return max(0.0, self.ends - asyncio.get_running_loop().time())

    async def _conclude(self, landing: Landing) -> None:
        record = self.payment.record
        if landing.fate is Fate.LANDED:
            self.payment.save(state=State.PAID)
            self.settle_account()
            self.steps.say("paid", f"on {record.lane}, {self.signed_payment.tx_id}")
        elif landing.fate in {Fate.FAILED, Fate.LAPSED}:
            await self.record_nothing_paid()
            raise PaymentRefused(f"the payment is {landing.fate}. Nothing was paid: give the address to pay")
        elif landing.refused and self._is_signed_here:
            # No other process had it, so that it is nowhere else on its way.
            await self.record_nothing_paid()
            raise Inconclusive(f"{landing.trouble}. Nothing was paid")
        else:
            trouble = "" if landing.trouble is None else f": {landing.trouble}"
            self.steps.say("not confirmed", f"the payment is {landing.fate}{trouble}")

    async def look_on_chain(self) -> Fate | None:
        """Return what the chain shows of the payment, and keep what that decides; None if it cannot be asked."""
        sender = None
        try:
            sender = sender_for(self.chain(), self.profile.budgets, Names())
            fate = await sender.fate(self.signed_payment)
            if fate is Fate.LANDED:
                self.note_transaction(await sender.transaction(self.signed_payment))
                self.settle_account()
        except (Inconclusive, PaymentRefused):
            return None
        finally:
            if sender is not None:
                await sender.close()
        return fate

    def note_transaction(self, tx_id: str | None) -> None:
        """Keep that the payment is on the chain, and by which transaction where it was not known before."""
        signed_members = self.payment.record.signed
        is_id = tx_id is not None and len(tx_id) <= _LONGEST_ID and tx_id.isascii() and tx_id.isprintable()
        if signed_members is not None and signed_members.tx_id is None and is_id:
            signed_members = signed_members.model_copy(update={"tx_id": tx_id})
        self.payment.save(state=State.PAID, signed=signed_members)

    async def record_nothing_paid(self) -> bool:
        """Keep that nothing was paid, and give the funder back what the paying account holds; return whether it was."""
        self.payment.save(state=State.NOT_PAID)
        self.settle_account()
        return await self.give_back()

    def forget(self) -> None:
        """Keep of a payment that was never signed only what is needed to give the funder's money back."""
        chains = self.profile.gateway_chains if self.payment.record.channel is Channel.CHECKOUT else self.profile.chains
        chain = chains.of(self.payment.record.lane)
        if chain is not None and chain.funder is not None:
            self.payment.save(state=State.NOT_PAID)
        else:
            self.payment.remove()
            self.file = None

    def settle_account(self) -> None:
        """Let the paying account be emptied when it is closed: nothing that it holds is needed any more."""
        if self.payer is not None:
            self.payer.has_open_payment = False

    async def give_back(self) -> bool:
        """Give the funder back what an account of an earlier process holds; one of this process does it at its end.

        Returns:
            False if the node could not be asked.
        """
        record = self.payment.record
        if record.label == self.agreement.wallet.label:
            return True
        wallet = Wallet(main_network=self.agreement.wallet.main_network, label=record.label)
        try:
            chain = self.chain()
            if chain.funder is not None:
                asset = "" if chain.usdc is None else chain.usdc.asset_id  # the funder gives nothing else
                await take_back(chain, self.profile.budgets, Names(), wallet, asset)
        except (Inconclusive, PaymentRefused):
            return False
        return True

    def describe(self) -> str:
        """Return the payment in words."""
        record = self.payment.record
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(record.made_at))
        payee = one_line(record.payee, 100)
        return f"{in_usdc(record.units)} USDC on {one_line(record.network, 80)} to {payee}, {record.state}, of {when}"
