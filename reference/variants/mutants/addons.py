"""Mutants of how addons join the hub and whom they trust (8.1 to 8.3)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import orjson

from reference.addons.atb_verifier import verifying
from reference.addons.federation_validator import validating
from reference.addons.kit.addon import Addon
from reference.addons.kit.calls import Call, Context, Handler
from reference.protocol import credentials
from reference.protocol.key_documents import TRUST_SET
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web import hub_link, joining
from reference.web.exchange import Reply
from reference.web.hub_link import HubLink

VALIDATOR, VERIFIER = "addons.federation_validator", "addons.atb_verifier"
ELSEWHERE = "http://127.0.0.1:9"
Got: TypeAlias = tuple[int, str, bytes]


def _validator(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(f"validator-{name}", rule, apply, surface=VALIDATOR)


def _verifier(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(f"verifier-{name}", rule, apply, surface=VERIFIER)


def _another_port() -> None:
    validating.ADDON = dataclasses.replace(validating.ADDON, port=8096)


def _not_well() -> None:
    """Health is not 200 once more than one issuer is trusted."""

    def made(health: Callable[[Addon, Context], Handler]) -> Callable[[Addon, Context], Handler]:
        def of(self: Addon, context: Context) -> Handler:
            clean = health(self, context)

            async def answered(call: Call) -> Any:
                reply = await clean(call)
                crowded = len(context.keys() or ()) > 1
                return dataclasses.replace(reply, status=503) if isinstance(reply, Reply) and crowded else reply

            return answered

        return of

    replace(Addon, "_health", made)


def _with_issuer_count(number: Callable[[int], int]) -> Callable[[], None]:
    """Return what tells another number of issuers."""

    def made(health: Callable[[Addon, Context], Handler]) -> Callable[[Addon, Context], Handler]:
        def of(self: Addon, context: Context) -> Handler:
            clean = health(self, context)

            async def answered(call: Call) -> Any:
                reply = await clean(call)
                assert isinstance(reply, Reply)  # noqa: S101 - a mutant
                body = orjson.loads(reply.body)
                return dataclasses.replace(reply, body=orjson.dumps({**body, "issuers": number(body["issuers"])}))

            return answered

        return of

    return lambda: replace(Addon, "_health", made)


def _never_pulls() -> None:
    def made(_: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def pulled(*_: Any) -> bool:
            return True

        return pulled

    replace(HubLink, "_pull", made)


def _pulls_once() -> None:
    def made(pull: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def pulled(self: HubLink, session: Any) -> bool:
            return self.state == "connected" or await pull(self, session)

        return pulled

    replace(HubLink, "_pull", made)


def _never_registers() -> None:
    def made(_: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def registered(*_: Any) -> bool:
            return True

        return registered

    replace(HubLink, "_register", made)


def _with_token(token: str) -> Callable[[], None]:
    """Return what registers with another token than it was told."""

    def made(register: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def registered(self: HubLink, session: Any) -> bool:
            other = dataclasses.replace(self, settings=self.settings.model_copy(update={"token": token}))
            return await register(other, session)

        return registered

    return lambda: replace(HubLink, "_register", made)


def _another_hub() -> None:
    def made(link: Callable[..., HubLink]) -> Callable[..., HubLink]:
        def opened(settings: Any, *rest: Any) -> HubLink:
            return link(settings.model_copy(update={"url": ELSEWHERE} if settings.url else {}), *rest)

        return opened

    replace(joining, "HubLink", made)


def _registered_as(change: Callable[[Any], Any]) -> Callable[[], None]:
    """Return what changes the entry that is registered."""

    def made(entry: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *members: change(entry(*members))

    return lambda: replace(joining, "Entry", made)


def _at_another_address(entry: Any) -> Any:
    return dataclasses.replace(entry, base_url="http://localhost:1")


def _to_another_path() -> None:
    hub_link.SERVICES = "/v1/service"


def _read(change: Callable[[Mapping[str, bytes], dict[str, bytes]], dict[str, bytes]]) -> Callable[[], None]:
    """Return what changes a trust set that was pulled.

    Args:
        change: From what was known and what was pulled to what is known then.
    """

    def made(pull: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def pulled(self: HubLink, session: Any) -> bool:
            known = self._keys
            done = await pull(self, session)
            self._keys = change(known, dict(self._keys))
            return done

        return pulled

    return lambda: replace(HubLink, "_pull", made)


def _added(known: Mapping[str, bytes], new: dict[str, bytes]) -> dict[str, bytes]:
    return {**known, **new}


def _first(known: Mapping[str, bytes], new: dict[str, bytes]) -> dict[str, bytes]:
    return dict(known) or new


def _of_one(_: Mapping[str, bytes], new: dict[str, bytes]) -> dict[str, bytes]:
    return dict(list(new.items())[:1])


def _from_the_trust_set() -> None:
    verifying.ADDON = dataclasses.replace(verifying.ADDON, source=hub_link.ISSUER_KEYS)


def _from_both() -> None:
    """The trust set fills in what atb-keys.json leaves out."""

    def made(pull: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def pulled(self: HubLink, session: Any) -> bool:
            status, _, body = await self._get(session, TRUST_SET, "")
            further = hub_link.ISSUER_KEYS.read(orjson.loads(body)) if status == 200 else {}
            done = await pull(self, session)  # nobody is answered between what it takes and what is added
            self._keys = {**further, **self._keys}
            return done

        return pulled

    replace(HubLink, "_pull", made)


def _without_the_contract_s_call() -> None:
    def made(get: Callable[..., Awaitable[Got]]) -> Callable[..., Awaitable[Got]]:
        async def got(self: HubLink, session: Any, path: str, tag: str) -> Got:
            return (404, "", b"") if path == TRUST_SET else await get(self, session, path, tag)

        return got

    replace(HubLink, "_get", made)


def _judges(addon: object, instead: Mapping[str | None, str | None]) -> Callable[[], None]:
    """Give another reason in some reasons' place; None is that of a credential that holds."""

    def made(judge: Callable[..., credentials.Judgement]) -> Callable[..., credentials.Judgement]:
        def judged(*given: Any) -> credentials.Judgement:
            found = judge(*given)
            return dataclasses.replace(found, reason=instead.get(found.reason, found.reason))

        return judged

    return lambda: replace(addon, "judge", made)


_NOTHING: Mapping[str | None, str | None] = {None: "sig_invalid"}


def _slowly() -> None:
    """Asks the hub again after minutes."""

    def made(pull: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def pulled(self: HubLink, session: Any) -> bool:
            if self.state == "connected":
                await asyncio.sleep(120)
            return await pull(self, session)

        return pulled

    replace(HubLink, "_pull", made)


MUTANTS = (
    _validator("port-8096", "the federation validator is at 8092 (section 9)", _another_port),
    _validator("health-503", "health answers 200, whoever is trusted (P-AD-01)", _not_well),
    _validator("no-pull", "the trust set is pulled on start (P-AD-02)", _never_pulls),
    _validator("one-pull", "the trust set is pulled again and again (P-CP-04)", _pulls_once),
    _validator("slow-pull", "a change is known within 15 seconds (P-CP-04)", _slowly),
    _validator("no-registration", "an addon registers on start (P-AD-02)", _never_registers),
    _validator("no-token", "it registers with the admin token (P-AD-02)", _with_token("")),
    _validator("another-token", "it registers with the token of S2_HUB_TOKEN (P-AD-03)", _with_token("changeme")),
    _validator("another-hub", "it asks the hub of S2_HUB_URL (P-AD-03)", _another_hub),
    _validator("another-address", "it registers S2_HUB_SELF_URL (P-AD-03)", _registered_as(_at_another_address)),
    _validator("another-path", "it registers at /v1/services (P-AD-02)", _to_another_path),
    _validator("revoked-kept", "a revoked issuer is unknown (P-AD-04)", _read(_added)),
    _validator("first-kept", "the trust set is what was pulled last (P-CP-04)", _read(_first)),
    _validator("first-issuer-only", "every issuer is trusted (P-AD-02)", _read(_of_one)),
    _validator("count-of-none", "health tells how many issuers are trusted (P-AD-01)", _with_issuer_count(lambda _: 0)),
    _validator(
        "signature-unseen",
        "a credential is what its issuer's key signed (8.3)",
        _judges(validating, {"sig_invalid": None, "sig_verify_error": None}),
    ),
    _validator("accepts-nothing", "a credential of a trusted issuer is active (8.3)", _judges(validating, _NOTHING)),
    _verifier("from-trust-set", "keys are those of atb-keys.json (8.2)", _from_the_trust_set),
    _verifier("from-both", "keys are those of atb-keys.json alone (8.2)", _from_both),
    _verifier("without-issuer-pks", "the trust set is pulled on start (P-AD-02)", _without_the_contract_s_call),
    _verifier("one-pull", "atb-keys.json is pulled again and again (P-CP-04)", _pulls_once),
    _verifier("revoked-kept", "a revoked issuer is unknown (P-AD-04)", _read(_added)),
    _verifier("no-registration", "an addon registers on start (P-AD-02)", _never_registers),
    _verifier("another-address", "it registers S2_HUB_SELF_URL (P-AD-03)", _registered_as(_at_another_address)),
    _verifier(
        "strangers-welcome",
        "an issuer without a key proves nothing (8.2)",
        _judges(verifying, {"no_public_key": None}),
    ),
    _verifier(
        "signature-unseen",
        "a credential is what its issuer's key signed (8.2)",
        _judges(verifying, {"sig_invalid": None, "sig_verify_error": None}),
    ),
    _verifier("accepts-nothing", "a credential of a trusted issuer is active (8.2)", _judges(verifying, _NOTHING)),
)
