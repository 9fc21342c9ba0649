"""The schema and prompt for the shop's pages, and how tests open cinder."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.models.document import Json
from cinder.models.extraction import ExtractAnswer, ExtractRequest, Grounding, QuotedText
from cinder.models.request import OWNER
from tests.resolver import TableResolver
from tests.site import Site

SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "smith": {"type": "string", "description": "Who forged it"},
        "uses": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}
PROMPT = "Extract the name, the price, the uses and who forged it"
ALL = ("kettle", "lantern", "poker")


def urls_of(site: Site, *names: str) -> tuple[str, ...]:
    return tuple(site.url(f"/ware?name={name}") for name in names)


def asking_for(site: Site, *names: str, **options: Any) -> ExtractRequest:  # Any: its fields
    wanted: dict[str, Any] = {"prompt": PROMPT, "schema": SCHEMA, **options}
    return ExtractRequest(urls=urls_of(site, *names), caller=OWNER, **wanted)


def with_model(settings: Settings, url: str, **options: Any) -> Settings:  # Any: its fields
    llm = settings.llm.model_copy(
        update={"base_url": url, "model": "ember-1", "max_retries": 0, **options}
    )
    return settings.model_copy(update={"llm": llm})


@asynccontextmanager
async def open_with_model(
    settings: Settings, resolver: TableResolver, url: str, **options: Any
) -> AsyncIterator[App]:
    """Open cinder with a language model that is asked there."""
    async with open_app(with_model(settings, url, **options), resolver=resolver) as app:
        yield app


async def check_proof(app: App, answer: ExtractAnswer) -> int:
    """Hold every proved value against the saved page; return how many there were."""
    saved = {each.final_url: each for each in answer.sources}
    count = 0
    for value in answer.extracted.values:
        for evidence in value.evidence:
            if evidence.grounding is Grounding.UNVERIFIED:
                continue
            source = saved[evidence.url]
            uri = source.uri if evidence.text is QuotedText.MARKDOWN else source.page_uri
            assert uri is not None
            body = await app.archive.read(uri, OWNER)
            assert body is not None
            text = body.text or ""
            assert text[evidence.start : evidence.end] == evidence.quote
            if evidence.grounding is Grounding.VERIFIED:
                assert str(value.value) == evidence.quote or float(evidence.quote) == value.value
        count += value.is_grounded
    return count
