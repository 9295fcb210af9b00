"""Loader of a target's checkout pages: fetched by the recording client, and rendered in a browser only if necessary."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from conformance.http.client import Answer, Client
from conformance.outcome import Inconclusive
from conformance.pages import qr
from conformance.pages.browser import Browser
from conformance.pages.page import Page
from conformance.pages.view import View

_ACCEPT = {"accept": "text/html"}
_MOST_IMAGES = 8


class PageReader:
    """Loads pages, and remembers whether this target's pages need their scripts."""

    def __init__(
        self, selectors: Mapping[str, str] | None, seconds: float, *, whole: bool = False, insecure: bool = False
    ) -> None:
        """Store the profile's settings of pages.

        Args:
            selectors: The bound CSS selectors by name.
            seconds: Longest time of a page.
            whole: Whether the documents show everything without their scripts, as the reference's do (P-CK-02).
            insecure: Whether any certificate is accepted.
        """
        self._selectors = dict(selectors or {})
        self._whole = whole
        self._browser = Browser(seconds, insecure=insecure)
        self._needs_scripts = False

    async def close(self) -> None:
        """End the browser, if one was started."""
        await self._browser.close()

    async def look(self, client: Client, url: str, *, codes: bool = False, retry: bool = False) -> tuple[View, Answer]:
        """Fetch a page once and return its view, with the answer.

        Pages are rendered as soon as `look_for` has found that this target's pages need it.

        Args:
            client: The client of the check.
            url: The page's address.
            codes: Whether to decode its QR codes also.
            retry: Whether the page is read again because nothing has happened yet.

        Raises:
            Inconclusive: It must be rendered, and there is no browser.
            Unreachable: There was no answer.
        """
        answer = await client.call("GET", url, headers=_ACCEPT, retry=retry)
        page = Page(answer.body.decode("utf-8", "replace"))
        if self._needs_scripts:
            return await self._render(answer, url, codes=codes), answer
        images = await self._images(client, url, page) if codes else ()
        payloads = tuple(map(qr.read_payload, dict.fromkeys(text for image in images for text in qr.decode(image))))
        unseen = None if self._whole else _unseen_parts(url, page, images)
        return View(answer.status, page, page.text, payloads, self._selectors, unseen), answer

    async def look_for(self, client: Client, url: str, shows: Callable[[View], bool]) -> tuple[View, Answer]:
        """Fetch a page with its QR codes, and render it if the first view does not show enough.

        If it cannot be rendered, the first view is returned, with the parts that were not seen.

        Raises:
            Inconclusive: This target's pages must be rendered, and the browser no longer shows them.
            Unreachable: There was no answer.
        """
        view, answer = await self.look(client, url, codes=True)
        enough = shows(view) and not view.missing_names
        # An error page needs no scripts, and a browser costs seconds.
        if answer.status != 200 or enough or view.unseen_parts is None or self._needs_scripts:
            return view, answer
        try:
            rendered_view = await self._render(answer, url, codes=True)
        except Inconclusive as reason:
            return replace(view, unseen_parts=f"{view.unseen_parts}: {reason}"), answer
        # Scripts are also needed if they fill in a bound element: the state may be visible in no other way.
        if shows(rendered_view) or set(rendered_view.missing_names) < set(view.missing_names):
            self._needs_scripts = view.page.has_scripts
        return rendered_view, answer

    async def _render(self, answer: Answer, url: str, *, codes: bool) -> View:
        rendering = await self._browser.render(url)
        payloads = tuple(map(qr.read_payload, qr.decode(rendering.picture))) if codes else ()
        return View(answer.status, Page(rendering.html), rendering.text, payloads, self._selectors)

    async def _images(self, client: Client, url: str, page: Page) -> tuple[bytes, ...]:
        """Return the page's inline drawings and the images of its host."""
        images = [one.encode() for one in page.drawings[:_MOST_IMAGES]]
        for source in page.image_sources[:_MOST_IMAGES]:
            if source.startswith("data:"):
                images.append(_decode_data_url(source))
            # A page could name any address, and the suite calls only the host that the operator
            # gave.
            elif _same_host(url, address := urljoin(url, source)):
                answer = await client.call("GET", address, headers={"accept": "image/*"})
                images += [answer.body] if answer.status == 200 else []
        return tuple(images)


def _decode_data_url(url: str) -> bytes:
    head, _, content = url.removeprefix("data:").partition(",")
    raw = unquote_to_bytes(content)
    if not head.endswith(";base64"):
        return raw
    try:
        # A malformed address is not an image. It must not fail the check.
        return base64.b64decode(raw)
    except binascii.Error:
        return b""


def _same_host(url: str, other_url: str) -> bool:
    first, second = urlsplit(url), urlsplit(other_url)
    return second.scheme in {"http", "https"} and (first.hostname, first.port) == (second.hostname, second.port)


def _unseen_parts(url: str, page: Page, images: Sequence[bytes]) -> str | None:
    """Return which parts of the page are missing in the document as sent, or None."""
    elsewhere = [
        one for one in page.image_sources if not one.startswith("data:") and not _same_host(url, urljoin(url, one))
    ]
    reasons = {
        "the page runs scripts, which were not run": page.has_scripts,
        "the page has drawings, which were not drawn": page.has_drawings or any(map(qr.is_drawing, images)),
        "the page has images of another host, which were not fetched": bool(elsewhere),
    }
    return "; ".join(reason for reason, is_so in reasons.items() if is_so) or None
