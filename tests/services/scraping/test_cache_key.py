import json
from dataclasses import replace
from pathlib import Path

import pytest

from cinder.models.request import (
    Action,
    ActionType,
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    Profile,
    ProxyTier,
    RenderOptions,
    ResultHandling,
    ScrapeRequest,
)
from cinder.models.saved import OWN_KEY_PREFIX
from cinder.services.scraping.cache_key import RequestKeyCache, RequestKeys, describe_options

BASE = ScrapeRequest(url="https://example.com/a", headers=(("Accept-Language", "en"),))

DIFFERENT = [
    replace(BASE, url="https://example.com/b"),
    replace(BASE, url="https://example.com/A"),
    replace(BASE, url="https://example.com/%61"),
    replace(BASE, extract="the author"),
    replace(BASE, headers=(("Accept-Language", "de"),)),
    replace(BASE, headers=()),
    replace(BASE, formats=(Format.HTML,)),
    replace(BASE, content=ContentOptions(clean=False)),
    replace(BASE, content=ContentOptions(only_main_content=False)),
    replace(BASE, content=ContentOptions(include_tags=("article",))),
    replace(BASE, content=ContentOptions(exclude_tags=("article",))),
    replace(BASE, content=ContentOptions(pdf_parser=PdfParser())),
    replace(BASE, content=ContentOptions(pdf_parser=PdfParser(max_pages=2))),
    replace(BASE, render=RenderOptions(mode=Mode.STATIC)),
    replace(BASE, render=RenderOptions(wait_for_ms=1)),
    replace(BASE, render=RenderOptions(block_ads=False)),
    replace(BASE, render=RenderOptions(mobile=True)),
    replace(BASE, render=RenderOptions(proxy=ProxyTier.STEALTH)),
    replace(BASE, render=RenderOptions(profile=Profile.MASTER)),
    replace(BASE, render=RenderOptions(actions=(Action(type=ActionType.CLICK, selector="a"),))),
    replace(BASE, render=RenderOptions(actions=(Action(type=ActionType.WRITE, text="a"),))),
    replace(BASE, render=RenderOptions(actions=(Action(type=ActionType.WRITE, text="b"),))),
]

SAME = [
    replace(BASE, url="https://example.com/a#part"),
    replace(BASE, headers=(("accept-language", "en"),)),
    replace(BASE, timeout_ms=1),
    replace(BASE, cache=CachePolicy(max_age_ms=1, force_rescrape=True)),
    replace(BASE, result_handling=ResultHandling.RETURN_ONLY),
    replace(BASE, formats=(Format.MARKDOWN, Format.CHANGE_TRACKING)),
    replace(BASE, formats=(Format.CHANGE_TRACKING,)),
]


COMBINED = [
    replace(BASE, headers=(("Cookie", "a=b"), ("X-A", "1"))),
    replace(
        BASE,
        formats=(Format.MARKDOWN, Format.LINKS),
        content=ContentOptions(
            only_main_content=False,
            include_tags=("b", "a", "a"),
            exclude_tags=("z", "y"),
            pdf_parser=PdfParser(max_pages=3),
        ),
        render=RenderOptions(
            mode=Mode.DYNAMIC,
            wait_for_ms=500,
            block_ads=False,
            proxy=ProxyTier.BASIC,
            actions=(
                Action(type=ActionType.WAIT, milliseconds=5),
                Action(type=ActionType.EXECUTE_JAVASCRIPT, script="x"),
            ),
        ),
    ),
    ScrapeRequest(url="https://user:pw@example.com/?token=abc"),
    ScrapeRequest(url="https://example.com/", caller="someone"),
    ScrapeRequest(url="https://example.com/", caller="someone", headers=(("Authorization", "x"),)),
]
# Computed by the release that wrote the first databases: other keys would lose what they hold.
GOLDEN = json.loads((Path(__file__).parent / "golden_keys.json").read_text())


@pytest.mark.parametrize(
    ("request_", "golden"),
    list(zip([BASE, *DIFFERENT, *SAME, *COMBINED], GOLDEN, strict=True)),
)
def test_keys_and_stored_options_stay_those_of_existing_databases(
    request_: ScrapeRequest, golden: list[object]
) -> None:
    keys = RequestKeys(request_, {"stripChromeTags": True})
    assert [keys.cache, RequestKeys(request_).content, keys.options] == golden


def test_all_that_changes_the_answer_changes_the_key() -> None:
    keys = {RequestKeys(request).cache for request in [BASE, *DIFFERENT]}
    assert len(keys) == len(DIFFERENT) + 1


@pytest.mark.parametrize("request_", SAME)
def test_what_does_not_change_the_answer_does_not_change_the_key(request_: ScrapeRequest) -> None:
    assert RequestKeys(request_).cache == RequestKeys(BASE).cache


def test_the_order_of_lists_does_not_matter() -> None:
    one = replace(BASE, formats=(Format.HTML, Format.LINKS))
    other = replace(BASE, formats=(Format.LINKS, Format.HTML))
    assert RequestKeys(one).cache == RequestKeys(other).cache


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "X-Api-Key"])
def test_a_request_with_credentials_shares_with_no_other_caller(name: str) -> None:
    mine = replace(BASE, headers=((name, "secret"),), caller="me")
    assert RequestKeys(mine).cache != RequestKeys(replace(mine, caller="you")).cache
    assert "secret" not in str(describe_options(mine))


@pytest.mark.parametrize(
    "mine",
    [
        replace(BASE, caller="me"),
        ScrapeRequest(url=BASE.url, content=ContentOptions(include_tags=("p",)), caller="me"),
        ScrapeRequest(url=BASE.url, content=ContentOptions(exclude_tags=("p",)), caller="me"),
        ScrapeRequest(
            url=BASE.url,
            render=RenderOptions(actions=(Action(type=ActionType.SCROLL),)),
            caller="me",
        ),
        ScrapeRequest(url=BASE.url, extract="the author", caller="me"),
    ],
)
def test_what_a_caller_shaped_shares_with_no_other_caller(mine: ScrapeRequest) -> None:
    keys = RequestKeys(mine)
    assert keys.is_own
    assert keys.cache.startswith(OWN_KEY_PREFIX)
    assert keys.cache != RequestKeys(replace(mine, caller="you")).cache


def test_a_plain_request_shares_with_every_caller() -> None:
    mine = ScrapeRequest(
        url=BASE.url, render=RenderOptions(wait_for_ms=5, mobile=True, block_ads=False), caller="me"
    )
    assert RequestKeys(mine).cache == RequestKeys(replace(mine, caller="you")).cache
    assert not RequestKeys(mine).is_own
    assert not RequestKeys(mine).cache.startswith(OWN_KEY_PREFIX)


def test_what_actions_type_and_run_is_not_written_down() -> None:
    typing = Action(type=ActionType.WRITE, selector="#password", text="secret")
    running = Action(type=ActionType.EXECUTE_JAVASCRIPT, script="login('secret')")
    request = replace(BASE, render=RenderOptions(actions=(typing, running)))
    assert describe_options(request)["actions"] == [
        {"type": "write", "selector": "#password"},
        {"type": "executeJavascript"},
    ]


def test_requests_that_differ_in_formats_alone_share_a_content_key() -> None:
    request = ScrapeRequest(url="https://example.com/")
    other = replace(request, formats=(Format.HTML, Format.CHANGE_TRACKING))
    assert RequestKeys(request).content == RequestKeys(other).content != RequestKeys(request).cache
    part = replace(request, content=ContentOptions(only_main_content=False))
    assert RequestKeys(part).content != RequestKeys(request).content


def test_keys_are_computed_once_where_a_request_may_come_again() -> None:
    known = RequestKeyCache({"pdf": True})
    plain = ScrapeRequest(url="https://a.example/")
    keys = known.of(plain)
    assert known.of(replace(plain)) is keys
    assert keys.cache == RequestKeys(plain, {"pdf": True}).cache
    assert known.of(replace(plain, caller="two")) is not keys
    for other in (
        replace(plain, cache=CachePolicy(force_rescrape=True)),
        replace(plain, headers=(("X-Key", "1"),)),
        replace(plain, url="https://a.example/?api_key=abcdef123456"),
        replace(plain, render=RenderOptions(profile=Profile.MASTER)),
        replace(plain, render=RenderOptions(actions=(Action(type=ActionType.WAIT),))),
    ):
        assert known.of(other) is not known.of(other)
        assert known.of(other).cache == RequestKeys(other, {"pdf": True}).cache
