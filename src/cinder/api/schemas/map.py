"""Site maps: the arguments of POST /v1/map and the tool `cinder_map`, and their answer."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from pydantic_core import to_json

from cinder.api.arguments import Arguments, WebUrl
from cinder.api.options import build_request, with_options
from cinder.models.document import Json
from cinder.models.site_map import MappedUrl, SiteMap
from cinder.services.excerpt import fit_items
from cinder.services.jobs.specs import MapRequest

# Longer answers are sent in parts of so many URLs.
STREAMED_URLS = 1_000


@with_options(MapRequest)
class MapArguments(Arguments):
    """A site whose URLs are listed."""

    url: WebUrl
    """Where to start; https:// is added where the scheme is missing."""

    def to_request(self, *, caller: str) -> MapRequest:
        """Return the request for the map."""
        return build_request(MapRequest, self, url=self.url, caller=caller)


def describe_map(
    found: SiteMap, request: MapRequest, max_chars: int | None = None
) -> dict[str, Json]:
    """Return a map without nulls; what exceeds a size is left for the next part."""
    urls: Sequence[Json] = [_describe_url(url) for url in found.urls]
    next_offset, warnings = found.next_offset, list(found.warnings)
    if max_chars is not None:
        fitting = fit_items(urls, max_chars) or urls[:1]
        if len(fitting) < len(urls):
            next_offset = request.offset + len(fitting)
            warnings.append(
                f"{len(fitting)} of {len(urls)} URLs are shown: ask again with offset "
                f"{next_offset} for more, or with a search."
            )
        urls = fitting
    return {
        "url": request.url,
        "urls": urls,
        "hasMore": next_offset is not None,
        **({} if next_offset is None else {"nextOffset": next_offset}),
        **({"warnings": warnings} if warnings else {}),
    }


async def stream_map(found: SiteMap, request: MapRequest) -> AsyncIterator[bytes]:
    """Yield the JSON of a long map in parts."""
    whole = describe_map(replace(found, urls=()), request)
    end = to_json({name: value for name, value in whole.items() if name not in ("url", "urls")})
    yield b'{"url":' + to_json(request.url) + b',"urls":['
    for start in range(0, len(found.urls), STREAMED_URLS):
        part = to_json([_describe_url(url) for url in found.urls[start : start + STREAMED_URLS]])
        yield (b"," if start else b"") + part[1:-1]
    yield b"]," + end[1:]


def _describe_url(found: MappedUrl) -> dict[str, Json]:
    title = found.title or found.link_text
    return {
        "url": found.url,
        **({"title": title} if title else {}),
        "source": found.source,
        **({"lastModified": found.modified} if found.modified else {}),
    }
