"""View of a checkout page at one moment: address, amount, memo, QR codes and state. Pure: nothing is fetched here.

A name that the profile binds to a CSS selector is read only there. An unbound name is searched in the visible text, and
a text that can be read in two ways is never a fault of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from conformance.oracles.addresses import is_address
from conformance.outcome import Inconclusive
from conformance.pages import figures
from conformance.pages.page import Element, Page
from conformance.pages.qr import Payload
from conformance.text.usdc import in_usdc
from conformance.vocabulary.lanes.registry import FACTS

_PAID_WORD = re.compile(r"\bpaid\b", re.IGNORECASE)
# These words negate or postpone "paid". The pattern below lists words after "paid" that make it no state.
_NEGATION = re.compile(
    r"\b(not|never|isn.?t|hasn.?t|once|when|until|if|after|before|soon|to be|will be|must be|should be|can be|yet)\b"
    r"|\bun-?paid\b",
    re.IGNORECASE,
)
_PAID_BY = re.compile(r"\bpaid\s+(by|with|to|in|on|at|via|for|out)\b", re.IGNORECASE)
# A link that ended without a payment uses one of these words.
_ENDED_WORD = re.compile(r"\b(expired|cancell?ed)\b", re.IGNORECASE)
_STATE_WORDS = 4
_MEMO_LABEL = re.compile(r"\b(memo|note|reference|message)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class View:
    """The content of a page at one moment.

    Attributes:
        status: HTTP status of the page.
        page: Its document, as sent or after its scripts ran.
        text: Its visible text, one line for each block.
        codes: Payloads of its QR codes.
        selectors: CSS selectors that the profile binds, by name.
        unseen_parts: Why the page may show more than was seen; None when that is all there is.
    """

    status: int
    page: Page
    text: str
    codes: tuple[Payload, ...] = ()
    selectors: Mapping[str, str] = field(default_factory=dict)
    unseen_parts: str | None = None

    def bound_element(self, name: str) -> Element | None:
        """Return the element that the profile binds to a name; None if it binds none or the page lacks it.

        Raises:
            Inconclusive: The bound text is not a CSS selector.
        """
        if name not in self.selectors:
            return None
        try:
            return self.page.find(self.selectors[name])
        except ValueError as fault:
            raise Inconclusive(f"[gateway.checkout_selectors] {name}: {fault}") from fault

    def _text_of(self, name: str) -> str:
        """Return the text in which a name is searched."""
        if name not in self.selectors:
            return self.text
        element = self.bound_element(name)
        return "" if element is None else element.text

    @property
    def missing_names(self) -> tuple[str, ...]:
        """Names that the profile binds to elements that the page lacks or that are empty."""
        return tuple(name for name in self.selectors if name != "qr" and not self._holds(name))

    def _holds(self, name: str) -> bool:
        element = self.bound_element(name)
        return element is not None and bool(element.text.strip() or element.attributes.get("data-state"))

    def shows_address(self, address: str) -> bool:
        """Return whether the page shows an address, in one piece or in groups; hexadecimal matches in any case."""
        text, expected_text = "".join(self._text_of("address").split()), address
        if expected_text.lower().startswith("0x"):
            text, expected_text = text.lower(), expected_text.lower()
        return expected_text == text if "address" in self.selectors else expected_text in text

    def addresses(self, lane: str) -> tuple[str, ...]:
        """Return every address of a lane that the page shows, each once."""
        # The shortest addresses of the lanes have more than 26 letters, so shorter words need
        # no check.
        words = re.findall(r"[A-Za-z0-9]{26,}", self._text_of("address"))
        return tuple(dict.fromkeys(word for word in words if is_address(FACTS[lane].namespace, word)))

    def shown_amount(self, microunits: int) -> str | None:
        """Return how the page writes an amount, or None if it does not show exactly this amount."""
        return figures.find_amount(self._text_of("amount"), microunits)

    def amounts(self) -> tuple[frozenset[int], ...]:
        """Return the possible values of each number in the place of the amount, in millionths."""
        return tuple(values for _, values in figures.numbers(self._text_of("amount")) if values)

    def memo(self, link_token: str, expected_memo: str | None = None) -> str | None:
        """Return the memo that the page shows; None if it cannot be distinguished from the rest of the page.

        Args:
            link_token: The link's token, which a memo often contains.
            expected_memo: The memo text that the profile's rule gives for this link, if the profile has one.
        """
        if "memo" in self.selectors:
            element = self.bound_element("memo")
            return None if element is None else element.text.strip() or None
        if expected_memo is not None:
            return expected_memo if expected_memo in self.text else None
        in_code = next((one.memo for one in self.codes if one.memo and one.memo in self.text), None)
        return in_code or self._labelled_memo(link_token)

    def _labelled_memo(self, link_token: str) -> str | None:
        # A memo is one word. A value with spaces is a sentence about the memo.
        values = [value for label, value in self.page.label_pairs if _MEMO_LABEL.search(label) and " " not in value]
        with_token = [word for word in self.text.split() if link_token in word and "/" not in word]
        memos = [one for one in (*values, *with_token) if len(one) > 1]
        return memos[0] if memos else None

    def paid_lines(self) -> frozenset[str]:
        """Return the lines of the page by which it may say that it is paid."""
        if "state" in self.selectors:
            element = self.bound_element("state")
            state = "" if element is None else f"{element.attributes.get('data-state', '')} {element.text}"
            # The attribute is for scripts. People read the text, and a text such as "expired" is not Paid for them.
            is_ended = element is not None and _ENDED_WORD.search(element.text) and not _PAID_WORD.search(element.text)
            return frozenset({"Paid"}) if _says_paid(state) and not is_ended else frozenset()
        return frozenset(line for line in self.text.split("\n") if _says_paid(line))

    def ended_lines(self) -> frozenset[str]:
        """Return the lines of the page by which it may say that it has ended without a payment."""
        return frozenset(line for line in self._text_of("state").split("\n") if _says_ended(line))

    def turned_paid(self, before: View) -> frozenset[str]:
        """Return the new lines, compared with an earlier view, by which the page may say that it is paid."""
        return self.paid_lines() - before.paid_lines()


def _says_paid(line: str) -> bool:
    return _PAID_WORD.search(line) is not None and _NEGATION.search(line) is None


def _says_ended(line: str) -> bool:
    # A sentence such as "this link will be marked as expired tomorrow" is not a state.
    return _ENDED_WORD.search(line) is not None and len(_WORD.findall(line)) <= _STATE_WORDS


def is_state(line: str) -> bool:
    """Return whether a line says `Paid` as a state only: a few words, without a payer or an amount paid."""
    # A sentence such as "paid by card" is not a state, and many words make a sentence.
    return _says_paid(line) and len(_WORD.findall(line)) <= _STATE_WORDS and _PAID_BY.search(line) is None


def disagreements(view: View, address: str, microunits: int, memo: str | None) -> Sequence[str]:
    """Return how the QR codes of a page contradict its text; nothing for values that a code does not contain."""
    tests: tuple[tuple[str, Callable[[Payload], bool]], ...] = (
        (f"the receiving address {address}", lambda one: one.holds(address)),
        (
            f"the amount of {in_usdc(microunits)} USDC ({microunits} micro-units)",
            lambda one: one.microunits in {None, Decimal(microunits)},
        ),
        (f"the memo {memo}", lambda one: memo is None or one.memo is None or one.memo == memo),
    )
    return [f"a QR code does not say {what}" for what, agrees in tests if not all(map(agrees, view.codes))]
