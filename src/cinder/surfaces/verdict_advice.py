"""What is told beside a verdict that is not `ok`: what shows it, what was tried, what is next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinder.model.document import NOTHING_INCLUDED, Document, Json, VerdictKind

if TYPE_CHECKING:
    from cinder.services.scraping.outcome import ScrapeOutcome

_STEALTH = "browser-stealth"

NEXT_STEP = {
    VerdictKind.BLOCKED: (
        "The site turns automated visitors away: try a stealth browser, later, or another source."
    ),
    VerdictKind.LOGIN_WALL: (
        "Only those who are logged in see it: profile master uses the owner's logins (cinder "
        "open-browser)."
    ),
    VerdictKind.PAYWALL: (
        "Only a teaser is free: try another source, or profile master where the owner subscribes."
    ),
    VerdictKind.CONSENT_ONLY: (
        "Mode dynamic hides most questions for consent; else let an action click its button."
    ),
    VerdictKind.SOFT_404: "What was asked for is not there: check the URL, or search for it anew.",
    VerdictKind.HTTP_ERROR: "Check the URL, or try again later.",
    VerdictKind.JS_SHELL: "Mode dynamic renders it in a browser; waitFor gives it more time.",
    VerdictKind.EMPTY: "Try onlyMainContent false, or mode dynamic.",
    VerdictKind.PARTIAL: "Try again with forceRescrape; mode dynamic may bring the rest.",
}
_BLOCKED_TO_STEALTH = (
    "The site turns automated visitors away, a stealth browser too: try later, or another source."
)
_PDF_WITHOUT_TEXT = "The PDF has no text to take out: look for another version of it."
_PDF_BEYOND_A_LIMIT = (
    "The PDF is longer than is read of one, as the warning says: the file, its raw body, has the "
    "rest."
)
_NOTHING_INCLUDED = "Give other includeTags, or none; mode dynamic may bring what they name."


def next_step_after(kind: VerdictKind, tried: Sequence[str]) -> str:
    """Return what to do about a verdict, given the strategies that were tried."""
    if kind is VerdictKind.BLOCKED and _STEALTH in tried:
        return _BLOCKED_TO_STEALTH
    return NEXT_STEP[kind]


def next_step(document: Document, tried: Sequence[str]) -> str:
    """Return what to do about a document whose verdict is not `ok`."""
    kind, is_pdf = document.verdict.kind, document.content_type == "application/pdf"
    if kind is VerdictKind.EMPTY and is_pdf:
        return _PDF_WITHOUT_TEXT
    if kind is VerdictKind.EMPTY and NOTHING_INCLUDED in document.content.warnings:
        return _NOTHING_INCLUDED
    # Where the connection broke off, another try may bring the rest; of a limit it will not.
    if kind is VerdictKind.PARTIAL and is_pdf and not document.is_cut:
        return _PDF_BEYOND_A_LIMIT
    return next_step_after(kind, tried)


def explain_verdict(outcome: "ScrapeOutcome") -> dict[str, Json]:
    """Return what an answer says beside its verdict: nothing where that is `ok`."""
    verdict = outcome.document.verdict
    if verdict.kind is VerdictKind.OK:
        return {}
    tried = outcome.diagnostics.strategies
    told: dict[str, Json] = {
        "evidence": verdict.evidence,
        "nextStep": next_step(outcome.document, tried),
    }
    if tried:
        told["tried"] = tried
    return told
