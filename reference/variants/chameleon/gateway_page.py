"""Variants of the hosted checkout page: markup, numbers, QR code and words."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO
from typing import Any

import segno
from jinja2 import Environment, StrictUndefined

from reference.gateway.checkout import page
from reference.gateway.checkout.page import Page
from reference.protocol.link_payment import LinkState
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace

# A page with a table and without a script. It reloads itself until the link is paid.
_TABLE = """\
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Payment request</title>
{% if state == "active" %}<meta http-equiv="refresh" content="2">{% endif %}</head>
<body><h1>{{ link.label }}</h1>
<p class="stand" data-phase="{{ state }}">{{ state_word }}</p>
{% if is_open %}
<table>
<tr><th>Pay to</th><td class="pay-to">{{ address }}</td></tr>
<tr><th>Amount</th><td class="sum">{{ amount }}</td></tr>
<tr><th>Payment reference</th><td class="remark">{{ memo }}</td></tr>
<tr><th>Valid until</th><td class="until">{{ expires_text }}</td></tr>
</table>
<figure class="code">{{ code }}</figure>
{% elif state == "paid" %}<p>Transaction <code>{{ tx_id }}</code></p>{% endif %}
</body></html>
"""
# A page with a definition list and without a script.
_LIST = """\
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{{ service }}</title></head>
<body><main><section id="status-{{ state }}"><strong id="standing">{{ state_word }}</strong></section>
{% if is_open %}
<dl>
<dt>Send exactly</dt><dd id="due"><data value="{{ link.amount_microunits }}">{{ amount }}</data></dd>
<dt>Receiving address</dt><dd id="recipient">{{ address }}</dd>
<dt>Note to payee</dt><dd id="note">{{ memo }}</dd>
</dl>
<div id="scan">{{ code }}</div>
<p id="deadline"><time datetime="{{ expires_at }}">{{ expires_text }}</time></p>
{% endif %}
</main></body></html>
"""
SELECTORS = {
    "table": {
        "address": ".pay-to",
        "memo": ".remark",
        "amount": ".sum",
        "qr": ".code img",
        "expires": ".until",
        "state": ".stand",
    },
    "list": {
        "address": "#recipient",
        "memo": "#note",
        "amount": "#due",
        "qr": "#scan img",
        "expires": "#deadline",
        "state": "#standing",
    },
}
_WORDS = {"open": "Open", "unpaid": "Not paid yet"}


def install(shape: Shape) -> None:
    """Install the variant of the page in the service."""
    if shape.amount_text != "after":
        replace(page, "amount_pretty", lambda pretty: _amount(pretty, shape))
    if shape.state_words in _WORDS:
        page._WORDS[LinkState.ACTIVE] = _WORDS[shape.state_words]  # noqa: SLF001 - a table that the page reads
    if shape.page != "cards":
        replace(Page, "__init__", lambda made: _with_template(made, shape))


def _amount(pretty: Callable[..., str], shape: Shape) -> Callable[..., str]:
    def amount_text(microunits: int, label: str) -> str:
        number = str(pretty(microunits, label)).partition(" ")[0]
        whole, _, fraction = number.partition(".")
        if shape.amount_text == "before, six places":
            return f"{label} {whole}.{fraction:0<6}"
        return f"{whole},{fraction} {label}"

    return amount_text


def _with_template(init: Callable[..., None], shape: Shape) -> Callable[..., None]:
    def init_with_template(self: Page, *args: Any, **members: Any) -> None:
        init(self, *args, **members)
        # Autoescape, as in the service: the label of a link is text of the tenant.
        environment = Environment(autoescape=True, undefined=StrictUndefined)
        environment.filters["code"] = str
        template = environment.from_string(_TABLE if shape.page == "table" else _LIST)
        self._template = _Coded(template, shape)  # type: ignore[assignment]

    return init_with_template


class _Coded:
    """A template that is also given the QR code as markup."""

    def __init__(self, template: Any, shape: Shape) -> None:
        self._template = template
        self._shape = shape

    def render(self, **members: Any) -> str:
        """Return the page."""
        code = _code(members["payload"], members["link"].token, self._shape.qr) if "payload" in members else ""
        return str(self._template.render(**members, code=_Markup(code)))


class _Markup(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def _code(payload: str, token: str, kind: str) -> str:
    if kind == "png":
        return f'<img alt="code to scan" src="/checkout/{token}/qr">'
    qr_code, out = segno.make_qr(payload, error="m"), BytesIO()
    if kind == "svg":
        qr_code.save(out, kind="svg", scale=6, border=4, xmldecl=False, svgns=True)
        return out.getvalue().decode()
    qr_code.save(out, kind="png", scale=6, border=4)
    return f'<img alt="code to scan" src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}">'


def edit(answer: Answer, shape: Shape) -> None:
    """Set the page's media type, and allow an embedded image."""
    if answer.media_type != "text/html":
        return
    answer.set_header("Content-Type", shape.page_media)
    # The service's policy forbids `data:` images. A browser would not show the embedded QR code without this
    # change.
    if shape.page != "cards" and (policy := answer.header("content-security-policy")) is not None:
        answer.set_header("Content-Security-Policy", policy.replace("img-src 'self'", "img-src 'self' data:"))
