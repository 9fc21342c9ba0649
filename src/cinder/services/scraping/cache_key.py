"""Cache keys: which requests share a cached document, and which options are stored with it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from operator import attrgetter

from cinder.lru_cache import LruCache
from cinder.models.document import Json
from cinder.models.options import options_of
from cinder.models.redaction import redact
from cinder.models.request import Action, Format, ScrapeRequest
from cinder.models.saved import OWN_KEY_PREFIX

# How many requests' keys are kept, and about what those of one take in memory.
_MAX_KEYS, _KEYS_BYTES = 500, 4 * 1024
_KEY_CHARS = 64

_encode = json.JSONEncoder(sort_keys=True).encode


class RequestKeys:
    """The keys under which the answer to a request is kept; `defaults` are the owner's options."""

    def __init__(self, request: ScrapeRequest, defaults: Mapping[str, Json] | None = None) -> None:
        """Describe the request only once, since every page of a crawl needs it."""
        self.options = describe_options(request)
        """The request's options as they may be kept and shown."""
        self.is_own = request.is_private or request.is_customized
        """Whether the keys, and what is kept under them, are the caller's own."""
        self._prefix = OWN_KEY_PREFIX if request.is_customized else ""
        self._parts: dict[str, Json] = {
            **self.options,
            "formats": sorted(kept_formats(request.formats)),
            "url": without_fragment(request.url),
            "defaults": dict(defaults or {}),
            "headers": sorted([name.lower(), value] for name, value in request.headers),
            "actions": [_describe_action(action) for action in request.render.actions],
        }
        if self.is_own:
            self._parts["caller"] = request.caller

    @cached_property
    def cache(self) -> str:
        """The key of the answer.

        It covers everything that changes the answer, but not which part of a stored answer is
        returned, or how old it may be.
        """
        return (self._prefix + _hash(self._parts))[:_KEY_CHARS]

    @cached_property
    def content(self) -> str:
        """The key that requests share whose content may be compared.

        It covers what the cache key covers, except the requested formats and data.
        """
        shared = {key: part for key, part in self._parts.items() if key != "extractSchema"}
        return _hash(shared | {"formats": [], "extract": None})


class RequestKeyCache:
    """Computes the keys of requests, and keeps those of requests that may come again."""

    def __init__(self, defaults: Mapping[str, Json]) -> None:
        self._defaults = defaults
        self._known: LruCache[ScrapeRequest, RequestKeys] = LruCache(_MAX_KEYS * _KEYS_BYTES)

    def of(self, request: ScrapeRequest) -> RequestKeys:
        """Return the keys of a request.

        Keys are not kept for a request that may hold secrets, or that skips the cache, as each page
        of a crawl does.
        """
        known = self._known.get(request)
        if known is not None:
            return known
        keys = RequestKeys(request, self._defaults)
        has_secrets = request.is_private or request.headers or request.render.actions
        if not has_secrets and not request.cache.force_rescrape:
            self._known.put(request, keys, _KEYS_BYTES)
        return keys


def _hash(parts: Mapping[str, Json]) -> str:
    return hashlib.sha256(_encode(parts).encode()).hexdigest()


def kept_formats(formats: tuple[Format, ...]) -> tuple[Format, ...]:
    """Return the formats that are stored of those requested.

    The change of a page is returned and not stored; if nothing else was requested, the compared
    markdown is stored. Later requests thus find the newest page, for any caller and reason.
    """
    if formats == (Format.CHANGE_TRACKING,):
        return (Format.MARKDOWN,)
    return tuple(wanted for wanted in formats if wanted is not Format.CHANGE_TRACKING)


# Options that do not change the answer.
_NOT_IN_KEY = frozenset({"timeout", "resultHandling", "maxAge", "forceRescrape"})
# The options of the first release: part of every key. An option that was added later is part of a
# key only where it differs from its default, so that existing keys stay valid.
_IN_EVERY_KEY = frozenset(
    (
        *("extract", "cleanScrape", "onlyMainContent", "includeTags", "excludeTags", "formats"),
        *("headers", "waitFor", "actions", "blockAds", "proxy", "profile", "mode"),
    )
)
# These have a form of their own in the key.
_SPECIAL = frozenset({"parsers", "headers", "actions"})
_KEY_OPTIONS = tuple(
    (option.name, attrgetter(option.attribute), option.default, option.is_list)
    for option in options_of(ScrapeRequest)
    if option.name not in _NOT_IN_KEY | _SPECIAL
)


def describe_options(request: ScrapeRequest) -> dict[str, Json]:
    """Return a request's options as they may be stored and shown.

    Secrets are left out: the values of headers, credentials in the URL, and what actions type and
    run.
    """
    options: dict[str, Json] = {}
    for name, read, default, is_list in _KEY_OPTIONS:
        value = read(request)
        if name in _IN_EVERY_KEY or value != default:
            options[name] = sorted(value) if is_list else value
    parser = request.content.pdf_parser
    return options | {
        "url": redact(without_fragment(request.url)),
        "headers": sorted(name.lower() for name, _ in request.headers),
        "actions": [
            _describe_action(replace(action, text=None, script=None))
            for action in request.render.actions
        ],
        "mobile": request.render.mobile,
        "pdf": None if parser is None else {"maxPages": parser.max_pages},
    }


def _describe_action(action: Action) -> dict[str, Json]:
    return {key: value for key in action.__slots__ if (value := getattr(action, key)) is not None}


def without_fragment(url: str) -> str:
    """Return a URL as a server sees it."""
    return url.partition("#")[0]
