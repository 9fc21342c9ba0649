"""Extracted data as JSON: how its proof and its conflicts are written down."""

from collections.abc import Iterator, Sequence

from cinder.model.document import Json
from cinder.model.extract import Engine, ModelUsage
from cinder.model.extracted_data import Conflict, Evidence, ExtractedData, Path
from cinder.services.extraction.open_fields import WEAK_SCORE


def describe_proof(extracted: ExtractedData) -> Iterator[dict[str, Json]]:
    """Yield what shows each value; where several pages do, each of them."""
    for value in extracted.values:
        pages: dict[str, Evidence] = {}
        for evidence in value.evidence:
            pages.setdefault(evidence.url, evidence)
        fit: dict[str, Json] = {} if value.score >= WEAK_SCORE else {"fit": value.score}
        for evidence in pages.values():
            yield {"path": tell_path(value.path), **_describe_evidence(evidence), **fit}


def describe_conflict(conflict: Conflict) -> dict[str, Json]:
    """Return what another place says, and what shows that."""
    shown: dict[str, Json] = {
        "path": tell_path(conflict.path),
        "kept": conflict.kept,
        "other": conflict.other.value,
    }
    evidence = conflict.other.evidence
    return shown | (_describe_evidence(evidence[0]) if evidence else {})


def describe_way(engines: Sequence[Engine], usage: ModelUsage | None) -> dict[str, Json]:
    """Return what found the values, and what that took."""
    shown: dict[str, Json] = {"engine": "+".join(engines) or Engine.RULES}
    if usage is not None:
        shown["model"] = usage.model
        shown["usage"] = {"calls": usage.calls, "tokens": usage.tokens}
    return shown


def tell_path(path: Path) -> str:
    """Return where a value stands, as one writes it: `offers[0].price`."""
    told = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return told.removeprefix(".")


def _describe_evidence(evidence: Evidence) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "grounding": evidence.grounding,
        "method": evidence.method,
        "url": evidence.url,
        "quote": evidence.quote,
    }
    if evidence.text is not None:
        shown |= {"text": evidence.text, "start": evidence.start, "end": evidence.end}
    if evidence.label:
        shown["label"] = evidence.label
    if evidence.normalization:
        shown["rule"] = evidence.normalization
    return shown
