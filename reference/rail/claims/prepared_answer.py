"""What was made before a payment was looked for, and whether it is the answer (step 15)."""

from __future__ import annotations

import base64
from dataclasses import replace

import orjson

from reference.protocol.weld import Payment
from reference.records import record
from reference.store.redemption_rows import Answer


@record
class PreparedAnswer:
    """An answer that was made before its payment was looked for.

    Attributes:
        answer: The answer; it does not know its payer.
        tx_id: The transaction that its receipts name.
        unix: The second in which it was made.
    """

    answer: Answer
    tx_id: str
    unix: int

    def answers(self, payment: Payment, now: int) -> bool:
        """Return whether it answers a payment: by that transaction, and found in the second that its receipts tell."""
        return (self.tx_id, self.unix) == (payment.tx_id, now)

    def add_payer(self, payer: str) -> Answer:
        """Return the answer with its payer in `PAYMENT-RESPONSE`."""
        response = {**orjson.loads(base64.b64decode(self.answer.payment_response)), "payer": payer}
        return replace(self.answer, payment_response=base64.b64encode(orjson.dumps(response)).decode())
