"""One paid call: ask, check, sign, store, send, present until it is answered, verify (10.1 to 10.4).

A payment goes through these states; each is on the disk before the next step, so that a crash at any moment leads to
no second payment:

    no file -> signed and stored -> sent -> presented, again after each answer that permits it -> answered, file removed
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from email.utils import parsedate_to_datetime

from reference.variants.payer.http_call import NOT_DECIDED, Answer, NoAnswer, send_request
from reference.variants.payer.lanes import Payment, send_payment, sign_payment
from reference.variants.payer.offer import choose_offer
from reference.variants.payer.proof_store import AnswerMissing, ProofStore, Record, open_store
from reference.variants.payer.receipt import BadReceipt, check_receipt
from reference.variants.payer.settings import Refused, Settings

SERVED, REFUSED, ANSWER_MISSING, PROOF_REFUSED = 0, 1, 5, 6
# Statuses that say "not yet": the proof is as good as before.
AGAIN = frozenset({408, 409, 425, 429})
# Codes of a 402 that say "not yet".
UNSETTLED = frozenset({"tx_not_found", "tx_not_confirmed"})
_SERVER_FAULT = 500
_PAUSE_SECONDS = 1.0


class ProofRefused(Exception):
    """The rail refuses the proof in a way that no repetition changes."""


def main() -> int:
    """Make the call that the environment describes, and return the exit code."""
    try:
        settings = Settings.read(os.environ)
        with open_store(settings) as store:
            answer = make_call(settings, store)
            # The answer leaves this process before the proof is forgotten.
            sys.stdout.write(answer.body.decode("utf-8") + "\n")
            sys.stdout.flush()
            store.remove()
    except Refused as reason:
        return _end(f"nothing was paid: {reason}", REFUSED)
    except AnswerMissing as reason:
        return _end(f"paid, and no answer yet: {reason}; run this again to present the proof again", ANSWER_MISSING)
    except (ProofRefused, BadReceipt) as reason:
        return _end(f"paid, and it cannot be continued: {reason}; ask the operator of the rail", PROOF_REFUSED)
    return SERVED


def _end(reason: str, code: int) -> int:
    sys.stderr.write(f"payer: {reason}\n")
    return code


def make_call(settings: Settings, store: ProofStore) -> Answer:
    """Return the served answer of the call, or of the link, whose payment an earlier run may have begun."""
    if settings.method == "GET":
        # Most runs make calls over HTTP, and a run is short: these imports would be a fifth of its time.
        from reference.variants.payer.link import pay_link  # noqa: PLC0415

        return pay_link(settings, store)
    ends = time.monotonic() + settings.seconds
    record = store.read()
    if record is None:
        record = begin_payment(settings, store)
    send_payment(settings, record.payment)
    answer = present(settings, record.payment, ends)
    check_receipt(settings, record.entry, answer)
    return answer


def begin_payment(settings: Settings, store: ProofStore) -> Record:
    """Ask for the price, sign the payment, and store it before it is sent.

    Raises:
        Refused: Nothing may be paid.
    """
    try:
        entry = choose_offer(settings, post(settings))
        record = Record(entry, sign_payment(settings, entry))
    except NoAnswer as fault:
        raise Refused(f"no answer: {fault}") from fault
    store.write(record)
    return record


def post(settings: Settings, proof: dict[str, object] | None = None) -> Answer:
    """Send the call, with a proof if there is one."""
    if settings.a2a_url:
        from reference.variants.payer.a2a_call import send_call  # noqa: PLC0415 - as above

        return send_call(settings, proof)
    headers = {"Content-Type": "application/json"}
    if proof is not None:
        headers["X-PAYMENT"] = base64.b64encode(json.dumps(proof).encode()).decode("ascii")
    return send_request("POST", settings.url, settings.body, headers)


def present(settings: Settings, payment: Payment, ends: float) -> Answer:
    """Present one proof until it is served.

    Raises:
        AnswerMissing: The time is over.
        ProofRefused: Presenting it again cannot help.
    """
    while True:
        try:
            answer = post(settings, payment.proof)
        except NoAnswer as fault:
            wait, reason = _PAUSE_SECONDS, str(fault)
        else:
            if answer.status == 200:
                return answer
            reason = f"{answer.status} {answer.members.get('error', '')}"
            if not is_not_yet(answer):
                raise ProofRefused(reason)
            wait = read_wait(answer)
        if time.monotonic() + wait > ends:
            raise AnswerMissing(reason)
        time.sleep(wait)


def is_not_yet(answer: Answer) -> bool:
    """Return whether an answer permits the same proof to be presented again."""
    code = answer.members.get("error")
    if answer.status == NOT_DECIDED:
        return True
    if answer.status == 402:
        return code in UNSETTLED
    if code in {"payment_already_spent", "payment_refunded"}:
        return False
    return answer.status in AGAIN or answer.status >= _SERVER_FAULT


def read_wait(answer: Answer) -> float:
    """Return the seconds to wait before the proof is presented again: Retry-After as seconds or as a date."""
    text = answer.headers.get("retry-after", "")
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return _PAUSE_SECONDS
