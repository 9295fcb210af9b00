"""Other spellings of a paid path, and which of them the server serves without a payment.

Only GET and HEAD are sent, as raw requests, so that no client normalises the path. The service's answer is unknown, so
a control decides: the same spelling of a path that the server does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from conformance.discovery.paywall_bypass_spellings import path_spellings
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer, Client, Unreachable

_PAYMENT_REQUIRED: Final = 402
_AT_ONCE: Final = 8
_NO_PAGE: Final = "weldproof-no-such-page"
# Spellings at which a correct server may have another resource.
_DOUBTFUL: Final = frozenset(
    {
        "a slash at the end",
        "an encoded slash at the end",
        "a dot at the end",
        "a format at the end",
        "the whole path in capitals",
    }
)


@dataclass(frozen=True, slots=True)
class SpellingResult:
    """The spellings of a paid path that are served without a payment, in words.

    Attributes:
        free: Spellings that name the same resource, and are served by GET.
        doubtful: Spellings that may name another resource, and HEAD calls, which return no body.
    """

    free: tuple[str, ...]
    doubtful: tuple[str, ...]


async def try_spellings(client: Client, url: str) -> SpellingResult | None:
    """Return which spellings of an address are served; None if GET costs nothing there.

    Args:
        client: A client that sends raw requests.
        url: The address.
    """
    parts = urlsplit(url)
    trial = _Trial(client, f"{parts.scheme}://{parts.netloc}", f"?{parts.query}" if parts.query else "")
    path = parts.path or "/"
    if not await trial.is_charged("GET", path):
        return None
    # The control has the same parent, so that it reaches the same part of the server.
    control = f"{path.rstrip('/').rpartition('/')[0]}/{_NO_PAGE}"
    spellings, controls = path_spellings(path), path_spellings(control)
    results = await run_concurrently(
        (trial.is_served(path, target, controls[what]) for what, target in spellings.items()), at_once=_AT_ONCE
    )
    served_names = [what for what, is_served in zip(spellings, results, strict=True) if is_served]
    heads = await trial.served_heads(
        path, {what: spellings[what] for what in spellings if what not in served_names}, controls
    )
    texts = {what: f"GET {spellings[what]} ({what}) is served" for what in served_names}
    doubtful = [texts[what] for what in served_names if what in _DOUBTFUL]
    return SpellingResult(tuple(texts[what] for what in served_names if what not in _DOUBTFUL), (*doubtful, *heads))


@dataclass(frozen=True, slots=True)
class _Trial:
    client: Client
    origin: str
    query: str

    async def is_charged(self, method: str, path: str) -> bool:
        """Return whether a call without a payment is answered with a challenge."""
        answer = await self._answer(method, path)
        return answer is not None and (answer.status == _PAYMENT_REQUIRED or "PAYMENT-REQUIRED" in answer.headers)

    async def is_served(self, path: str, target: str, control: str) -> bool:
        """Return whether GET serves a target twice, but not its control, while the path itself still costs money."""
        answer = await self._answer("GET", target)
        if answer is None or not _is_goods(answer):
            return False
        # A server that answers every unknown path with a page, such as a single-page application,
        # would seem to serve the spelling.
        control_answer = await self._answer("GET", control)
        if control_answer is not None and _is_goods(control_answer) and _media(control_answer) == _media(answer):
            return False
        second_answer = await self._answer("GET", target)
        return second_answer is not None and _is_goods(second_answer) and await self.is_charged("GET", path)

    async def served_heads(
        self, path: str, spellings: Mapping[str, str], controls: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Return the HEAD calls of a paid path that succeed, in words."""
        plain = await self._answer("HEAD", path)
        if plain is None or _is_success(plain):
            return () if plain is None else (f"HEAD {path} is answered {plain.status}",)
        answers = await run_concurrently((self._answer("HEAD", one) for one in spellings.values()), at_once=_AT_ONCE)
        texts = []
        for (name, target), answer in zip(spellings.items(), answers, strict=True):
            if answer is not None and _is_success(answer):
                control_answer = await self._answer("HEAD", controls[name])
                if control_answer is None or not _is_success(control_answer):
                    texts.append(f"HEAD {target} ({name}) is answered {answer.status}")
        return tuple(texts)

    async def _answer(self, method: str, target: str) -> Answer | None:
        try:
            return await self.client.call(method, f"{self.origin}{target}{self.query}")
        except Unreachable:
            return None


def _is_success(answer: Answer) -> bool:
    return 200 <= answer.status < 300 and "PAYMENT-REQUIRED" not in answer.headers


def _is_goods(answer: Answer) -> bool:
    return _is_success(answer) and bool(answer.body.strip())


def _media(answer: Answer) -> str:
    return answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
