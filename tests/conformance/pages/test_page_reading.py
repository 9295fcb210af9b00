"""A page is read as its reader sees it: hidden or scripted parts are no text, and sentences are not states."""

from __future__ import annotations

import pytest

from conformance.pages.page import Page
from conformance.pages.qr import Payload
from conformance.pages.view import View, disagreements, is_state

ADDRESS = "0xAbCdEf0000000000000000000000000000000001"


def view(body: str, **members: object) -> View:
    page = Page(f"<html><head><title>Paid</title></head><body>{body}</body></html>")
    return View(200, page, page.text, **members)  # type: ignore[arg-type]


def test_hidden_and_scripted_text_is_not_seen() -> None:
    """Title, scripts, styles, templates, hidden elements and hidden fields show nothing."""
    hidden_page = (
        "<script>'Paid'</script><style>.x{content:'Paid'}</style><template>Paid</template><p hidden>Paid</p>"
        "<p style='display: none'>Paid</p><input type=hidden value=Paid><!-- Paid -->"
    )
    assert view(f"{hidden_page}<p>Open</p>").text == "Open"


def test_text_runs_on_within_a_line_and_ends_with_its_block() -> None:
    """Inline elements join, blocks part; fields show their values."""
    assert view("<p>8.<b>41</b> USDC</p><div>a<br>b</div><input value='c  d'>").text == "8.41 USDC\na\nb\nc d"


@pytest.mark.parametrize("line", ["Paid", "PAID", "Status: Paid", "Payment: paid ✓", "paid!"])
def test_state_words_are_states(line: str) -> None:
    """A few words with Paid in them are a state."""
    assert view(f"<p>{line}</p>").paid_lines()
    assert is_state(line)


@pytest.mark.parametrize(
    "line",
    [
        "Not paid yet",
        "Unpaid",
        "This turns to Paid as soon as we see it",
        "To be paid: 8.41 USDC",
        "It has not been paid.",
        "Once paid, you are sent back",
        "prepaid cards are not accepted",
    ],
)
def test_sentences_about_paying_are_no_states(line: str) -> None:
    """A word that says no, or not yet, takes the state away."""
    assert not view(f"<p>{line}</p>").paid_lines()


@pytest.mark.parametrize(
    "line", ["Network fee paid by sender", "Invoices that were paid in advance need no memo at all"]
)
def test_sentences_that_may_mean_paid_are_no_certain_state(line: str) -> None:
    """They may be what an honest page says afterwards, and fail no target by themselves."""
    assert view(f"<p>{line}</p>").paid_lines()
    assert not is_state(line)


def test_address_counts_in_groups_and_an_evm_one_in_any_case() -> None:
    """Spaces inside an address are layout; letters of another chain's are not free."""
    assert view(f"<code>{ADDRESS[:10].lower()} {ADDRESS[10:].upper()}</code>").shows_address(ADDRESS)
    assert not view("<code>abc</code>").shows_address("ABC")


def test_bound_selector_is_read_and_nothing_else() -> None:
    """A bound place decides even where the text stands elsewhere on the page."""
    bound_view = view(f"<p>{ADDRESS}</p><i id=a>none</i>", selectors={"address": "#a"})
    assert not bound_view.shows_address(ADDRESS)
    assert view(f"<p id=a> {ADDRESS} </p>", selectors={"address": "#a"}).shows_address(ADDRESS)


@pytest.mark.parametrize(
    ("text", "is_paid"),
    [
        ("Paid", True),
        ("", True),
        ("Bezahlt", True),
        ("Expired", False),
        ("Cancelled", False),
        ("Paid, then expired", True),
    ],
)
def test_an_attribute_does_not_outweigh_what_people_read(text: str, is_paid: bool) -> None:
    """A bound state whose text names another end is not Paid, whatever its data-state says."""
    page_view = view(f"<p id=s data-state=paid>{text}</p>", selectors={"state": "#s"})
    assert bool(page_view.paid_lines()) is is_paid


def test_memo_is_found_by_code_label_or_token() -> None:
    """What a QR code calls memo, what a label names so, and a word with the link's token in it are memos."""
    assert view("<p>k-1</p>", codes=(Payload("x", memo="k-1"),)).memo("T") == "k-1"
    assert view("<dt>Memo</dt><dd>k-2</dd>").memo("T") == "k-2"
    assert view("<p>Reference: k-3</p>").memo("T") == "k-3"
    assert view("<p>send with svc:T12</p>").memo("T12") == "svc:T12"
    assert view("<p>Message us any time</p>").memo("T") is None


def test_code_that_contradicts_the_page_is_told() -> None:
    """Address, amount and memo of a code must be the page's; what a code does not say contradicts nothing."""
    good = Payload(f"x:{ADDRESS}", atomic=5, memo="m")
    assert disagreements(view("", codes=(good,)), ADDRESS, 5, "m") == []
    assert disagreements(view("", codes=(Payload(f"x:{ADDRESS}"),)), ADDRESS, 5, "m") == []
    assert len(disagreements(view("", codes=(good,)), "0x0", 6, "n")) == 3
