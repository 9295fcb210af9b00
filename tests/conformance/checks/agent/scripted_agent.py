"""An agent in memory behind the recording client, honest unless a test says otherwise, under the names of a look.

Its judge is the suite's own oracle: what a test shows is what the checks make of answers, not who is right.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.oracles.ed25519_keys import KeyFault
from conformance.oracles.message_signatures import judgement, keys, signing, verify_request_members
from conformance.oracles.message_signatures.algorithms import SigningKey
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.structured import BareItem
from conformance.outcome import Verdict
from conformance.surfaces.agent import EXPLAIN, OPERATIONS, SIGN, VERIFY
from tests.conformance.checks.trial import run_one_check

BASE = "http://agent.test"
PROFILE = f"""
[target]
defaults = "reference"
[surfaces.agent]
url = "{BASE}"
[claims]
surfaces = ["agent"]
[pace]
requests_per_second = 0.0
"""
FOREIGN = PROFILE.replace('"reference"', '"none"')
_POSTS = {"message/send", "tasks/get"}


@dataclass
class Call:
    """One request as the agent sees it, and its answer before it is sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    document: Any

    @property
    def members(self) -> dict[str, Any]:
        """The request's JSON object, empty if the body is not an object."""
        return self.document if isinstance(self.document, dict) else {}


@dataclass
class Reply:
    """One answer."""

    status: int
    document: Any


Change = Callable[[Call, Reply], Reply]


class Agent:
    """Answers as a transport; `change` may put a fault into any answer."""

    def __init__(self, change: Change | None = None, look: Look | None = None) -> None:
        self.change = change
        self.look = look or Look()
        self.calls: list[Call] = []

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        call = Call(method, urlsplit(url).path or "/", CIMultiDict(headers), body or b"", _parse_json(body or b""))
        self.calls.append(call)
        reply = self._answer(call)
        if self.change is not None:
            reply = self.change(call, reply)
        content = reply.document if isinstance(reply.document, bytes) else json.dumps(reply.document).encode()
        return reply.status, CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"})), content

    def _answer(self, call: Call) -> Reply:
        if call.method == "POST" and call.path in {VERIFY, EXPLAIN, SIGN}:
            return self._skill(call)
        if call.path == "/a2a":
            return self._rpc(call) if call.method == "POST" else Reply(200, {"hint": "POST JSON-RPC here"})
        card: dict[str, Any] = {
            "name": "Agent",
            "description": "d",
            "url": BASE + "/a2a",
            "version": "1",
            "protocolVersion": "0.3.0",
        }
        card |= {"capabilities": {}, "defaultInputModes": [], "defaultOutputModes": [], "skills": []}
        paths: dict[str, Any] = {}
        for method, path in OPERATIONS:
            paths.setdefault(path, {})[method.lower()] = {"responses": {"200": {"description": "ok"}}}
        openapi = {"openapi": "3.1.0", "info": {"title": "t", "version": "0.1.0"}, "paths": paths}
        documents = {
            "/": {"name": "Agent"},
            "/health": {"status": "ok"},
            "/.well-known/agent-card.json": card,
            "/.well-known/agent.json": card,
            "/openapi.json": openapi,
        }
        return Reply(200, documents[call.path]) if call.path in documents else Reply(404, {"detail": "Not Found"})

    def _skill(self, call: Call) -> Reply:
        if not isinstance(call.document, dict):
            return answer_malformed("no object")
        try:
            return self._result(call)
        except (KeyError, ValueError, TypeError, AttributeError, KeyFault) as fault:
            return answer_malformed(str(fault))

    def _result(self, call: Call) -> Reply:
        if call.path == SIGN:
            return Reply(200, self.look.sign_request(call.members))
        members = self.look.request(call.members)
        message, key = verify_request_members.message_of(members), verify_request_members.key_of(members)
        if key is None and call.path == VERIFY:
            return answer_malformed("no key")
        verdict = judgement.judge(
            message, key, verify_request_members.policy_of(members), now=members.get("now") or int(time.time())
        )
        return Reply(200, self.look.result(verdict, message, explain=call.path == EXPLAIN))

    def _rpc(self, call: Call) -> Reply:
        envelope = {"jsonrpc": "2.0", "id": call.members.get("id")}
        if not isinstance(call.document, dict):
            return Reply(200, {**envelope, "error": {"code": -32700, "message": "no JSON"}})
        if call.members.get("method") not in _POSTS:
            return Reply(200, {**envelope, "error": {"code": -32601, "message": "method not found"}})
        return Reply(200, {**envelope, "result": {"kind": "task", "id": "t", "status": {"state": "input-required"}}})


class Look:
    """The names of the reference: what comes in, what goes out."""

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the members of a request under the family's names."""
        return request_members

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return the answer of verify or explain."""
        signature = judged.signature
        parameters = {} if signature is None else dict(signature.coverage.parameters)
        members: dict[str, Any] = {
            "valid": judged.is_valid,
            "errors": [fault.text for fault in judged.faults],
            "error_codes": [fault.code.value for fault in judged.faults],
            "signature_base": "" if judged.base is None else judged.base.text or "",
            "covered_components": [str(one) for one in signature.coverage.components] if signature else [],
            "parameters": {name: value for name, value in parameters.items() if isinstance(value, int | str)},
        }
        if explain:
            digest = digest_value(message.body) if judged.digest is None else judged.digest.content_digest
            members["content_digest"] = {"computed": digest.partition("=:")[2].rstrip(":") or digest}
            members["fix_notes"] = [f"Look at this: {fault.text}" for fault in judged.faults]
        return members

    def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of sign."""
        if any("key" in name for name in request_members):
            raise ValueError("no keys")
        fields = {
            name: value
            for name, value in request_members.get("headers", {}).items()
            if name.lower() != "content-digest"
        }
        message = signing.with_digest(verify_request_members.message_of({**request_members, "headers": fields}))
        key = self.demo_key()
        public = _raw(key)
        signed_message = signing.sign(message, key, signing.default_components(message), self.parameters(public))
        verdict = judgement.judge(
            signed_message.message, key.public, judgement.Policy(label="sig"), now=int(time.time())
        )
        if not verdict.is_valid:
            raise ValueError("no valid signature can be made for it")
        return {
            **verify_request_members.members_of(signed_message.message),
            "signature_base": signed_message.base,
            "public_key_hex": public.hex(),
            "did_key": keys.did_key(public),
        }

    def parameters(self, public: bytes) -> dict[str, BareItem]:
        """Return the parameters of a demo's signature."""
        return {"created": int(time.time()), "keyid": keys.did_key(public)}

    def demo_key(self) -> SigningKey:
        """Return a fresh key."""
        return keys.generate()


class Foreign(Look):
    """An honest independent agent: other names for everything that the interface leaves open."""

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read `{"message": {"method", "url", "headers", "body"}, "public_key_hex" or "did_key"}`."""
        message = request_members["message"]
        parts = urlsplit(message["url"])
        cut = message["url"].index(parts.netloc) + len(parts.netloc)
        key = {name: request_members[name] for name in ("public_key_hex", "did_key") if name in request_members}
        for value in message["headers"].values():
            if not isinstance(value, str):
                raise TypeError("headers are texts")
        return {
            **{name: message[name] for name in ("method", "headers")},
            "authority": parts.netloc,
            "scheme": parts.scheme,
            "path": message["url"][cut:],
            "body_b64": message.get("body_b64", ""),
            "require_content_digest": False,
            **key,
        }

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return `{"report": {...}}`."""
        ours = super().result(judged, message, explain=explain)
        outcome = {True: "passed", False: "failed", None: "unknown"}[judged.is_valid]
        report: dict[str, Any] = {"outcome": outcome, "problems": [{"text": text} for text in ours["errors"]]}
        if explain:
            report |= {
                "canonical": ours["signature_base"].splitlines(),
                "components": [{"name": name.strip('"')} for name in ours["covered_components"]],
                "params": ours["parameters"],
                "digest": {"sha-256": digest_value(message.body), "sha-512": _long(message.body)},
                "hints": ours["fix_notes"],
            }
        return {"report": report}

    def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
        """Return `{"request": {"headers": [[name, value]]}, "base", "key"}`."""
        plain = dict(self.request({"message": request_members["message"]}))
        ours = super().sign_request(plain)
        headers = [[name, value] for name, value in ours["headers"].items()]
        return {"request": {"headers": headers}, "base": ours["signature_base"], "key": {"did": ours["did_key"]}}


def _long(body: bytes) -> str:
    return digest_value(body, "sha-512")


def _raw(key: SigningKey) -> bytes:
    material = key.public.material
    assert isinstance(material, bytes)
    return material


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def answer_malformed(reason: str) -> Reply:
    """Return a 422."""
    return Reply(422, {"detail": [{"loc": ["body"], "msg": reason or "wrong", "type": "value_error"}]})


async def run_check(name: str, agent: Agent, profile: str = PROFILE) -> dict[str, Verdict]:
    """Run one check against an agent and return the verdict of each row it judged."""
    return await run_one_check(name, agent, profile)


def at(path: str, change: Callable[[Any], Any]) -> Change:
    """Return what changes the document of 200 answers at a path."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        return replace(reply, document=change(reply.document)) if call.path == path and reply.status == 200 else reply

    return change_reply


ADDED_FIELDS = ("Signature-Input", "Signature", "Content-Digest")


def only_added(document: Any) -> Any:
    """Leave of a signed request's fields those that signing adds."""
    return {
        **document,
        "headers": {name: document["headers"][name] for name in ADDED_FIELDS if name in document["headers"]},
    }
