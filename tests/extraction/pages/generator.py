"""Makes the pages: every kind by every template, the same for the same seed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from tests.extraction.pages.commerce_records import catalogue, course, device, product, release
from tests.extraction.pages.facts import Page, Record
from tests.extraction.pages.held_out_templates import HELD_OUT
from tests.extraction.pages.people_records import article, event, job, place, profile, recipe
from tests.extraction.pages.schemas import SCHEMAS
from tests.extraction.pages.tuned_templates import TUNED, Template

MAKERS: tuple[Callable[[Random], Record], ...] = (
    *(product, event, profile, job, recipe, device, catalogue, article, place, course, release),
)
PAGES_BY_TEMPLATE = 2
_LEFT_OUT = 0.12
# A price says its currency as well.
_KEPT = ("currency",)


def generate_pages(seed: int = 7, *, is_held_out: bool) -> list[Page]:
    """Return the pages of the tuned or of the held-out templates."""
    templates = HELD_OUT if is_held_out else TUNED
    return [page for template in templates for page in _pages_of(template, seed, is_held_out)]


def _pages_of(template: Template, seed: int, is_held_out: bool) -> Iterator[Page]:
    name = template.__name__
    for maker in MAKERS:
        for number in range(PAGES_BY_TEMPLATE):
            rng = Random(f"{seed} {name} {maker.__name__} {number}")
            record = _with_gaps(maker(rng), rng)
            yield Page(
                kind=record.kind,
                template=name,
                is_held_out=is_held_out,
                url=f"https://site.example/{record.kind}/{name}/{number}",
                html=template(record, rng),
                schema=SCHEMAS[record.kind],
                truth={key: value for key, value in record.truth.items() if key},
            )


def _with_gaps(record: Record, rng: Random) -> Record:
    """Leave some facts out, as real pages do: what is not there must not be found."""
    kept = tuple(fact for fact in record.facts if rng.random() >= _LEFT_OUT or fact.name in _KEPT)
    return replace(record, facts=kept)
