"""A caller's pages share a context that is cleared in between; nobody else gets it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cinder.fetch.base import FetchTask
from cinder.fetch.browser.context import Context, Purpose
from cinder.fetch.browser.engine import BrowserFetcher
from cinder.model.request import Action, ActionType, ProxyTier, RenderOptions
from tests.fetch.browser.conftest import browser_settings
from tests.fetch.browser.runtime import Runtime, open_runtime
from tests.site import Site

CALLER = Purpose(caller="owner")


# One browser: a second starts where the first has not been cleared up in time for the next page.
ONE = {"worker_pool_max_size_per_process": 1}


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(browser_settings(tmp_path, **ONE)) as opened:
        yield opened


async def current_context(runtime: Runtime, purpose: Purpose = CALLER) -> Context:
    """Return the context that the next page would be in."""
    async with runtime.pool.borrow_tab(purpose) as opened:
        assert opened.context is not None
        opened.is_tidy = True
        return opened.context


async def render(runtime: Runtime, task: FetchTask) -> str:
    page = await BrowserFetcher(ProxyTier.BASIC, runtime.parts).fetch(task)
    return page.body.decode()


def a_task(site: Site, path: str) -> FetchTask:
    return FetchTask(url=site.url(path), timeout_seconds=20)


async def test_pages_of_a_caller_share_a_context_and_find_nothing_in_it(
    runtime: Runtime, website: Site
) -> None:
    context = await current_context(runtime)
    for _ in range(3):
        text = await render(runtime, a_task(website, "/marks"))
        assert 'Found: ["",0,0,"",2,0,0]' in text
    assert await current_context(runtime) is context
    assert len(runtime.browsers()) == 1


async def test_another_caller_gets_another_context(runtime: Runtime) -> None:
    context = await current_context(runtime)
    assert await current_context(runtime, Purpose(caller="other")) is not context


@pytest.mark.parametrize(
    "change",
    [
        {"is_private": True},
        {"render": RenderOptions(actions=(Action(type=ActionType.WAIT, milliseconds=1),))},
    ],
)
async def test_what_came_with_secrets_or_actions_is_in_no_shared_context(
    runtime: Runtime, website: Site, change: dict[str, object]
) -> None:
    context = await current_context(runtime)
    await render(runtime, replace(a_task(website, "/marks"), **change))  # type: ignore[arg-type] # fields of a task
    assert await current_context(runtime) is not context


async def test_a_page_with_frames_of_another_site_takes_its_context_with_it(
    runtime: Runtime, website: Site, elsewhere: Site
) -> None:
    for address, is_kept in ((website.url("/article"), True), (elsewhere.url("/article"), False)):
        context = await current_context(runtime)
        await render(runtime, a_task(website, f"/frame-of?address={address}"))
        assert (await current_context(runtime) is context) is is_kept


async def test_a_page_that_keeps_its_process_busy_takes_its_context_with_it(
    runtime: Runtime, website: Site
) -> None:
    context = await current_context(runtime)
    await render(runtime, a_task(website, "/lingers"))
    assert await current_context(runtime) is not context
    assert "Ember care" in await render(runtime, a_task(website, "/article"))


async def test_a_context_is_made_anew_after_its_last_page(tmp_path: Path) -> None:
    async with open_runtime(browser_settings(tmp_path, **ONE, context_max_pages=2)) as runtime:
        contexts = [await current_context(runtime) for _ in range(4)]
    assert contexts[0] is contexts[1]
    assert contexts[1] is not contexts[2]
    assert contexts[2] is contexts[3]
