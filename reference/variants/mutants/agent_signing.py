"""Mutants of demo signing (6.5)."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from dataclasses import replace as changed
from typing import Any

import http_sf
from nacl.signing import SigningKey

from reference.agent import skills
from reference.agent.skills import Moment
from reference.protocol.keys import PublicKey
from reference.protocol.message_signatures import content_digest, signing
from reference.protocol.message_signatures.signing import PRIVATE_KEY_MEMBERS, SignRequest
from reference.variants.mutants.agent_verdicts import SIGN, agent_mutant, change_result
from reference.variants.seams import replace
from reference.web.errors import Unprocessable


def _signed(change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    return change_result(SIGN, change)


def _without_members(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(result: dict[str, Any]) -> None:
        for name in names:
            result.pop(name, None)

    return change


def _without_signature(result: dict[str, Any]) -> None:
    del result["headers"]["Signature"]


def _flawed_signature(result: dict[str, Any]) -> None:
    raw = bytearray(base64.b64decode(result["headers"]["Signature"].partition("=:")[2].rstrip(":")))
    raw[40] ^= 1
    result["headers"]["Signature"] = f"{result['label']}={http_sf.ser(bytes(raw))}"


def _other_base(result: dict[str, Any]) -> None:
    for name in ("signature_base", "signing_base"):
        result[name] = result[name].replace('"@method": ', '"@method":')


def _other_key(result: dict[str, Any]) -> None:
    public = PublicKey(bytes(SigningKey(secrets.token_bytes(32)).verify_key))
    result.update(public_key_hex=public.raw.hex(), did_key=public.did_key)


def _of_seed(seeds: Callable[[], bytes]) -> Callable[[], None]:
    """Return what draws the demo key elsewhere."""
    return lambda: replace(
        skills, "sign", lambda sign: lambda request, **rest: sign(request, **{**rest, "seed": seeds()})
    )


def _pool() -> None:
    seeds = [bytes([n]) * 32 for n in range(8)]
    _of_seed(lambda: secrets.choice(seeds))()


def _offered_used() -> None:
    """A private key in hex is taken where it is offered."""
    offered: list[bytes] = []

    def taking(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: skills.Skill, body: Any, moment: Moment) -> dict[str, Any]:
            given = body.pop("private_key_hex", None) if isinstance(body, dict) and self.path == SIGN else None
            offered[:] = [bytes.fromhex(given)] if isinstance(given, str) else []
            result: dict[str, Any] = call(self, body, moment)
            return result

        return called

    replace(skills.Skill, "call", taking)
    _of_seed(lambda: offered[0] if offered else secrets.token_bytes(32))()


def _offered_seed_used() -> None:
    """A seed is taken where it is offered: the name is not on the list of those that are refused."""
    offered: list[bytes] = []

    def taking(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: skills.Skill, body: Any, moment: Moment) -> dict[str, Any]:
            given = body.get("seed") if isinstance(body, dict) and self.path == SIGN else None
            offered[:] = [bytes.fromhex(given)] if isinstance(given, str) and len(given) == 64 else []
            result: dict[str, Any] = call(self, body, moment)
            return result

        return called

    replace(skills.Skill, "call", taking)
    _of_seed(lambda: offered[0] if offered else secrets.token_bytes(32))()


def _refusing(told: Callable[[Any, Unprocessable], Exception]) -> None:
    """Have refusals of the skills be what is told of a body and its refusal."""

    def other(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: skills.Skill, body: Any, moment: Moment) -> dict[str, Any]:
            try:
                result: dict[str, Any] = call(self, body, moment)
            except Unprocessable as fault:
                raise told(body, fault) from None
            return result

        return called

    replace(skills.Skill, "call", other)


def _offered_echoed() -> None:
    """A refused private key stands in the refusal."""

    def told(body: Any, fault: Unprocessable) -> Exception:
        given = [body[name] for name in PRIVATE_KEY_MEMBERS if isinstance(body, dict) and name in body]
        return Unprocessable([{**one, "msg": f"{one['msg']} {given}"} for one in fault.detail])

    _refusing(told)


def _extras_returned() -> None:
    """What was sent beside the known members comes back in the result."""

    def keeping(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: skills.Skill, body: Any, moment: Moment) -> dict[str, Any]:
            result: dict[str, Any] = call(self, body, moment)
            return {**body, **result} if self.path == SIGN else result

        return called

    replace(skills.Skill, "call", keeping)


def _without_digest() -> None:
    """A body is signed without its digest."""
    _any_goes_out()
    replace(
        SignRequest, "components", lambda make: lambda self: tuple(c for c in make(self) if c.name != "content-digest")
    )


def _any_goes_out() -> None:
    """What was signed is not verified before it is answered."""
    replace(signing, "_check_valid", lambda _: lambda signed: None)  # noqa: ARG005 - the rule that is dropped


def _keeps_digest() -> None:
    """The caller's Content-Digest is signed as it came."""

    def kept(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(request: Any, covered: Any) -> Any:
            given = {name: value for name, value in request.headers.items() if name.lower() == content_digest.FIELD}
            headers = make(request, covered)
            return headers | {"Content-Digest": next(iter(given.values()))} if given else headers

        return made

    replace(signing, "_headers_to_sign", kept)
    _any_goes_out()


def _digest_of_no_body() -> None:
    """The digest that is signed is of an empty body."""

    def empty(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(request: Any, covered: Any) -> Any:
            headers = make(request, covered)
            if "Content-Digest" in headers:
                headers["Content-Digest"] = f"sha-256=:{content_digest.compute('sha-256', b'')}:"
            return headers

        return made

    replace(signing, "_headers_to_sign", empty)
    _any_goes_out()


def _only_what_signing_adds(result: dict[str, Any]) -> None:
    """The signed request has the fields that signing adds, and of those that were given none."""
    added = ("Signature-Input", "Signature", "Content-Digest")
    result["headers"] = {name: result["headers"][name] for name in added if name in result["headers"]}


def _odd_component_crashes() -> None:
    """A covered component that is no name is met only when the base is built."""

    def told(_: Any, fault: Unprocessable) -> Exception:
        is_odd = any(one["type"] == "component" for one in fault.detail)
        return RuntimeError("a component that is none") if is_odd else fault

    _refusing(told)


def _born_expired() -> None:
    """A demo signature has expired when it is made."""
    replace(
        skills,
        "sign",
        lambda sign: (
            lambda request, **rest: sign(
                request.model_copy(update={"created": rest["now"] - 900, "expires": rest["now"] - 600}), **rest
            )
        ),
    )


def _over_as_it_begins() -> None:
    """A demo signature expires in the second in which it was created."""
    replace(
        skills,
        "sign",
        lambda sign: (
            lambda request, **rest: sign(request.model_copy(update={"created": None, "expires": rest["now"]}), **rest)
        ),
    )


def _no_slash() -> None:
    """An empty path is signed as it is."""
    replace(
        SignRequest,
        "message",
        lambda make: lambda self, fields: changed(make(self, fields), path=self.target.partition("?")[0]),
    )
    replace(
        signing, "_check_valid", lambda check: lambda signed: check(signed) if signed["path"].startswith("/") else None
    )


MUTANTS = (
    agent_mutant("sign-unsigned", "the request is signed (P-SG-04)", _signed(_without_signature)),
    agent_mutant(
        "sign-baseless", "sign tells the base (P-SG-04)", _signed(_without_members("signature_base", "signing_base"))
    ),
    agent_mutant(
        "sign-keyless", "sign tells the key (P-SG-04)", _signed(_without_members("public_key_hex", "did_key"))
    ),
    agent_mutant("sign-flawed", "the signature holds (P-SG-04)", _signed(_flawed_signature)),
    agent_mutant("sign-other-key", "the key told is the signer's (P-SG-04)", _signed(_other_key)),
    agent_mutant("sign-other-base", "sign and explain have one base (P-SG-04)", _signed(_other_base)),
    agent_mutant("sign-one-key", "every call has a fresh key (P-SG-01)", _of_seed(lambda: bytes(range(32)))),
    agent_mutant("sign-eight-keys", "every call has a fresh key (P-SG-01)", _pool),
    agent_mutant("sign-offered-used", "offered keys are never used (6.5)", _offered_used),
    agent_mutant("sign-seed-used", "offered keys are never used (6.5)", _offered_seed_used),
    agent_mutant("sign-offered-echoed", "offered keys are never repeated (6.5)", _offered_echoed),
    agent_mutant("sign-extras-returned", "offered keys are never repeated (6.5)", _extras_returned),
    agent_mutant("sign-no-digest", "a body is covered by its digest (P-SG-02)", _without_digest),
    agent_mutant("sign-keeps-digest", "a body is signed with its own digest (P-SG-04)", _keeps_digest),
    agent_mutant("sign-digest-of-nothing", "the digest is of the body (P-SG-02)", _digest_of_no_body),
    agent_mutant(
        "sign-fields-lost", "the signed request has the fields given (P-SG-04)", _signed(_only_what_signing_adds)
    ),
    agent_mutant("sign-unverified", "what is not valid is not returned (6.5)", _any_goes_out),
    agent_mutant("sign-odd-component-crashes", "what is no component is refused (6.5)", _odd_component_crashes),
    agent_mutant("sign-no-slash", "an empty path is signed as a slash (P-SG-02)", _no_slash),
    agent_mutant("sign-without-time", "a demo signature has a time to hold (6.5, P-SG-03)", _over_as_it_begins),
    agent_mutant("sign-expired", "a demo signature is not expired (P-SG-03)", _born_expired),
)
