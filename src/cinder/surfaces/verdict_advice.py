"""What is told beside a verdict that is not `ok`: what shows it, what was tried, what is next."""

from cinder.model.document import Json, VerdictKind
from cinder.services.scrape import ScrapeOutcome

NEXT_STEP = {
    VerdictKind.BLOCKED: (
        "The site turns automated visitors away: try proxy stealth, later, or another source."
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


def explain_verdict(outcome: ScrapeOutcome) -> dict[str, Json]:
    """Return what an answer says beside its verdict: nothing where that is `ok`."""
    verdict = outcome.document.verdict
    if verdict.kind is VerdictKind.OK:
        return {}
    told: dict[str, Json] = {"evidence": verdict.evidence, "nextStep": NEXT_STEP[verdict.kind]}
    if tried := outcome.diagnostics.strategies:
        told["tried"] = tried
    return told
