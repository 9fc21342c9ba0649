"""How well titles, authors and dates agree with the truth of the saved pages."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.corpus import Page
from bench.prediction import Prediction, Predictions

DAY_LENGTH = len("2025-01-31")
WORD = re.compile(r"\w+")
JOINING_WORDS = {"by", "and"}


@dataclass(frozen=True, slots=True)
class Field:
    """A piece of metadata, and the words of it that have to agree."""

    name: str
    words: Callable[[str], frozenset[str]]
    truth: Callable[[Page], str]
    said: Callable[[Prediction], str]


@dataclass(frozen=True, slots=True)
class Score:
    """How a contestant did on one field."""

    right: float
    """Of the pages that have a truth, the share on which all words agree."""
    overlap: float
    """The mean F1 of the words, over those pages."""
    f1: float
    """F1 of right answers over all pages: one given where the truth has none counts against it."""
    unasked: int
    """Answers given where the truth has none."""


def print_metadata_scores(pages: Sequence[Page], made: Sequence[tuple[str, Predictions]]) -> None:
    """Print the scores of each contestant on the pages whose metadata is known."""
    known = [page for page in pages if page.dataset == "wcxb"]
    print(
        f"metadata of {len(known)} of these pages. right: same words as the truth (title, author) "
        "or same day (date), of the pages that have one; words: mean F1 of the words on them; F1: "
        "of right answers over all pages; unasked: answers where the truth has none"
    )
    print(f"{'':16}{'':8}{'right':>9}{'words':>9}{'F1':>9}{'unasked':>9}{'of':>7}")
    for field in FIELDS:
        absent = sum(not field.words(field.truth(page)) for page in known)
        for name, said in made:
            score = score_field(field, [(page, said.by_key[page.key]) for page in known])
            print(
                f"{name:16}{field.name:8}{score.right:9.3f}{score.overlap:9.3f}{score.f1:9.3f}"
                f"{score.unasked:9}{absent:7}"
            )


def score_field(field: Field, answers: Sequence[tuple[Page, Prediction]]) -> Score:
    """Compare a contestant's answers with the truth."""
    compared = [
        (field.words(field.truth(page)), field.words(field.said(said))) for page, said in answers
    ]
    asked = [(truth, said) for truth, said in compared if truth]
    given = sum(bool(said) for _, said in compared)
    right = sum(truth == said for truth, said in asked)
    return Score(
        right=right / max(len(asked), 1),
        overlap=sum(_overlap(truth, said) for truth, said in asked) / max(len(asked), 1),
        f1=2 * right / max(len(asked) + given, 1),
        unasked=sum(bool(said) and not truth for truth, said in compared),
    )


def _overlap(truth: frozenset[str], said: frozenset[str]) -> float:
    return 2 * len(truth & said) / (len(truth) + len(said))


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _names(text: str) -> frozenset[str]:
    return _words(text) - JOINING_WORDS


def _day(text: str) -> frozenset[str]:
    return frozenset([text[:DAY_LENGTH]] if text else [])


FIELDS = (
    Field("title", _words, lambda page: page.title, lambda said: said.title),
    Field("author", _names, lambda page: page.author, lambda said: said.author),
    Field("date", _day, lambda page: page.published, lambda said: said.published),
)
