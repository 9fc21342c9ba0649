"""How far a scrape may go: what the caller's token allows, and what the job it is for wants."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cinder.fetch.base import RedirectRefused
from cinder.model.caller import CallerPolicy
from cinder.model.domains import is_within
from cinder.model.request import ScrapeRequest
from cinder.services.callers import may_fetch_from, require_domain


@dataclass(frozen=True, slots=True)
class Mandate:
    """On whose behalf a page is scraped, and so where it may come from."""

    policy: CallerPolicy
    may_land: Callable[[str], bool] | None = None
    """What the job says of a page that another leads to."""

    @property
    def landing_check(self) -> Callable[[str], bool] | None:
        """Tells where a page may lead; None where it may lead anywhere."""
        return self._may_land if self.policy.domains else self.may_land

    def connection_check(self, request: ScrapeRequest) -> Callable[[str], bool] | None:
        """Tells what a browser may connect to; None where that is all that egress allows.

        What a page loads for itself may come from anywhere, but not where the caller's own script
        could read all of it.
        """
        domains = self.policy.domains
        if not domains or not request.runs_script:
            return None
        return lambda host: is_within(host, domains)

    @contextmanager
    def explaining_refusal(self) -> Iterator[None]:
        """Say so where it was the token that a page was refused for."""
        try:
            yield
        except RedirectRefused as refused:
            require_domain(self.policy, refused.target)
            raise

    def _may_land(self, url: str) -> bool:
        is_wanted = self.may_land is None or self.may_land(url)
        return is_wanted and may_fetch_from(self.policy, url)
