"""An answer that is prepared before its payment is looked up, and the rule when it may be sent (step 15)."""

from __future__ import annotations

import base64
from dataclasses import replace

import orjson

from reference.fast_records import record
from reference.protocol.weld import Payment
from reference.store.redemption_rows import Answer


@record
class PreparedAnswer:
    """An answer that was prepared before its payment was looked up.

    Attributes:
        answer: The answer; its payer is not known yet.
        tx_id: The transaction in its receipts.
        unix: The second in which it was prepared.
    """

    answer: Answer
    tx_id: str
    unix: int

    def answers(self, payment: Payment, now: int) -> bool:
        """Return whether it answers a payment: the same transaction, found in the second of its receipts."""
        # Receipts state the time of service in seconds. An answer of an earlier second would date the service before
        # its payment was found.
        return (self.tx_id, self.unix) == (payment.tx_id, now)

    def add_payer(self, payer: str) -> Answer:
        """Return the answer with its payer in `PAYMENT-RESPONSE`."""
        response = {**orjson.loads(base64.b64decode(self.answer.payment_response)), "payer": payer}
        return replace(self.answer, payment_response=base64.b64encode(orjson.dumps(response)).decode())
