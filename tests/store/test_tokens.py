"""Tokens, by the contract that both databases keep."""

from datetime import UTC, date, datetime, timedelta

import pytest

from cinder.models.caller import CallerPolicy, Token, TokenScope
from cinder.store.documents import Store
from cinder.store.tokens import TokenTaken
from tests.store.samples import Clock

DAY = date(2026, 3, 1)


def a_token(name: str = "ci", **changes: object) -> Token:
    fields = {
        "id": f"tok_{name}",
        "name": name,
        "scopes": frozenset({TokenScope.READ, TokenScope.SCRAPE}),
        "policy": CallerPolicy(domains=("example.com",), pages_per_day=3),
        "created_at": datetime(2026, 3, 1, 12, tzinfo=UTC),
    }
    return Token(**fields | changes)  # type: ignore[arg-type]  # by tests


async def test_a_token_is_found_by_its_hash_and_by_its_id(store: Store) -> None:
    await store.tokens.add(a_token(), "hash")

    assert await store.tokens.find("hash") == a_token()
    assert await store.tokens.find_by_id("tok_ci") == a_token()
    assert await store.tokens.find("another") is None
    assert await store.tokens.find_by_id("tok_other") is None


async def test_a_name_is_given_once(store: Store) -> None:
    await store.tokens.add(a_token(), "hash")

    with pytest.raises(TokenTaken):
        await store.tokens.add(a_token(id="tok_2"), "another")
    assert await store.tokens.find("another") is None


async def test_tokens_are_listed_by_name(store: Store) -> None:
    for name in ("research", "ci"):
        await store.tokens.add(a_token(name), f"hash of {name}")

    assert [token.name for token in await store.tokens.list_all()] == ["ci", "research"]


async def test_a_removed_token_is_gone_with_its_count(store: Store) -> None:
    await store.tokens.add(a_token(), "hash")
    await store.tokens.spend_page("tok_ci", DAY, 3)

    assert await store.tokens.remove("ci")
    assert not await store.tokens.remove("ci")
    assert await store.tokens.find("hash") is None


async def test_the_last_use_is_kept(store: Store, clock: Clock) -> None:
    await store.tokens.add(a_token(), "hash")
    clock.move_on(timedelta(hours=1))

    await store.tokens.note_use("tok_ci")

    found = await store.tokens.find("hash")
    assert found is not None
    assert found.last_used_at == clock().replace(microsecond=123_000)


async def test_a_day_has_so_many_pages_and_the_next_as_many_again(store: Store) -> None:
    await store.tokens.add(a_token(), "hash")

    first = [await store.tokens.spend_page("tok_ci", DAY, 3) for _ in range(5)]
    second = await store.tokens.spend_page("tok_ci", DAY + timedelta(days=1), 3)

    assert first == [True, True, True, False, False]
    assert second
    assert not await store.tokens.spend_page("tok_ci", DAY, 0)
