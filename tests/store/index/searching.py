"""Saves many pages while searches run."""

import asyncio
import random
from dataclasses import dataclass, field

from cinder.errors import CinderError
from cinder.store.documents import Store
from tests.store.index.samples import find, save_page

SAVERS = 8
_SYLLABLES = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("ar", "en", "il", "ow")]
WORDS = [f"{first}{second}" for first in _SYLLABLES for second in _SYLLABLES]
# As in any language, few words are common and most are rare.
_WEIGHTS = [1 / (rank + 10) for rank in range(len(WORDS))]
_PAGE_WORDS = 400


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    problems: list[str] = field(default_factory=list)
    searches: int = 0


def page_text(number: int) -> str:
    """Return the text of a page, with a word that no other has."""
    words = random.Random(number).choices(WORDS, _WEIGHTS, k=_PAGE_WORDS)
    return f"{' '.join(words)} page{number}"


async def save_while_searching(store: Store, *, pages: int, searches_per_second: float) -> Outcome:
    """Save pages and search all the while; then look whether each page is found."""
    outcome, is_over = Outcome(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_search_until(is_over, store, searches_per_second, outcome))
        async with asyncio.TaskGroup() as savers:
            for first in range(SAVERS):
                savers.create_task(_save(store, range(first, pages, SAVERS), outcome))
        is_over.set()
    if (count := await store.index.count()) != pages:
        outcome.problems.append(f"{count} pages are in the index, not {pages}")
    for number in random.Random(1).sample(range(pages), min(pages, 200)):
        found = await find(store, f"page{number}")
        if [page.title for page in found] != [f"Page {number}"]:
            outcome.problems.append(f"page {number} is not found")
    return outcome


async def _save(store: Store, numbers: range, outcome: Outcome) -> None:
    for number in numbers:
        try:
            await save_page(store, f"p{number}", page_text(number), title=f"Page {number}")
        except CinderError as error:
            outcome.problems.append(f"page {number}: {error.code}: {error.message}")


async def _search_until(
    is_over: asyncio.Event, store: Store, per_second: float, outcome: Outcome
) -> None:
    """Begin a search every so often, whether or not those before have ended."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    async with asyncio.TaskGroup() as searches:
        while not is_over.is_set():
            searches.create_task(_search(store, outcome))
            due += 1 / per_second
            await asyncio.sleep(max(0, due - loop.time()))


async def _search(store: Store, outcome: Outcome) -> None:
    text = " ".join(random.Random(outcome.searches).sample(WORDS, 3))
    outcome.searches += 1
    try:
        await find(store, text, limit=10)
    except CinderError as error:
        outcome.problems.append(f"search: {error.code}: {error.message}")
