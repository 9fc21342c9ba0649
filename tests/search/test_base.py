import pytest

from cinder.models.search import SearchFilters
from cinder.search.base import Period, QueryLimits, period_of, query_with_operators
from tests.search.opening import asking

WIDE = QueryLimits(max_chars=1_000)


@pytest.mark.parametrize(
    ("days", "period"),
    [
        (0, Period.DAY),
        (1, Period.DAY),
        (1.5, Period.WEEK),
        (31, Period.MONTH),
        (365, Period.YEAR),
        (366, None),
        (None, None),
    ],
)
def test_a_period_leaves_nothing_out(days: float | None, period: Period | None) -> None:
    assert period_of(SearchFilters(max_age_days=days)) is period


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        (SearchFilters(), "ash"),
        (SearchFilters(include_domains=("a.example",)), "ash site:a.example"),
        (SearchFilters(include_domains=("a.example", "b c")), "ash"),
        (SearchFilters(include_domains=("a.example",) * 6), "ash"),
        (SearchFilters(exclude_domains=("a.example", "x OR y")), "ash -site:a.example"),
        (SearchFilters(required_text=("fine ash", 'so "so"')), 'ash "fine ash"'),
    ],
)
def test_filters_become_operators_where_they_can(filters: SearchFilters, text: str) -> None:
    assert query_with_operators(asking(" ash ", filters=filters), WIDE) == text


def test_operators_that_do_not_fit_are_left_out() -> None:
    filters = SearchFilters(required_text=("one two three", "four"))
    limits = QueryLimits(max_chars=100, max_words=3)
    assert query_with_operators(asking("ash", filters=filters), limits) == 'ash "four"'
