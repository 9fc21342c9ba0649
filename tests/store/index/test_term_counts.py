"""Counting terms: many pages are ranked by their rarer terms, few by all."""

from datetime import timedelta

import pytest

from cinder.store.index.fts5 import Fts5
from cinder.store.index.full_text import FullText, RankingPlan
from cinder.store.index.queries import parse_query
from cinder.store.index.term_counts import MAX_CHOSEN, TermCounts
from cinder.store.index.tsvector import Tsvector
from cinder.store.procedure import Procedure, Run
from tests.store.samples import NOW

COUNTS = {"pages": 10 * MAX_CHOSEN, "rare": 20, "usual": MAX_CHOSEN - 100, "frequent": 3_000}


def run(procedure: Procedure[RankingPlan], counts: dict[str, int]) -> tuple[RankingPlan, list[str]]:
    """Run a procedure on a database that knows nothing but counts."""
    asked = []
    run = Run(procedure)
    while run.statement is not None:
        word = str(run.statement.args[0]).strip("\"'") if run.statement.args else "pages"
        asked.append(word)
        run.advance([{"n": counts.get(word, 10**9)}])
    return run.result, asked


def test_few_pages_are_ranked_by_all_terms_without_counting() -> None:
    wanted = parse_query("rare usual common")
    plan, asked = run(TermCounts(Fts5()).plan(wanted, NOW), {"pages": MAX_CHOSEN})
    assert plan == RankingPlan(wanted=wanted)
    assert asked == ["pages"]


@pytest.mark.parametrize("full_text", [Fts5(), Tsvector()])
def test_many_pages_are_chosen_and_ranked_without_common_terms(full_text: FullText) -> None:
    wanted = parse_query("frequent common rare usual")
    plan, _ = run(TermCounts(full_text).plan(wanted, NOW), COUNTS)
    assert plan.wanted.terms == (("frequent",), ("rare",), ("usual",))
    assert plan.choice is not None
    assert plan.choice.rarer == (("rare",),)
    assert plan.choice.commoner == (("usual",), ("frequent",))
    assert plan.choice.most is None
    assert plan.weights[("rare",)] > plan.weights[("usual",)] > plan.weights[("frequent",)] > 0


def test_a_common_term_by_itself_is_kept_for_the_newest_pages() -> None:
    wanted = parse_query("common")
    plan, _ = run(TermCounts(Fts5()).plan(wanted, NOW), COUNTS)
    assert plan.wanted == wanted
    assert plan.choice is not None
    assert (plan.choice.rarer, plan.choice.most) == (wanted.terms, 10_000)


def test_phrases_are_rare_enough_by_themselves() -> None:
    wanted = parse_query('"rare thing" common')
    plan, _ = run(TermCounts(Fts5()).plan(wanted, NOW), COUNTS)
    assert (plan.wanted, plan.choice) == (wanted, None)


def test_counts_are_remembered_for_some_minutes() -> None:
    counts, wanted = TermCounts(Tsvector()), parse_query("rare")
    assert run(counts.plan(wanted, NOW), COUNTS)[1] == ["pages", "rare"]
    assert run(counts.plan(wanted, NOW + timedelta(seconds=59)), COUNTS)[1] == []
    assert run(counts.plan(wanted, NOW + timedelta(seconds=61)), COUNTS)[1] == ["pages"]
    later = NOW + timedelta(minutes=11)
    assert run(counts.plan(wanted, later), COUNTS)[1] == ["pages", "rare"]


def test_terms_are_counted_again_when_pages_have_become_many_more() -> None:
    counts, wanted = TermCounts(Tsvector()), parse_query("rare")
    before, _ = run(counts.plan(wanted, NOW), COUNTS)
    grown = COUNTS | {"pages": COUNTS["pages"] * 6 // 5}
    plan, asked = run(counts.plan(wanted, NOW + timedelta(seconds=61)), grown)
    assert asked == ["pages"]
    # The share of the pages that have it is taken to be the same.
    assert plan.weights[("rare",)] == pytest.approx(before.weights[("rare",)], abs=0.01)
    grown = COUNTS | {"pages": COUNTS["pages"] * 2}
    assert run(counts.plan(wanted, NOW + timedelta(seconds=122)), grown)[1] == ["pages", "rare"]
