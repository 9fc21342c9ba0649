"""Settings of searching."""

import re
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from cinder.config.section import CommaSeparated, OptionalSecret, OptionalText, Section

_PROVIDERS = ("local", "searxng", "brave", "duckduckgo")
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


class SearchEndpoint(BaseModel):
    """A search engine of the owner's own; `docs/search-providers.md` tells what each field is.

    It has an OpenSearch description, or a URL that answers with JSON and where that has what.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
    )

    description_url: str | None = None
    url: str | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    results: str = "results"
    url_field: str = "url"
    result_url: str | None = None
    title_field: str = "title"
    summary_field: str = "summary"
    date_field: str = "date"
    html: bool = False
    first_page: int = Field(1, ge=0, le=1)
    max_count: int = Field(20, ge=1, le=100)
    timeout_seconds: float = Field(10, gt=0)

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.description_url is None) == (self.url is None):
            raise ValueError("Set either url or description-url")
        if self.description_url is not None:
            given = self.model_fields_set - {"description_url", "timeout_seconds"}
            if given:
                listed = ", ".join(sorted(name.replace("_", "-") for name in given))
                raise ValueError(f"With description-url there can be no {listed}")
        return self


class SearchSettings(Section):
    """Searching: what cinder has seen, and the web."""

    providers: CommaSeparated = ("local",)
    """Who is asked, the first choice first: `local` (what cinder has saved), `searxng`, `brave`,
    `duckduckgo`, and names of `endpoints`. See `docs/search-providers.md`."""
    max_concurrency: int = Field(16, ge=1)
    """Searches that are made at once; further ones wait as long as they have time."""
    held_results: int = Field(20_000, ge=1_000)
    """Results of all searches that are held in memory, so that further pages of them stay true."""
    searxng_url: OptionalText = None
    """The start page of a SearXNG instance, which may be on a private address."""
    searxng_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer."""
    brave_api_key: OptionalSecret = None
    """The key of a subscription to the Brave Search API."""
    brave_url: OptionalText = None
    """Where its web search is asked, such as a gateway. When absent, Brave's own address."""
    brave_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer."""
    duckduckgo_url: OptionalText = None
    """Where DuckDuckGo's page without scripts is asked for. When absent, its own address."""
    duckduckgo_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer, and how long a search waits for its turn to ask."""
    duckduckgo_delay_seconds: float = Field(2, ge=0)
    """The least time between two questions to it."""
    duckduckgo_rest_seconds: float = Field(600, ge=0)
    """How long it is left alone after it took cinder for a machine; each further time doubles
    that."""
    endpoints: dict[str, SearchEndpoint] = Field(default_factory=dict)
    """Search engines of your own by name: `docs/search-providers.md` has what each takes."""

    @model_validator(mode="after")
    def _check_providers(self) -> Self:
        for name in self.endpoints:
            if name in _PROVIDERS or not _ENDPOINT_NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no name for an endpoint: it needs lower-case letters, digits and "
                    f"-, and must be none of {', '.join(_PROVIDERS)}"
                )
        if len(set(self.providers)) < len(self.providers) or not self.providers:
            raise ValueError(
                "providers (CINDER_SEARCH__PROVIDERS) must name at least one provider, and each "
                "once"
            )
        for name in self.providers:
            self._check_provider(name)
        return self

    def _check_provider(self, name: str) -> None:
        if name not in (*_PROVIDERS, *self.endpoints):
            raise ValueError(
                f"providers (CINDER_SEARCH__PROVIDERS): There is no {name!r}: name "
                f"{', '.join(_PROVIDERS)}, or describe it in "
                f"[search.endpoints.{name}]"
            )
        if name == "searxng" and self.searxng_url is None:
            raise ValueError(
                "The provider 'searxng' needs its address: set searxng-url "
                "(CINDER_SEARCH__SEARXNG_URL), such as http://127.0.0.1:8888"
            )
        if name == "brave" and self.brave_api_key is None:
            raise ValueError(
                "The provider 'brave' needs a key: set brave-api-key (CINDER_SEARCH__BRAVE_API_KEY)"
            )
