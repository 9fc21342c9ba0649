"""Tokens: created, identified, and limited."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cinder.errors import Forbidden, InvalidRequest, RateLimited
from cinder.models.caller import EVERYDAY_SCOPES, CallerPolicy, TokenScope
from cinder.models.request import OWNER, Profile, RenderOptions, ScrapeRequest
from cinder.services.auth import TokenService
from cinder.store import open_store
from cinder.store.documents import Store
from tests.store.samples import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_store(url, pool_size=2, observe=lambda *_: None, clock=clock) as opened:
        yield opened


@pytest.fixture
def callers(store: Store, clock: Clock) -> TokenService:
    return TokenService(store.tokens, clock)


def page(caller: str, url: str = "https://example.com/") -> ScrapeRequest:
    return ScrapeRequest(url=url, caller=caller)


async def test_who_sends_a_token_is_known_by_it(callers: TokenService) -> None:
    made = await callers.create("ci", [TokenScope.READ])

    caller = await callers.identify(made.secret)

    assert caller is not None
    assert caller.id == made.token.id
    assert caller.may(TokenScope.READ)
    assert not caller.may(TokenScope.SCRAPE)


async def test_admin_may_everything(callers: TokenService) -> None:
    made = await callers.create("root", [TokenScope.ADMIN])

    assert all(made.token.caller.may(scope) for scope in TokenScope)


@pytest.mark.parametrize(
    "secret", ["", "cinder_", "cinder_" + "x" * 43, "\x00\xff", "é" * 50, "cinder_" + "x" * 100_000]
)
async def test_what_is_no_token_is_nobodys(callers: TokenService, secret: str) -> None:
    await callers.create("ci", EVERYDAY_SCOPES)

    assert await callers.identify(secret) is None


async def test_the_secret_is_kept_nowhere(callers: TokenService, tmp_path: Path) -> None:
    made = await callers.create("ci", EVERYDAY_SCOPES)
    await callers.identify(made.secret)

    assert is_in_any_file(made.token.id, tmp_path)
    assert not is_in_any_file(made.secret, tmp_path)


def is_in_any_file(text: str, folder: Path) -> bool:
    return any(text.encode() in file.read_bytes() for file in folder.iterdir())


@pytest.mark.parametrize("name", ["", "-x", "a b", "x" * 65, "ä"])
async def test_a_name_that_will_not_do_is_refused(callers: TokenService, name: str) -> None:
    with pytest.raises(InvalidRequest, match="name"):
        await callers.create(name, EVERYDAY_SCOPES)


async def test_a_name_in_use_is_refused(callers: TokenService) -> None:
    await callers.create("ci", EVERYDAY_SCOPES)
    with pytest.raises(InvalidRequest, match="already"):
        await callers.create("ci", EVERYDAY_SCOPES)


async def test_a_revoked_token_is_nobodys_and_its_jobs_get_no_more_pages(
    callers: TokenService,
) -> None:
    made = await callers.create("ci", EVERYDAY_SCOPES)
    await callers.identify(made.secret)
    await callers.authorize(page(made.token.id))

    assert await callers.revoke("ci")

    assert await callers.identify(made.secret) is None
    with pytest.raises(Forbidden, match="revoked"):
        await callers.authorize(page(made.token.id))


async def test_a_token_for_some_domains_goes_no_further(callers: TokenService) -> None:
    policy = CallerPolicy(domains=("example.com",))
    made = await callers.create("ci", EVERYDAY_SCOPES, policy)

    await callers.authorize(page(made.token.id, "https://docs.example.com/a"))
    for url in ("https://example.org/", "https://notexample.com/", "https://example.com.evil.test"):
        with pytest.raises(Forbidden, match=r"only from example\.com"):
            await callers.authorize(page(made.token.id, url))


async def test_the_owners_logins_are_not_for_others(callers: TokenService) -> None:
    made = await callers.create("ci", EVERYDAY_SCOPES)
    render = RenderOptions(profile=Profile.MASTER)

    await callers.authorize(replace(page(OWNER), render=render))
    with pytest.raises(Forbidden, match="logged in as the owner"):
        await callers.authorize(replace(page(made.token.id), render=render))


async def test_a_days_pages_are_counted_until_midnight(callers: TokenService, clock: Clock) -> None:
    policy = CallerPolicy(pages_per_day=2)
    made = await callers.create("ci", EVERYDAY_SCOPES, policy)
    for _ in range(2):
        await callers.spend_page(made.token.id, policy)

    with pytest.raises(RateLimited, match="2 pages fetched a day") as refused:
        await callers.spend_page(made.token.id, policy)

    wait = refused.value.retry_after_seconds
    assert wait is not None
    clock.move_on(timedelta(seconds=wait + 1))
    await callers.spend_page(made.token.id, policy)


async def test_when_a_token_was_last_used_is_told(callers: TokenService, clock: Clock) -> None:
    made = await callers.create("ci", EVERYDAY_SCOPES)
    assert [token.last_used_at for token in await callers.list_tokens()] == [None]

    await callers.identify(made.secret)

    moment = clock().replace(microsecond=123_000)
    assert [token.last_used_at for token in await callers.list_tokens()] == [moment]
