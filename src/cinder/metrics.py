"""The counters and histograms that Prometheus scrapes."""

from collections.abc import Callable
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_MODEL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)


class Metrics:
    """The counters and timers of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        self.requests = counter(
            "cinder_scrape_requests",
            "Scrape requests by surface, command and outcome (ok or an error code).",
            ["surface", "command", "outcome"],
        )
        self.cache = counter(
            "cinder_cache_lookups",
            "Cache lookups by result: hit, stale, miss, derived or bypass.",
            ["result"],
        )
        self.strategies = counter(
            "cinder_strategy_attempts",
            "Fetch attempts by strategy and outcome (ok, http_error, cancelled or an error code).",
            ["strategy", "outcome"],
        )
        self.scrape_seconds = histogram(
            "cinder_scrape_seconds",
            "Time from request to result, by where the result came from: cache or web.",
            ["origin"],
        )
        self.database_seconds = histogram(
            "cinder_database_seconds", "Time of database operations.", ["operation"]
        )
        self._timer_of = cache(self.database_seconds.labels)
        self.loop_lag = gauge(
            "cinder_event_loop_lag_seconds", "How late the event loop runs what is due."
        )
        self.recycles = counter(
            "cinder_browser_recycles",
            "Browsers closed, by reason: pages, idle, unfit or stop.",
            ["reason"],
        )
        self.pools = gauge(
            "cinder_browser_pool",
            "Browsers running and busy, and pages waiting for one, by profile.",
            ["profile", "state"],
        )
        self.extractions = counter(
            "cinder_extraction_limits",
            "Pages that took long or too much to parse: moved, put_off, timed_out or died.",
            ["event"],
        )
        self.lanes = gauge(
            "cinder_extraction_jobs",
            "Pages being parsed or waiting for it, by lane: quick or slow.",
            ["lane", "state"],
        )
        self.search_seconds = histogram(
            "cinder_search_seconds",
            "Time of searches, by mode and outcome (ok or failed).",
            ["mode", "outcome"],
        )
        self.provider_seconds = histogram(
            "cinder_search_provider_seconds",
            "Time of requests to search providers, by outcome (ok, failed, timeout or paused).",
            ["provider", "outcome"],
        )
        self.model_seconds = histogram(
            "cinder_model_seconds",
            "Time of calls to the language model, by outcome (ok or failed).",
            ["outcome"],
            buckets=_MODEL_SECONDS,
        )
        self.model_tokens = counter(
            "cinder_model_tokens",
            "Tokens as the language model's provider counts them: sent and received.",
            ["direction"],
        )
        self.model_repairs = counter(
            "cinder_model_repairs",
            "Second rounds after an answer that did not match its schema, by outcome (ok, failed).",
            ["outcome"],
        )
        self.model_fallbacks = counter(
            "cinder_model_fallbacks",
            "Ways of asking for JSON that were refused or ignored: json_schema or json_object.",
            ["rung"],
        )
        self.model_stand_ins = counter(
            "cinder_model_stand_ins",
            "Answers made without the language model because it failed, by use (summary).",
            ["use"],
        )
        self.recipes = counter(
            "cinder_recipes",
            "Learned recipes: tried on a page, hit (they held), learned or dropped.",
            ["event"],
        )

    def watch_loop(self, lag_seconds: Callable[[], float]) -> None:
        """Report the event loop's lag at each scrape."""
        self.loop_lag.set_function(lag_seconds)

    def watch_lanes(self, state: Callable[[str, str], int]) -> None:
        """Report how many pages the sandbox parses and queues at each scrape."""
        for lane in ("quick", "slow"):
            for name in ("running", "waiting"):
                self.lanes.labels(lane, name).set_function(partial(state, lane, name))

    def watch_pool(self, profile: str, state: Callable[[str], int]) -> None:
        """Report the numbers of a browser pool at each scrape."""
        for name in ("workers", "busy", "waiting"):
            self.pools.labels(profile, name).set_function(partial(state, name))

    def count_attempt(self, strategy: str, outcome: str) -> None:
        """Count one fetch attempt."""
        self.strategies.labels(strategy, outcome).inc()

    def observe_query(self, operation: str, seconds: float) -> None:
        """Record the time of one database operation."""
        self._timer_of(operation).observe(seconds)

    def render(self) -> bytes:
        """Return everything in the Prometheus text format."""
        return generate_latest(self.registry)


def counting(events: Counter) -> Callable[[str], None]:
    """Return a function that counts an event by its name, the counter's label."""
    return lambda event: events.labels(event).inc()
