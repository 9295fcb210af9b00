"""Mutants of what a payment buys: verification that verifies, what was ordered, and whom a stored answer is for."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import orjson

from reference.protocol.canonical_json import canonicalise
from reference.protocol.hashes import canonical_request_hash
from reference.protocol.keys import SigningKey
from reference.protocol.redemption import State
from reference.protocol.service_word import ServiceWord
from reference.rail import services
from reference.rail.challenges import Call, Challenge, Challenges
from reference.rail.conversation import Conversation
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.redemption import Redeemer, Served
from reference.rail.services import Service
from reference.rail.signing import Signer
from reference.store.redemption_rows import Answer, Redemption
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.errors import Refused
from reference.web.exchange import Reply, Request

_KEY = SigningKey.from_seed(bytes(32))
_CONTEXT = services.ServiceContext(
    word=ServiceWord(),
    key=_KEY,
    did="did:web:rail.example",
    platform_keys=(_KEY.public.jwk(),),
    jurisdiction_flags=("UK",),
    now_ms=0,
    settled_payment_ref="sha256:" + "0" * 64,
)


def _says(path: str, **members: Any) -> Callable[[], None]:
    """Return what sets members of a service's result, whatever was found."""

    def apply() -> None:
        service = services.SERVICES[path]
        run = service.run

        def changed_run(*args: Any) -> Mapping[str, Any]:
            return {**run(*args), **members}

        object.__setattr__(service, "run", changed_run)

    return apply


def _example_ordered() -> None:
    """Take every order over A2A for one of the service's example."""

    def usual(ordered: Callable[..., Any]) -> Callable[..., Any]:
        def taken(self: Conversation, asked: Mapping[str, Any]) -> Any:
            memo = ordered(self, asked)
            service = next(one for one in services.SERVICES.values() if one.id == memo["service_id"])
            return {**memo, "request": dict(service.example)}

        return taken

    replace(Conversation, "_ordered", usual)


def _any_payment() -> None:
    """Give a spent token's answer to whoever names the token with its request, whatever payment stands beside it."""

    def forgiving(redeem: Callable[..., Any]) -> Callable[..., Any]:
        async def redeemed(self: Redeemer, presented: Any, call: Any, request: Any) -> Served:
            rows = await self._ledger.involved(presented.token.text, presented.payment_key)
            mine = [row for row in rows if (row.token, row.request_hash) == (presented.token.text, call.request_hash)]
            spent = next((row for row in mine if row.state is State.SPENT), None)
            served: Served = await (redeem(self, presented, call, request) if spent is None else self._answered(spent))
            return served

        return redeemed

    replace(Redeemer, "redeem", forgiving)


def _spent_is_refused() -> None:
    """Refuse the identical request with a spent payment, although its answer is stored."""

    def forgetful(_: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: Redeemer, row: Any) -> Served:  # noqa: ARG001 - the seam's shape
            raise Refused(409, "payment_already_spent", "this payment already bought something")

        return answered

    replace(Redeemer, "_answered", forgetful)


def _receipt_without_query() -> None:
    """Write the hash of the request without its query into the receipt."""

    def signing(answer: Callable[..., Answer]) -> Callable[..., Answer]:
        def answered(self: Signer, row: Redemption, service: Service, request: Any) -> Answer:
            body = canonicalise(request.model_dump(exclude_unset=True))
            bare = canonical_request_hash(body, service.path, "", service.id)
            return answer(self, dataclasses.replace(row, request_hash=bare), service, request)

        return answered

    replace(Signer, "answer", signing)


def _previewed(place: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Run the service for whoever asks for its price, and put its result into the 402.

    What it signs is left out: a signed token in a 402 is seen by its form.
    """

    def early(issue: Callable[..., Challenge]) -> Callable[..., Challenge]:
        def issued(self: Challenges, call: Call, **told: Any) -> Challenge:
            document = orjson.loads(issue(self, call, **told).body)
            result = self.service.run(self.service.accepts(orjson.loads(call.kept)), _CONTEXT)
            place(document, {name: "later" if "jws" in name else value for name, value in result.items()})
            return Challenge(orjson.dumps(document))

        return issued

    replace(Challenges, "issue", early)


def _beside_the_price(document: dict[str, Any], result: dict[str, Any]) -> None:
    """Tell a result under a name of its own, where no example shows what it looks like."""
    document["preview"] = result
    del document["extensions"]["bazaar"]["info"]["output"]


def _as_the_example(document: dict[str, Any], result: dict[str, Any]) -> None:
    """Give a result for the example of one."""
    document["extensions"]["bazaar"]["info"]["output"]["example"] = result


def _proof_in_message() -> None:
    """Quote the whole proof in the message of a 409."""

    def quoting(call: Callable[..., Awaitable[Reply]]) -> Callable[..., Awaitable[Reply]]:
        async def answered(self: PaidEndpoint, request: Request) -> Reply:
            try:
                return await call(self, request)
            except Refused as fault:
                if fault.status != HTTPStatus.CONFLICT:
                    raise
                raise dataclasses.replace(fault, message=f"already spent: {request.one('x-payment')}") from fault

        return answered

    replace(PaidEndpoint, "call", quoting)


def _proof_in_header() -> None:
    """Send the whole proof back in a header of what was bought."""

    def sending(call: Callable[..., Awaitable[Reply]]) -> Callable[..., Awaitable[Reply]]:
        async def answered(self: PaidEndpoint, request: Request) -> Reply:
            reply = await call(self, request)
            back = {"X-Payment-Seen": request.one("x-payment")} if reply.status == HTTPStatus.OK else {}
            return dataclasses.replace(reply, headers={**reply.headers, **back})

        return answered

    replace(PaidEndpoint, "call", sending)


MUTANTS = (
    Mutant("receipt-without-query", "a receipt binds the query (P-RH-01)", _receipt_without_query),
    Mutant("result-as-preview", "a 402 holds no result (5.3)", partial(_previewed, _beside_the_price)),
    Mutant("result-as-example", "a 402 holds no result (5.3)", partial(_previewed, _as_the_example)),
    Mutant("sold-receipts-all-hold", "what is sold verifies (5.2)", _says("/pay/v1/verify/receipt", verified=True)),
    Mutant("sold-messages-all-hold", "what is sold verifies (5.2)", _says("/pay/v1/verify/rfc9421", valid=True)),
    Mutant("a2a-sells-the-example", "what is ordered is what is sold (P-RA-05)", _example_ordered),
    Mutant("stored-for-any-payment", "a stored answer is for its own payment (P-ST-04)", _any_payment),
    Mutant("proof-in-message", "a payment that was sent stands in no answer (P-CV-12)", _proof_in_message),
    Mutant("proof-in-header", "a payment that was sent stands in no answer (P-CV-12)", _proof_in_header),
    Mutant("spent-is-refused", "the identical request gets the stored answer (P-ST-04)", _spent_is_refused),
)
