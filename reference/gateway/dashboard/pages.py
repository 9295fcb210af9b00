"""The dashboard's HTML, rendered on the server (P-CV-03).

One script is served, which copies ids. Only the pages that have such ids load it. Pages that show a secret load none.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from reference.gateway.dashboard.sign_in import ROOT, Visitor
from reference.gateway.page_parts import ICON, Asset, asset, atomic_pretty, environment, icon, network_name
from reference.gateway.settings import GatewaySettings
from reference.protocol.explorer_links import explorer_link
from reference.protocol.money import amount_pretty
from reference.protocol.networks import NETWORKS
from reference.web.errors import Refused
from reference.web.http.exchange import Reply

# Keys and money are on these pages, so no foreign page may frame them, nothing may be cached, and no script runs.
SECURITY: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
# The policy of the pages with ids to copy. They run only scripts from the files of the dashboard. All other pages run
# none, so that injected text cannot act with the session of an administrator.
COPYING_POLICY = SECURITY["Content-Security-Policy"].replace("style-src", "script-src 'self'; style-src")
STYLE, COPY_SCRIPT = "dashboard.css", "copy.js"
_PAGES_WITH_COPY = frozenset({"links.html", "payments.html", "shop_link.html", "shop_links.html", "shop_receipt.html"})
_HEADINGS = {
    400: "This cannot be read",
    403: "Not allowed",
    404: "There is nothing here",
    409: "Sent already",
    429: "Too many calls",
    503: "Not available now",
}


@cache
def assets() -> Mapping[str, Asset]:
    """Return the files that pages load, by name."""
    return {ICON: icon(), **{name: asset(__package__, name) for name in (STYLE, COPY_SCRIPT)}}


class Pages:
    """Renders pages."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._environment = environment(__package__)
        self._environment.filters |= {
            "when": readable_time,
            "unix": lambda unix: datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "clock": lambda unix: datetime.fromtimestamp(unix, UTC).strftime("%H:%M UTC"),
            "day": lambda text: datetime.fromisoformat(text).strftime("%-d %B %Y"),
            "network": lambda key: network_name(NETWORKS[key]) if key in NETWORKS else key,
            "microunits": lambda amount, key="": amount_pretty(amount, NETWORKS[key].asset_label if key else "USD"),
            "atomic": readable_atomic,
            "explorer": lambda tx_id, key: explorer_link(NETWORKS[key], tx_id) if key in NETWORKS else None,
        }
        self._environment.globals |= {
            "service": settings.word.word,
            "root": ROOT,
            "test_networks": frozenset(key for key, network in NETWORKS.items() if network.is_test),
            "style": f"{ROOT}/assets/{STYLE}?v={assets()[STYLE].version}",
            "icon": f"{ROOT}/assets/{ICON}?v={assets()[ICON].version}",
            "copy_script": f"{ROOT}/assets/{COPY_SCRIPT}?v={assets()[COPY_SCRIPT].version}",
        }

    def page(
        self,
        template: str,
        *,
        visitor: Visitor | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Reply:
        """Return a page.

        Args:
            template: Name of its template.
            visitor: Who sees it.
            status: Status of the answer.
            headers: Further headers.
            values: What the template shows.
        """
        copies = template in _PAGES_WITH_COPY
        context: dict[str, Any] = {
            "faults": {},
            "done": None,
            "tenant": None,
            "current": "",
            "copies": copies,
            **values,
        }
        html = self._environment.get_template(template).render(visitor=visitor, **context)
        policy = {"Content-Security-Policy": COPYING_POLICY} if copies else {}
        media = {"Content-Type": "text/html; charset=utf-8"}
        return Reply(status, html.encode(), {**media, **SECURITY, **policy, **(headers or {})})

    def refusal(self, fault: Refused, request_id: str, visitor: Visitor | None = None) -> Reply:
        """Return the page of a refusal, with the status, code and headers of the API."""
        return self.page(
            "refused.html",
            visitor=visitor,
            status=fault.status,
            headers=fault.headers,
            heading=_HEADINGS.get(fault.status, "This did not work"),
            refused=fault,
            request_id=request_id,
        )


def readable_time(text: str) -> str:
    """Return a time of an answer (P-CV-04) as people write it."""
    return datetime.fromisoformat(text).strftime("%-d %b %Y, %H:%M:%S UTC")


def readable_atomic(text: str, key: str) -> str:
    """Return atomic units of a network's asset as people write them, to the last digit."""
    return atomic_pretty(int(text), NETWORKS[key])
