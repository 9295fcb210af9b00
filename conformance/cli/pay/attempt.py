"""One run of `weldproof pay`: its options, its payment, and the way of a payment to its chain."""

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
from conformance.cli.pay.confirmation import Agreement
from conformance.cli.pay.kept_files import CallFolder
from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.pay.payment_file import Channel, NotPaymentFile, PaymentFile, PaymentRecord, SignedMembers, State
from conformance.cli.private_files import FileInUse
from conformance.cli.usage import UsageFault
from conformance.http.client import Names
from conformance.lanes.payers import open_sender, take_back
from conformance.lanes.signed_payment import Fate, Landing, NotAPayment, SignedPayment, SignsAgain, land
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive, PaidExit
from conformance.surfaces.gateway.checkout_payment import PaymentRefused
from conformance.target import Chain, Profile
from conformance.text.target_text_escaping import one_line
from conformance.text.usdc import in_usdc

# Characters of a text of the rail, gateway or node that are shown.
_SHOWN_CHARACTERS = 1000
# Characters of a transaction's id; a longer text in a rail's answer is not an id.
_LONGEST_ID = 200
# Pauses before an outdated payment is sent again. If it can no longer land, a new one is signed without a pause.
_SEND_AGAIN_SECONDS = (0.5, 1.0, 2.0)


class PaymentOpen(Exception):
    """A payment was made, or may have been made, and has no answer yet. The text contains the reason.

    Attributes:
        code: Exit code of the command.
    """

    code = PaidExit.ANSWER_MISSING


class PaymentStopped(PaymentOpen):
    """A payment was made, and presenting it again cannot succeed."""

    code = PaidExit.PROOF_REFUSED


class Steps:
    """The output of the command: its steps and its errors."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, step: str, detail: str) -> None:
        """Print a step, unless the output is JSON."""
        if not self._quiet:
            click.echo(f"{click.style(step + ':', bold=True)} {one_line(detail, _SHOWN_CHARACTERS)}")

    def fail(self, reason: str) -> None:
        """Print the reason for a failure on standard error."""
        click.echo(
            f"{click.style('weldproof pay:', fg='red', bold=True)} {one_line(reason, _SHOWN_CHARACTERS)}", err=True
        )

    def show_continuation(self, payment: PaymentRecord, command: str) -> None:
        """Print the proof of a payment without an answer, and the complete command that continues."""
        tx_id = None if payment.signed is None else payment.signed.tx_id
        proof = one_line(f"transaction {tx_id or 'not known yet'}, token {payment.reference}", _SHOWN_CHARACTERS)
        click.echo(f"{click.style('proof:', bold=True)} {proof}", err=True)
        click.echo(f"{click.style('continue with:', bold=True)} {command}", err=True)


@dataclass(slots=True)
class Attempt:
    """One run of the command, with its payment.

    Attributes:
        profile: The profile, with the changes of the options.
        address: The address that is paid.
        lane: The lane of --lane; None for the default.
        body: The body of --body, as JSON; None for the published example.
        is_a2a: Whether a call is ordered over A2A.
        is_resumed: Whether --resume names a file. Such a run never signs a first payment.
        again: Whether to pay although an earlier payment of the request is open.
        seconds: Longest time in which a proof is presented repeatedly.
        call_folder: Folder that keeps request and answer, or None.
        receipt_file: File that keeps the receipt; None for the default.
        agreement: The permission to pay.
        steps: The output of the command.
        options: Options that the command which continues also needs.
        file: File of the payment; None before it exists.
        payer: The payer; None if no account was opened.
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
        """Time of the loop's clock at which this run stops waiting. The first access fixes it."""
        if self._ends is None:
            self._ends = asyncio.get_running_loop().time() + self.seconds
        return self._ends

    @property
    def payment(self) -> PaymentFile:
        """The file of the current payment."""
        if self.file is None:
            raise UsageFault("there is no payment yet")
        return self.file

    @property
    def signed_payment(self) -> SignedPayment:
        """The current signed payment."""
        members = self.payment.record.signed
        if members is None:
            raise UsageFault(f"{self.payment.path}: the file contains no signed payment")
        return members.payment()

    def resume_command(self) -> str:
        """Return the command that continues the payment."""
        return shlex.join(["weldproof", "pay", "--resume", str(self.payment.path), *self.options])

    def chain(self) -> Chain:
        """Return the profile's node of the payment's network.

        Raises:
            PaymentRefused: The profile has no node of the network.
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
        """Write the file of a new payment, before any money moves.

        Raises:
            PaymentRefused: The offer cannot be stored, or another process has begun to pay.
            UsageFault: The file cannot be written.
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
        # The key of the throw-away account is derived from this label, which is on the disk now. So
        # its balance can be returned after any crash.
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
        """Send the payment if it is not on the chain, and wait for its block.

        A payment that is not confirmed in time is presented all the same, since the rail's node may know more.

        Raises:
            PaymentRefused: The transaction failed or can no longer land: nothing was paid.
            NotPaymentFile: The transaction in the file is not the payment that the file describes.
            Inconclusive: The node refused it at its first sending: nothing was paid.
        """
        sender = open_sender(self.chain(), self.profile.budgets, Names())
        try:
            # The other half of the time is for the proof, which can be presented even if this node does not answer.
            landing = await land(sender, self.signed_payment, self._seconds_left() / 2)
            for pause in _SEND_AGAIN_SECONDS:
                if not (landing.is_outdated and self._is_signed_here and isinstance(self.payer, SignsAgain)):
                    break
                # A second signature cannot pay twice: the payer signs again only if the first transaction can no
                # longer land. Also, a funder has given the paying account no more than one price.
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
        """Return the remaining seconds for the payment and its proof."""
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
        elif landing.is_refused and self._is_signed_here:
            # Only this process has the payment, so it cannot be under way anywhere else.
            await self.record_nothing_paid()
            raise Inconclusive(f"{landing.trouble}. Nothing was paid")
        else:
            trouble = "" if landing.trouble is None else f": {landing.trouble}"
            self.steps.say("not confirmed", f"the payment is {landing.fate}{trouble}")

    async def look_on_chain(self) -> Fate | None:
        """Return the fate of the payment on its chain and store a decisive one; None if the chain cannot be asked."""
        sender = None
        try:
            sender = open_sender(self.chain(), self.profile.budgets, Names())
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
        """Store that the payment is on the chain, and the id of its transaction if it was unknown before."""
        signed_members = self.payment.record.signed
        # The id comes from a node or a rail. It goes into a file that must stay readable.
        is_id = tx_id is not None and len(tx_id) <= _LONGEST_ID and tx_id.isascii() and tx_id.isprintable()
        if signed_members is not None and signed_members.tx_id is None and is_id:
            signed_members = signed_members.model_copy(update={"tx_id": tx_id})
        self.payment.save(state=State.PAID, signed=signed_members)

    async def record_nothing_paid(self) -> bool:
        """Store that nothing was paid, and return the paying account's balance to the funder; False if that failed."""
        self.payment.save(state=State.NOT_PAID)
        self.settle_account()
        return await self.give_back()

    def forget(self) -> None:
        """Keep the file of an unsigned payment only if it is needed to return the funder's money."""
        chains = self.profile.gateway_chains if self.payment.record.channel is Channel.CHECKOUT else self.profile.chains
        chain = chains.of(self.payment.record.lane)
        # The key of the throw-away account is derived from the label in the file. Without the file
        # its balance would be lost.
        if chain is not None and chain.funder is not None:
            self.payment.save(state=State.NOT_PAID)
        else:
            self.payment.remove()
            self.file = None

    def settle_account(self) -> None:
        """Permit that the paying account is emptied when it is closed: the payment no longer needs its balance."""
        if self.payer is not None:
            self.payer.has_open_payment = False

    async def give_back(self) -> bool:
        """Return the balance of an earlier process's account to the funder.

        Returns:
            False if the node could not be asked.
        """
        record = self.payment.record
        # The account of this process is emptied when the payers are closed.
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
        """Return a description of the payment."""
        record = self.payment.record
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(record.made_at))
        payee = one_line(record.payee, 100)
        return f"{in_usdc(record.units)} USDC on {one_line(record.network, 80)} to {payee}, {record.state}, of {when}"
