"""Payment for one call of a rail, over HTTP or A2A: offer, payment, proof, receipt."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.pay.attempt import Attempt, PaymentOpen, PaymentStopped
from conformance.cli.pay.kept_files import RECEIPT
from conformance.cli.pay.paid_address import PaidAddress
from conformance.cli.pay.payment_file import Channel, PaymentRecord, State
from conformance.cli.pay.proof_presentation import ProofReply, Verdict, present_call, present_task, present_until
from conformance.cli.private_files import write_private
from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case
from conformance.engine.session import Session
from conformance.http.client import JsonFault, Unreachable, encode_json
from conformance.lanes.signed_payment import Fate, SignsEntries
from conformance.oracles import ed25519_keys, hash_recipes, jose
from conformance.oracles.strict_json import strict_json
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.checkout_payment import PaymentRefused
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.paid_answers import receipts_in
from conformance.surfaces.rail.purchase import Challenge, Purchase, challenge, lane_of, name_live_values
from conformance.text.target_text_escaping import one_line
from conformance.text.usdc import in_usdc
from conformance.vocabulary.network import with_worth
from conformance.vocabulary.networks import network_named

Agree = Callable[[int, str, str], Awaitable[None]]

# Least remaining lifetime of a challenge: a transaction needs this long to become final on a slow
# chain.
_MINIMUM_SECONDS_LEFT: Final = 120
# Digits of a time in unix seconds or of an amount in atomic units. int() on a much longer text would take too long.
_LONGEST_NUMBER: Final = 20
# Seconds: lifetime of a challenge that does not contain one, and the time after it in which a proof may become final
# (docs/money.md).
_LIFETIME: Final = 1800
_SETTLE_SECONDS: Final = 900 + 60
# A longer lifetime is taken for a malformed number.
_LONGEST_LIFETIME: Final = 10 * 365 * 86_400
_RECEIPT_PLACE: Final = "body:payable_receipt"
# The form of a hash reference (2.3): SHA-256 in lower-case hex, with its scheme.
_HASH_REFERENCE: Final = re.compile(r"sha256:[0-9a-f]{64}")
# Advice for refusals that presenting the proof again cannot change.
_ADVICE: Final[Mapping[str, str]] = {
    "payment_already_spent": "the payment belongs to another request, or the answer has expired (after 24 hours): ask "
    "the operator",
    "payment_refunded": "the operator reports a refund: check the payer's account",
}


async def buy_call(case: Case, operation: Operation, attempt: Attempt, agree: Agree) -> dict[str, Any]:
    """Pay for a call and return its members for `--json`; `finish_call` lists the exceptions after the payment.

    Raises:
        PaymentRefused: The offer must not be paid, or the user did not agree; nothing was paid.
        Inconclusive: A node or the rail did not answer as needed; nothing was paid.
    """
    quote, task_id = await _offer(case, operation, attempt)
    arrived_at = clock.now(case)
    quote = keep_payable_offers(case, quote)
    entry = quote.entry(case.lane)
    network, units = read_price(case, entry)
    payee = str(entry.get("payTo"))
    if task_id is not None:
        attempt.steps.say("order", f"task {task_id} over A2A")
    attempt.steps.say("challenge", f"{in_usdc(units)} USDC on {with_worth(network)} to {payee}")
    await agree(units, payee, network)
    # After the question to the user, whose answer may have taken longer than the challenge lives.
    check_worth_paying(case, quote, arrived_at)
    attempt.begin(
        channel=Channel.A2A if attempt.is_a2a else Channel.HTTP,
        body=quote.body,
        path=operation.path,
        role=operation.role,
        lane=case.lane,
        network=network,
        units=units,
        payee=payee,
        reference=quote.reference(case.lane),
        entry=dict(entry),
        worth_until=_worth_until(case, quote),
        task=task_id,
    )
    attempt.payer = payer = await case.session.payers.for_rail(case.lane)
    # A payment that is sent while it is signed could be lost in a crash between the two.
    if not isinstance(payer, SignsEntries):
        raise Inconclusive(
            f"the payer of {case.lane} signs no transaction that can be stored before it is sent. Nothing was paid"
        )
    name = entry.get("network")
    # A private network has a name that only its node knows.
    if network_named(name) is None and name != payer.caip2:
        raise PaymentRefused(
            f"the challenge asks for a payment on {one_line(str(name), 80)}, and the node is one of {payer.caip2}. "
            "Nothing was paid"
        )
    signed_payment = await payer.sign(entry)
    # The proof is as good as the money, so logs contain a name in its place from here on.
    name_live_values(case, signed_payment.proof)
    attempt.keep_signed(signed_payment)
    return await finish_call(case, operation, attempt)


async def finish_call(case: Case, operation: Operation, attempt: Attempt) -> dict[str, Any]:
    """Complete a signed payment from the state that an earlier process left, and keep the receipt.

    Raises:
        PaymentOpen: There is no answer yet. `PaymentStopped` if presenting the proof again cannot succeed.
        PaymentRefused: The chain shows that nothing was paid.
        Inconclusive: The node refused the transaction at its first sending; nothing was paid.
    """
    record = attempt.payment.record
    if record.state is State.SIGNED and attempt.signed_payment.transaction:
        await attempt.bring_to_chain()
    reply = await _present_proof(case, operation, attempt)
    if reply.answer is None:
        await _stop_if_refused(attempt, reply)
        raise PaymentOpen(f"{_describe_payment(attempt)} has no answer yet: {reply.text}")
    attempt.steps.say("served", f"200 with {len(reply.answer.body)} bytes")
    quote = Challenge(operation, record.body, reply.answer, (record.entry,))
    purchase = Purchase(quote, record.lane, attempt.signed_payment.proof, reply.answer)
    try:
        result = await _keep_call(case, purchase, attempt)
    except PaymentOpen as left:
        # A 200 alone proves nothing, since a proxy's page may have that status. So the chain is asked, as after a
        # refusal.
        await _refuse_unpaid(attempt, str(left))
        raise
    if purchase.transaction is not None:
        attempt.note_transaction(purchase.transaction)
    attempt.settle_account()
    attempt.payment.save(state=State.SERVED)
    await attempt.give_back()
    return result


async def _offer(case: Case, operation: Operation, attempt: Attempt) -> tuple[Challenge, str | None]:
    """Return the challenge of a call, and the id of its task if it is ordered over A2A."""
    if not attempt.is_a2a:
        quote = await challenge(case, operation)
        check_header(quote)
        return quote, None
    if operation.query:
        raise PaymentRefused("--a2a: the address has a query, which an order over A2A cannot carry. Nothing was paid")
    task = await a2a.order_service(case, operation)
    if not task.asks_for_payment or task.id is None:
        raise PaymentRefused(
            f"the order over A2A was answered with {task.describe()} instead of a price. Nothing was paid"
        )
    return Challenge(operation, operation.body, task.answer, tuple(task.entries)), task.id


def check_header(quote: Challenge) -> None:
    """Reject a 402 whose header offers something else than its body (P-PY-05). A header is optional.

    Raises:
        PaymentRefused: The challenge must not be paid.
    """
    value = quote.answer.headers.get("PAYMENT-REQUIRED")
    if value is None:
        return
    try:
        document = strict_json(base64.b64decode(value, validate=True))
    except ValueError:
        document = None
    offers = document.get("accepts") if isinstance(document, Mapping) else None
    # Some programs read the header and others the body. If they differ, one of the readers pays what it did not see.
    if offers != quote.answer.read_object().get("accepts"):
        raise PaymentRefused("the 402 offers one thing in its body and another in PAYMENT-REQUIRED; nothing was paid")


async def _present_proof(case: Case, operation: Operation, attempt: Attempt) -> ProofReply:
    """Present the proof until it is served or refused, or the time is over."""
    record, proof = attempt.payment.record, attempt.signed_payment.proof

    async def once() -> ProofReply:
        task_id = attempt.payment.record.task
        if task_id is not None:
            reply = await present_task(case, task_id, proof)
            if reply is not None:
                return reply
            attempt.steps.say(
                "task", "the rail does not know the task any more; the proof is sent to the same service over HTTP"
            )
            # A restarted rail may forget its tasks, but not a payment: the proof itself is good at
            # the service.
            attempt.payment.save(channel=Channel.HTTP, task=None)
        return await present_call(case, operation, proof, record.worth_until)

    def keep(answer_text: str) -> None:
        attempt.payment.save(last_answer=answer_text[:_LONGEST_ANSWER_TEXT])

    return await present_until(once, attempt.ends, attempt.steps.say, keep)


_LONGEST_ANSWER_TEXT: Final = 500


async def _stop_if_refused(attempt: Attempt, reply: ProofReply) -> None:
    """Raise if a proof that was not served cannot be presented again.

    Raises:
        PaymentStopped: Presenting it again cannot succeed.
        PaymentRefused: The chain shows that nothing was paid.
    """
    fate = await _refuse_unpaid(attempt, reply.text)
    if reply.verdict is not Verdict.STOP:
        return
    advice = _ADVICE.get(reply.code or "")
    if advice is None and not attempt.signed_payment.transaction and fate is Fate.UNSEEN:
        advice = (
            "no money has moved. The same proof can be presented again until the authorization ends (validBefore). "
            "After that time the command below reports that nothing was paid"
        )
    elif advice is None:
        advice = "send the operator the transaction id and the token in the file; presenting it again is free"
    raise PaymentStopped(f"{_describe_payment(attempt)} was refused: {reply.text}; {advice}")


async def _refuse_unpaid(attempt: Attempt, answer_text: str) -> Fate | None:
    """Return the fate of a payment on its chain; None if the chain cannot be asked.

    Raises:
        PaymentRefused: The chain shows that nothing was paid.
    """
    fate = await attempt.look_on_chain()
    if fate in {Fate.LAPSED, Fate.FAILED}:
        await attempt.record_nothing_paid()
        raise PaymentRefused(f"{answer_text}, and the payment is {fate}. Nothing was paid: give the address to pay")
    return fate


def _describe_payment(attempt: Attempt) -> str:
    signed_payment = attempt.signed_payment
    return f"the payment {signed_payment.tx_id}" if signed_payment.tx_id is not None else "the authorization"


async def _keep_call(case: Case, purchase: Purchase, attempt: Attempt) -> dict[str, Any]:
    """Store a call and its receipt. The call is paid for, so it is stored even if the receipt is invalid.

    Raises:
        PaymentOpen: The key set cannot be fetched now, or the receipt cannot be written.
        PaymentStopped: No receipt verifies.
    """
    call_folder, steps = attempt.call_folder, attempt.steps
    if call_folder is not None:
        try:
            call_folder.keep_call(purchase, attempt.payment.record.network)
        except OSError as fault:
            steps.fail(f"--keep {call_folder.folder}: {fault.strerror}; the call is not kept")
        else:
            steps.say("call kept", f"request, answer and settlement in {call_folder.folder}")
    try:
        result = await find_receipt(case, purchase, attempt)
    except (Unreachable, JsonFault) as fault:
        raise PaymentOpen(f"the call was served, but its receipt cannot be verified now: {fault}") from fault
    return result | _keep_receipt(result["payable_receipt"], result.pop("jwks"), attempt)


async def find_receipt(case: Case, purchase: Purchase, attempt: Attempt) -> dict[str, Any]:
    """Return the verified receipt of a paid call, with its claims and what verifies it, as members for `--json`.

    Raises:
        PaymentStopped: No receipt at its place verifies, or it is one of another call.
        Unreachable: The key set cannot be fetched.
        JsonFault: The key set is not JSON.
    """
    # "The receipt is the member `payable_receipt` of the answer" (P-PY-12), unless the profile binds another place.
    receipt_place = case.profile.rail_bindings.receipt_at or _RECEIPT_PLACE
    tokens = receipts_in(purchase.answer, receipt_place)
    jwks = case.session.rail + "/.well-known/jwks.json"
    published_keys = ed25519_keys.keys_of_jwks((await case.client.call("GET", jwks)).read_object())
    for place, token in tokens:
        try:
            claims = jose.verify(token, published_keys)
        except jose.JwsFault:
            continue
        if "request_hash" in claims or "payable" in str(claims.get("kind", "")):
            # A rail that answers with a receipt of another call would let the payer keep a proof of
            # something else.
            if (other_subject := _other_subject(purchase, attempt.payment.record, claims)) is not None:
                raise PaymentStopped(f"the call was answered with 200, and its receipt is for another {other_subject}")
            attempt.steps.say("receipt", f"verified against the published key ({place})")
            digest = hash_recipes.sha256_hex(token.encode())
            return {
                "payable_receipt": token,
                "claims": claims,
                "receipt_hash": digest,
                "proof": dict(purchase.proof),
                "answer": purchase.answer.read_object(),
                "jwks": jwks,
            }
    raise PaymentStopped(
        f"the call was answered with 200, and no receipt at {receipt_place} verifies against the rail's published keys"
        f"{'' if case.profile.rail_bindings.receipt_at else '; if it is in another place, bind [rail] receipt_at'}"
    )


def _other_subject(purchase: Purchase, record: PaymentRecord, claims: Mapping[str, Any]) -> str | None:
    """Return the subject in which a receipt differs from the paid call; None if nothing shows a difference.

    The request's hash may have any known recipe. The answer's hash is compared only if the request's has the recipe of
    the specification, which has one for answers, too. Then the payment's hash is required as well.
    """
    extra = record.entry.get("extra")
    extra = extra if isinstance(extra, Mapping) else {}
    receipt_hash = claims.get("request_hash")
    if not _is_hash_of(purchase.challenge, extra, receipt_hash):
        return "request"
    response_hash = claims.get("response_hash")
    is_specified = _follows_recipes(purchase, extra, receipt_hash)
    if is_specified and response_hash not in _response_hashes(purchase):
        return "answer"
    payment = claims.get("payment_reference_hash")
    is_reference = isinstance(payment, str) and _HASH_REFERENCE.fullmatch(payment) is not None
    # A specified receipt has the member (2.3). Without it, nothing would bind the payment.
    if (is_reference or is_specified) and payment not in hash_recipes.spellings(record.reference.encode()):
        return "payment"
    return None


def _follows_recipes(purchase: Purchase, extra: Mapping[str, Any], request_hash: object) -> bool:
    """Return whether the hash of the request is that of P-RH-01."""
    operation, body = purchase.operation, purchase.challenge.body
    recipes = hash_recipes.request_hashes("POST", operation.path, operation.query, b"", body, extra.get("service_id"))
    return request_hash in recipes["jcs-envelope"]


def _response_hashes(purchase: Purchase) -> set[str]:
    """Return the hashes of the answer by every known recipe."""
    answer = purchase.answer
    recipes = hash_recipes.response_hashes(answer.body, answer.read_object().get("result"))
    return set().union(*recipes.values())


def _keep_receipt(token: str, jwks: str, attempt: Attempt) -> dict[str, str]:
    """Store a receipt; return its path, and the command that verifies it with the stored files of the call.

    Raises:
        PaymentOpen: The file cannot be written.
    """
    call_folder = attempt.call_folder
    default_name = f"receipt-{hash_recipes.sha256_hex(token.encode())[:16]}.jws"
    path = attempt.receipt_file or (call_folder.folder / RECEIPT if call_folder is not None else Path(default_name))
    try:
        write_private(path, f"{token}\n".encode("ascii"))
    except OSError as fault:
        # The receipt was paid for, so it is printed if it cannot be stored.
        click.echo(token, err=True)
        raise PaymentOpen(
            f"{path}: {fault.strerror}; the receipt is printed above, and the rail keeps it for a day"
        ) from fault
    attempt.steps.say("receipt kept", str(path))
    verify_command = call_folder.verification_command(path, jwks) if call_folder is not None else None
    if verify_command is None:
        return {"kept": str(path)}
    attempt.steps.say("verify it", verify_command)
    return {"kept": str(path), "verify": verify_command}


def operation_at(session: Session, address: PaidAddress, body: Any) -> Operation:
    """Return the operation at an address, with the query of the address.

    Raises:
        PaymentRefused: The rail lists no operation at the address.
        Inconclusive: The rail lists no operations.
    """
    operation = next((one for one in session.catalog.listed_operations if one.url == address.bare), None)
    if operation is None:
        path_list = ", ".join(one.path for one in session.catalog.listed_operations)
        raise PaymentRefused(f"{address.bare} is not a paid operation of the rail: {path_list}. Nothing was paid")
    return Operation(operation.role, address.url, operation.path, operation.body if body is None else body, ())


def keep_payable_offers(case: Case, quote: Challenge) -> Challenge:
    """Return a challenge without the offers of this lane's family on networks that the profile's node does not serve.

    If no offer is left, the challenge is returned unchanged, and `read_price` says why it is not paid.
    """
    offers = tuple(one for one in quote.accepts if lane_of(one) == case.lane and _is_on_own_network(case, one))
    return replace(quote, accepts=offers) if offers else quote


def _is_on_own_network(case: Case, entry: Mapping[str, Any]) -> bool:
    """Return whether an offer names the network of the profile's node; any name will do for a private network."""
    chain = case.profile.chains.of(case.lane)
    if chain is None:
        return False
    offered_network, own_network = network_named(entry.get("network")), network_named(chain.network)
    if offered_network is not None:
        return offered_network.key in {chain.network, case.profile.usual_network(chain.network)}
    return own_network is None or own_network.caip2 is None


def read_price(case: Case, entry: Mapping[str, Any]) -> tuple[str, int]:
    """Return the network key and the price of an offer, in millionths of USDC.

    Raises:
        PaymentRefused: The offer asks for another asset than the USDC of the profile's node, or contains no amount.
    """
    chain = case.profile.chains.of(case.lane)
    if chain is None:
        raise PaymentRefused(f"the profile has no [chains.{case.lane}], so nothing can be paid on that lane")
    network = chain.network
    # A test network and a main network of one chain have the same addresses. An offer for the other one would be paid
    # here, where its rail does not look.
    offered_network = network_named(entry.get("network"))
    if offered_network is not None and not _is_on_own_network(case, entry):
        raise PaymentRefused(
            f"the challenge asks for a payment on {offered_network.key}, and the profile's node is one of {network}. "
            "Nothing was paid"
        )
    usdc, asset, amount = chain.usdc, entry.get("asset"), str(entry.get("maxAmountRequired"))
    # The asset of the challenge is chosen by the rail. A worthless token of the same name must not
    # count as USDC, and another asset would have another price.
    if usdc is None or not usdc.is_asset(str(asset)):
        usdc_text = f"USDC of {network} is {usdc.asset_id}" if usdc is not None else f"no USDC of {network} is known"
        raise PaymentRefused(f"the challenge asks for the asset {asset}, and {usdc_text}. Nothing was paid")
    if not (amount.isascii() and amount.isdecimal() and len(amount) <= _LONGEST_NUMBER):
        raise PaymentRefused(f"the challenge's maxAmountRequired {amount} is not an amount. Nothing was paid")
    if str(entry.get("amount", amount)) != amount:
        raise PaymentRefused(f"the challenge asks for {amount} and for {entry['amount']} at once. Nothing was paid")
    return network, int(amount)


def check_worth_paying(case: Case, quote: Challenge, arrived_at: int) -> None:
    """Reject a challenge for another request, or one that is about to expire (P-CH-12, P-PY-04).

    Args:
        case: The case.
        quote: The challenge.
        arrived_at: When it arrived, in unix seconds.

    Raises:
        PaymentRefused: The challenge must not be paid.
    """
    extra = quote.entry(case.lane).get("extra")
    if not isinstance(extra, Mapping):
        raise PaymentRefused("the challenge's offer has no object `extra`; nothing was paid")
    quoted_hash = extra.get("request_hash")
    if isinstance(quoted_hash, str) and not _is_hash_of(quote, extra, quoted_hash):
        raise PaymentRefused("the challenge is for another request (extra.request_hash differs); nothing was paid")
    issued_at, lifetime = _read_issue_time(case, quote), _read_lifetime(case, quote)
    # "If the token begins with no time, it is counted from the arrival of the challenge" (P-PY-04).
    ends = None if lifetime is None else (arrived_at if issued_at is None else issued_at) + lifetime
    # The payment needs time to become final. A proof that comes after the end of its challenge is
    # worthless.
    if ends is not None and ends - clock.now(case) < _MINIMUM_SECONDS_LEFT:
        raise PaymentRefused("the challenge expires in less than 120 s; request a new one. Nothing was paid")


def _is_hash_of(quote: Challenge, extra: Mapping[str, Any], value: object) -> bool:
    """Return whether a value is the hash of the challenge's request by any known recipe."""
    operation = quote.operation
    ours = hash_recipes.request_hashes(
        "POST", operation.path, operation.query, encode_json(quote.body), quote.body, extra.get("service_id")
    )
    return isinstance(value, str) and any(value in values for values in ours.values())


def _end_of(case: Case, quote: Challenge) -> int | None:
    """Return when a challenge expires, in unix seconds; None if it does not contain that."""
    issued_at, lifetime = _read_issue_time(case, quote), _read_lifetime(case, quote)
    return None if issued_at is None or lifetime is None else issued_at + lifetime


def _read_issue_time(case: Case, quote: Challenge) -> int | None:
    """Return the time with which the token begins, in unix seconds; None without one."""
    text = quote.reference(case.lane).split(":", 1)[0]
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def _read_lifetime(case: Case, quote: Challenge) -> int | None:
    """Return the lifetime of a challenge in seconds; None if it does not contain one."""
    seconds = case.profile.rail_bindings.challenge_ttl or quote.entry(case.lane).get("maxTimeoutSeconds")
    return seconds if isinstance(seconds, int) and 0 < seconds <= _LONGEST_LIFETIME else None


def _worth_until(case: Case, quote: Challenge) -> int:
    """Return until when a payment that the rail cannot find may be presented, in unix seconds."""
    now = int(time.time())
    ends = _end_of(case, quote)
    # A token may begin with a number that is not a time. Ten years from now is the limit of a plausible one.
    is_moment = ends is not None and abs(ends - now) < 10 * 365 * 86_400
    return (ends if ends is not None and is_moment else now + _LIFETIME) + _SETTLE_SECONDS
