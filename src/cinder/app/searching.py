"""Searching, built of the providers, the local index, and scraping."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cinder.metrics import Metrics
from cinder.model.search import LOCAL
from cinder.search.base import Provider
from cinder.services.archive import Archive
from cinder.services.scraping.service import ScrapeService
from cinder.services.search.asking import Asker
from cinder.services.search.judging import Judge
from cinder.services.search.list_memory import ListMemory
from cinder.services.search.local_provider import LocalProvider
from cinder.services.search.provider_health import ProviderHealth
from cinder.services.search.result_reader import ResultReader
from cinder.services.search.saved_text import ArchivedTexts
from cinder.services.search.service import SearchLimits, SearchService


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBasis:
    """What searching stands on."""

    scrape: ScrapeService
    archive: Archive
    metrics: Metrics


def order_providers(
    order: Sequence[str], web: Mapping[str, Provider], local: LocalProvider
) -> list[Provider]:
    """Return the providers in the owner's order; the local one is last where it is not named."""
    known: dict[str, Provider] = {LOCAL: local, **web}
    return [known[name] for name in dict.fromkeys((*order, LOCAL))]


def make_search(
    providers: Sequence[Provider], basis: SearchBasis, *, at_once: int, held_results: int
) -> SearchService:
    """Return the service that answers searches."""
    return SearchService(
        providers=providers,
        asker=Asker(ProviderHealth(), basis.metrics),
        judge=Judge(ResultReader(basis.scrape), ArchivedTexts(basis.archive)),
        memory=ListMemory(max_results=held_results),
        metrics=basis.metrics,
        limits=SearchLimits(searches_at_once=at_once),
    )
