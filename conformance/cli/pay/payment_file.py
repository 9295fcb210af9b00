"""The file of one payment of `weldproof pay`, from which a later process can finish it after any crash.

It is written before any money moves, and again after each step:

    prepared ──> signed ──> paid ──> served
        │           │
        └───────────┴──> not_paid

* prepared: the user agreed. Money may be on the throw-away account that is about to pay. Nothing is signed.
* signed: the signed payment is in the file. It may have been sent, and it may have been presented.
* paid: the chain shows the payment, or the rail or gateway confirmed it.
* served: the answer was stored.
* not_paid: nothing was signed, or the chain shows that the payment failed or can no longer land.

The file contains no private key. A signed payment is as good as the money that it moves, so only its owner may read the
file. A file from another person is data: it never makes this program sign anything, and its address needs the same
consent as a typed one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.private_files import LONGEST_FILE, FileInUse, open_locked, read_private, write_private
from conformance.cli.usage import UsageFault
from conformance.http.client import encode_json
from conformance.lanes.signed_payment import SignedPayment
from conformance.vocabulary.profile_claims import LANES

_LONGEST_URL: Final = 8192
_LONGEST_TEXT: Final = 2000
# Bound of an amount on EVM chains. Bounds keep numbers out of the file that a later process cannot
# read.
_UINT256: Final = 2**256
# Bound of a time in unix seconds, far in the future.
_TIMES: Final = 2**40

Text = Annotated[str, Field(max_length=_LONGEST_TEXT)]
Moment = Annotated[int, Field(ge=0, lt=_TIMES)]


class NotPaymentFile(UsageFault):
    """A file is not a payment of `weldproof pay`, so it proves neither a payment nor its absence."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: this file is not a payment of `weldproof pay`: {reason}")


# The order matters: each state is on the disk before the step that could lose money happens. If the
# process dies between two states, the file still describes the worse case. `signed` therefore means
# that the payment may have been sent, and only the chain can lead from there to `not_paid`.
class State(StrEnum):
    """The progress of a payment."""

    PREPARED = "prepared"
    SIGNED = "signed"
    PAID = "paid"
    SERVED = "served"
    NOT_PAID = "not_paid"


class Channel(StrEnum):
    """The channel by which a payment is presented."""

    HTTP = "http"
    A2A = "a2a"
    CHECKOUT = "checkout"


class _Members(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SignedMembers(_Members):
    """The members of a `SignedPayment`, as they are stored."""

    payer: Text
    asset: Text
    held: Annotated[int, Field(ge=0, lt=_UINT256)]
    tx_id: Text | None
    transaction: Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$")] = Field(repr=False)
    proof: dict[str, Any] = Field(repr=False)
    signed_at: Moment

    @classmethod
    def of(cls, payment: SignedPayment) -> Self:
        """Return the members of a payment."""
        return cls(
            payer=payment.payer,
            asset=payment.asset,
            held=payment.held,
            tx_id=payment.tx_id,
            transaction=payment.transaction,
            proof=dict(payment.proof),
            signed_at=payment.signed_at,
        )

    def payment(self) -> SignedPayment:
        """Return the payment."""
        return SignedPayment(
            self.payer, self.asset, self.held, self.tx_id, self.transaction, dict(self.proof), self.signed_at
        )


class PaymentRecord(_Members):
    """The content of the file.

    Attributes:
        weldproof_payment: Version of the format.
        state: Progress of the payment.
        channel: Channel by which it is presented.
        url: Address to pay, with its query.
        body: Body of the request, as JSON.
        default_body: Whether that is the published example, because no body was given.
        path: Path below the rail's address, empty for a checkout page.
        role: Role of the service in the interface; None if unknown.
        lane: Lane of the payment.
        network: Key of the network.
        units: Millionths of USDC.
        payee: The payee.
        reference: The challenge token, or a checkout's memo.
        entry: The `accepts` entry that is paid; empty for a checkout page.
        made_at: Creation of the file, in unix seconds.
        worth_until: Time until which a proof that the rail cannot find is presented again, in unix seconds.
        label: Text from which, with the funder's key, the key of the throw-away account is derived.
        signed: The signed payment; None before it is signed.
        task: Id of the A2A task; None for other channels.
        paid_lines: Lines of a checkout page that contained words like "Paid" before the payment.
        folder: Folder that keeps request and answer, or None.
        last_answer: The last answer of the rail or gateway; None before one.
    """

    weldproof_payment: Literal[1] = 1
    state: State = State.PREPARED
    channel: Channel
    url: Annotated[str, Field(max_length=_LONGEST_URL)]
    body: Any = Field(repr=False)
    default_body: bool
    path: Annotated[str, Field(max_length=_LONGEST_URL)] = ""
    role: Text | None = None
    lane: Text
    network: Text
    units: Annotated[int, Field(ge=0, lt=2**63)]
    payee: Text
    reference: Text = Field(repr=False)
    entry: dict[str, Any] = Field(repr=False)
    made_at: Moment = Field(default_factory=lambda: int(time.time()))
    worth_until: Moment
    label: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] = Field(default_factory=lambda: secrets.token_hex(16))
    signed: SignedMembers | None = None
    task: Text | None = None
    paid_lines: list[str] = []
    folder: str | None = None
    last_answer: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether money may have been paid, or may be on the paying account, and no answer is stored."""
        return self.state in {State.PREPARED, State.SIGNED, State.PAID}

    @property
    def may_have_paid(self) -> bool:
        """Whether the payment is signed and has no answer yet."""
        return self.state in {State.SIGNED, State.PAID}

    def is_for(self, url: str, body: Any, *, default_body: bool) -> bool:
        """Return whether it pays for a request: same address, and same body or both the published example."""
        if _normal(self.url) != _normal(url):
            return False
        return self.default_body if default_body else encode_json(self.body) == encode_json(body)

    def report(self) -> dict[str, Any]:
        """Return the members that `--json` prints for a payment."""
        return {
            "state": self.state.value,
            "url": self.url,
            "channel": self.channel.value,
            "lane": self.lane,
            "network": self.network,
            "payee": self.payee,
            "amount_microunits": self.units,
            "tx_id": None if self.signed is None else self.signed.tx_id,
            "payment_reference": self.reference,
            "last_answer": self.last_answer,
        }


def _normal(url: str) -> str:
    """Return an address with the canonical name of its host."""
    scheme, host, port = PaidAddress.of(url).origin
    address_end = url.split("://", 1)[-1]
    path_start = min((place for place in map(address_end.find, "/?") if place >= 0), default=len(address_end))
    return f"{scheme}://{host}:{port}{address_end[path_start:] or '/'}"


@dataclass(slots=True)
class PaymentFile:
    """The locked file of a payment, which only this process uses until it is closed."""

    path: Path
    record: PaymentRecord
    _descriptor: int | None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open and check a file.

        Raises:
            UsageFault: The file is not a payment, or others may read it.
            FileInUse: Another process holds the lock.
        """
        locked_file = open_locked(path)
        try:
            return cls(path, _parse(path, locked_file.content), locked_file.descriptor)
        except BaseException:
            os.close(locked_file.descriptor)
            raise

    def save(self, **changes: Any) -> None:
        """Change members of the record. They are on the disk when this returns.

        Raises:
            UsageFault: The file cannot be written.
        """
        try:
            self.write(self.record.model_copy(update=changes))
        except OSError as fault:
            raise UsageFault(f"{self.path}: {fault.strerror}") from fault

    def write(self, record: PaymentRecord) -> None:
        """Replace the record. It is on the disk when this returns.

        Raises:
            OSError: The file cannot be written.
        """
        fresh = write_private(self.path, _text_of(record), lock=True)
        self.close()
        self.record, self._descriptor = record, fresh

    def close(self) -> None:
        """Unlock the file for other processes."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """Remove the file of a payment that was never signed."""
        self.path.unlink(missing_ok=True)
        self.close()


def _text_of(record: PaymentRecord) -> bytes:
    return json.dumps(record.model_dump(), indent=1, ensure_ascii=True).encode("ascii") + b"\n"


def _parse(path: Path, content: bytes) -> PaymentRecord:
    """Return the record in a file.

    Raises:
        UsageFault: The file contains no record, or its parts belong to different payments.
    """
    if len(content) > LONGEST_FILE:
        raise NotPaymentFile(path, f"it is longer than {LONGEST_FILE} bytes")
    try:
        record = PaymentRecord.model_validate_json(content)
    except ValidationError as fault:
        error = fault.errors()[0]
        raise NotPaymentFile(path, f"{'.'.join(map(str, error['loc'])) or 'the file'}: {error['msg']}") from None
    PaidAddress.of(record.url)
    if record.lane not in LANES:
        raise NotPaymentFile(path, f"there is no lane {record.lane[:80]!r}")
    signed_members = record.signed
    if signed_members is None and record.state not in {State.PREPARED, State.NOT_PAID}:
        raise NotPaymentFile(path, f"it is {record.state} without a signed payment")
    if signed_members is not None and record.channel is not Channel.CHECKOUT:
        references = [signed_members.proof.get(member) for member in ("payment_reference", "challenge_token")]
        if (
            record.reference not in references
            or signed_members.proof.get("tx_id", signed_members.tx_id) != signed_members.tx_id
        ):
            raise NotPaymentFile(path, "its proof is of another challenge or transaction")
    return record


def payments_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of payments: `weldproof/payments` in `$XDG_DATA_HOME`, else in `~/.local/share`.

    Raises:
        UsageFault: The environment names no home folder either.
    """
    data_home = environment.get("XDG_DATA_HOME", "")
    try:
        # The XDG base directory standard requires that a relative path is ignored.
        base = Path(data_home) if data_home.startswith("/") else Path.home() / ".local" / "share"
    except RuntimeError as fault:
        raise UsageFault("there is no home folder to store payments in: set XDG_DATA_HOME") from fault
    return base / "weldproof" / "payments"


def open_payment(url: str, body: Any, *, default_body: bool) -> PaymentFile | None:
    """Return the oldest open payment of a request, or None.

    Raises:
        UsageFault: A file of this address cannot be read.
        FileInUse: Another process holds the lock.
    """
    folder = payments_folder()
    open_files = []
    for path in sorted(folder.glob(f"{_key(url)}-*.json")) if folder.is_dir() else []:
        record = _parse(path, read_private(path))
        if record.is_open and record.is_for(url, body, default_body=default_body):
            open_files.append((record.made_at, path))
    return PaymentFile.open(min(open_files)[1]) if open_files else None


def has_payments(url: str) -> bool:
    """Return whether any payment of an address has a file."""
    folder = payments_folder()
    return folder.is_dir() and any(folder.glob(f"{_key(url)}-*.json"))


def create(record: PaymentRecord, *, again: bool) -> PaymentFile:
    """Write the file of a new payment.

    Args:
        record: Content of the file.
        again: Whether to create it despite another open payment of the request.

    Raises:
        UsageFault: The file cannot be written, or could not be read again.
        InUse: Another process has begun to pay for the request.
    """
    folder = payments_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock_folder(folder):
            # Looking for an open payment and creating one happen under one lock. Otherwise two
            # processes could both find none and pay twice.
            if not again:
                existing_payment = open_payment(record.url, record.body, default_body=record.default_body)
                if existing_payment is not None:
                    existing_payment.close()
                    raise FileInUse(str(existing_payment.path))
            file = PaymentFile(folder / f"{_key(record.url)}-{record.label[:12]}.json", record, None)
            # The file contains parts of a stranger's offer. It is parsed first: an unreadable file would lose a
            # payment.
            _parse(file.path, _text_of(record))
            file.write(record)
            return file
    except OSError as fault:
        raise UsageFault(
            f"{folder}: {fault.strerror}; each payment is stored there before it is sent. Set XDG_DATA_HOME to a "
            f"writable folder. Nothing was paid"
        ) from fault


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder, so that only one process looks for payments and creates one at a time."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _key(url: str) -> str:
    return hashlib.sha256(_normal(url).encode()).hexdigest()[:16]
