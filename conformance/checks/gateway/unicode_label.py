"""GW-LINK-23: a label arrives unchanged in the event, in any script."""

from __future__ import annotations

import json

from conformance.engine.check import Case, check
from conformance.outcome import Inconclusive
from conformance.surfaces.webhooks.paid_links import deliveries, paid_links


@check(
    "GW-LINK-23",
    surface="gateway",
    lane="each",
    fix="Keep labels as Unicode text from the request's body to the event. Do not normalise them, and do not remove or "
    "re-encode any character.",
)
async def a_label_comes_through(case: Case) -> None:
    """A label with letters beyond ASCII is `data.tenant_label` of the event, unchanged.

    Pays a link whose label has letters of several scripts, one outside the first plane of Unicode, and one that is
    written with a combining mark. It also has letters around U+200D and U+200C, letters that a page must escape, and
    white space at both ends. Expects the same code points in the event. If the target refuses U+200D and U+200C, pays a
    label without them. A label that is trimmed in the answer to its creation, too, decides only at a target that claims
    the specification.
    """
    # The sales are shared with the webhook checks, so this check makes no payment itself.
    unicode_sales = [sale for sale in await paid_links(case) if not sale.label.isascii()]
    if not unicode_sales:
        raise Inconclusive("no link was made with such a label; a note says why")
    for sale in unicode_sales:
        for event in deliveries(case, sale):
            label = event.data.get("tenant_label")
            finding = json.dumps(label)[:300]
            holds, beyond = label == sale.label, sale.find_open_point(label)
            case.expect("GW-LINK-23", holds, json.dumps(sale.label), finding, exchange=event, beyond=beyond)
