"""A case without a target: answers by a function, and the verdicts of a check."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.assertions.gateway.refusals import REPORT_CODE, Refusal
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.target import GatewayBindings

TENANT = Credentials(
    "first",
    "11111111-1111-4111-8111-111111111111",
    "weld_key",
    ("algorand_testnet", "base_sepolia"),
    {"algorand_testnet": "A" * 58, "base_sepolia": "0x" + "a" * 40},
)


def build_answer(status: int, body: Any, **headers: str) -> Answer:
    """Return an answer with a JSON body."""
    fields = CIMultiDict({"X-Request-Id": "req_1", **headers})
    return Answer(1, status, CIMultiDictProxy(fields), json.dumps(body).encode())


def answer_refusal(refusal: Refusal, **changes: Any) -> Answer:
    """Return the answer that a refusal expects, with members of its body changed."""
    body: dict[str, Any] = {"error": refusal.code, "message": "no", "request_id": "req_1"}
    body |= {name: "x" if isinstance(value, type) else value for name, value in refusal.members.items()}
    if refusal.code == REPORT_CODE:
        body |= {"verified": False, "error_message": "no"}
    if refusal.code == "validation_error" or refusal.detail:
        body["detail"] = [{"loc": ["body"], "msg": "no", "type": "wrong", **refusal.detail}]
    if refusal.code == "method_not_allowed":
        body["allowed"] = ["POST"]
    return build_answer(changes.pop("status", refusal.status), {**body, **changes}, **refusal.headers)


@dataclass
class RecordedCase:
    """Keeps what a check expects, by row."""

    answer: Callable[..., Awaitable[Answer]]
    breaches: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    judged: int = 0

    def __post_init__(self) -> None:
        names = SimpleNamespace(name=lambda *_: None, secret=lambda *_: None)
        self.client = SimpleNamespace(names=names, call=self.answer)
        self.rng = random.Random(1)
        bindings = GatewayBindings(resource_body={"resource_id": "wp-{unique}", "amount_microunits": 1})
        claims = SimpleNamespace(includes=lambda _: True)
        self.profile = SimpleNamespace(
            gateway_bindings=bindings, claims=claims, budgets=SimpleNamespace(paid=0.0), usual_network=str
        )
        counts = iter(range(1000))
        tenants = SimpleNamespace(get=lambda *_: TENANT)
        self.session = SimpleNamespace(tenants=tenants, nonce="1", count=lambda: next(counts), gateway="http://gateway")

    def expect(self, row: str, holds: bool, *_: Any, where: Mapping[str, str] | None = None, **__: Any) -> bool:
        """Keep a breach."""
        self.judged += 1
        if not holds:
            self.breaches.append((row, where or {}))
        return holds

    def note(self, text: str) -> None:
        """Ignore a note."""
