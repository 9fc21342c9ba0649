"""Filters: which candidates may become results, and what is to be said of those that may not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cinder.model.domains import is_within
from cinder.model.search import SearchFilters
from cinder.services.search.fusion import Candidate
from cinder.services.search.query_text import comparable


@dataclass(frozen=True, slots=True)
class Sieve:
    """Judges candidates by what a caller asked for, at one moment."""

    filters: SearchFilters
    now: datetime

    def is_of_domain(self, candidate: Candidate) -> bool:
        """Whether it comes from where results may come from."""
        host, filters = candidate.address.host, self.filters
        is_included = not filters.include_domains or is_within(host, filters.include_domains)
        return is_included and not is_within(host, filters.exclude_domains)

    def is_undated(self, candidate: Candidate) -> bool:
        """Whether an age is asked for, and it has none."""
        date = candidate.published_at or candidate.first_seen_at
        return self.filters.max_age_days is not None and date is None

    def is_too_old(self, candidate: Candidate) -> bool:
        """Whether it is older than asked for."""
        date = candidate.published_at or candidate.first_seen_at
        if self.filters.max_age_days is None or date is None:
            return False
        return self.now - date > timedelta(days=self.filters.max_age_days)

    def has_required(self, texts: Sequence[str]) -> bool:
        """Whether every phrase that is required stands in one of the texts."""
        if not self.filters.required_text:
            return True
        compared = [comparable(text) for text in texts]
        phrases = [comparable(phrase) for phrase in self.filters.required_text]
        return all(any(phrase in text for text in compared) for phrase in phrases)
