"""Servers that answered during a run and accepted no connection at its end, with the requests that were open then.

Hostile input may end a server. Its later rows are then undecided, all for one reason, and the operator needs to know
which request it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from conformance.log.events import Event
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.unanswered_calls import NO_ANSWER_IN_TIME, NO_CONNECTION, UNSENT

# A restart refuses a few connections, too. A server is called stopped only if it refused the last calls of the run.
_LEAST_REFUSED: Final = 3
# Requests run at the same time, so an answer may be recorded after the request that ended the server.
_RECENT: Final = 10
_MOST_OPEN: Final = 8
_LONGEST_BODY: Final = 60


def describe_stopped_servers(surfaces: Mapping[str, str], exchanges: Sequence[Event]) -> tuple[str, ...]:
    """Return a sentence for each server that stopped accepting connections during a run.

    Args:
        surfaces: Surface to address.
        exchanges: The `exchange` events of the run, in the order of the log.
    """
    return tuple(
        sentence
        for address in dict.fromkeys(surfaces.values())
        if (sentence := _describe(address, [one for one in exchanges if _is_at(one, address)])) is not None
    )


def _describe(address: str, exchanges: Sequence[Event]) -> str | None:
    last_answer = max((place for place, one in enumerate(exchanges) if one["response"] is not None), default=None)
    if last_answer is None:
        return None
    later = exchanges[last_answer + 1 :]
    if len(later) < _LEAST_REFUSED or not all(map(_was_refused, later[-_LEAST_REFUSED:])):
        return None
    open_requests = [*islice(_find_broken(exchanges[max(0, last_answer - _RECENT) :]), _MOST_OPEN)]
    text = (
        f"{one_line(address, 200)} answered request {exchanges[last_answer]['n']} and accepted no connection after "
        "that: start your server again, and look into its log"
    )
    if not open_requests:
        return f"{text}."
    return f"{text}. Its connection broke during {'; '.join(open_requests)}."


def _find_broken(exchanges: Iterable[Event]) -> Iterator[str]:
    """Yield each different request that was sent, and whose connection was closed or reset without an answer."""
    shown_texts = set()
    for one in exchanges:
        error = str(one.get("error"))
        if one["response"] is not None or any(part in error for part in (NO_CONNECTION, NO_ANSWER_IN_TIME, UNSENT)):
            continue
        request = one["request"]
        body = "" if not request["body"] else f" with {one_line(str(request['body']), _LONGEST_BODY)}"
        text = f"{one_line(str(request['method']), 20)} {one_line(str(request['path']), _LONGEST_BODY)}{body}"
        if text not in shown_texts:
            shown_texts.add(text)
            yield f"request {one['n']}: {text}"


def _was_refused(exchange: Event) -> bool:
    return exchange["response"] is None and NO_CONNECTION in str(exchange.get("error"))


def _is_at(exchange: Event, address: str) -> bool:
    try:
        return urlsplit(str(exchange["request"]["url"]))[:2] == urlsplit(address)[:2]
    except ValueError:
        # A check sends addresses that are not URLs, and they are of no server.
        return False
