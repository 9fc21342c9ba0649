"""How often verdicts are right, on pages fetched from the website, by families kept apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from cinder.app.composition import App
from cinder.errors import ScrapeFailed
from cinder.models.document import VerdictKind
from cinder.models.request import Mode, RenderOptions, ResultHandling, ScrapeRequest
from tests.site import Site
from tests.site.verdict_pages import VerdictPage, read_pages

ACCURACY = 0.95


@dataclass(frozen=True, slots=True)
class Judged:
    page: VerdictPage
    verdict: str
    evidence: str

    @property
    def is_right(self) -> bool:
        return self.verdict == self.page.verdict

    def __str__(self) -> str:
        page = self.page
        return f"{page.family}: {page.name} is {page.verdict}, not {self.verdict} ({self.evidence})"


async def judge_pages(app: App, site: Site, pages: Iterable[VerdictPage]) -> Sequence[Judged]:
    return [await judge_page(app, site, page) for page in pages]


async def judge_page(app: App, site: Site, page: VerdictPage) -> Judged:
    request = ScrapeRequest(
        url=site.url(page.asked),
        render=RenderOptions(mode=Mode.STATIC),
        keep_http_errors=True,
        result_handling=ResultHandling.RETURN_ONLY,
    )
    try:
        verdict = (await app.scrape.scrape(request)).document.verdict
    except ScrapeFailed as failure:
        return Judged(page, failure.verdict or "none", failure.message)
    return Judged(page, verdict.kind, verdict.evidence)


def report(wrong: Iterable[Judged]) -> str:
    return "\n".join(["", *map(str, wrong)])


@pytest.mark.parametrize("is_kept_apart", [True, False], ids=["kept apart", "tuning"])
async def test_verdicts_are_right_and_no_wall_is_taken_for_a_page(
    app: App, site: Site, is_kept_apart: bool
) -> None:
    pages = [page for page in read_pages() if page.is_kept_apart is is_kept_apart]
    judged = await judge_pages(app, site, pages)
    wrong = [one for one in judged if not one.is_right]
    assert 1 - len(wrong) / len(judged) >= ACCURACY, report(wrong)
    passed = [one for one in wrong if one.page.verdict == "blocked" and one.verdict == "ok"]
    assert not passed, report(passed)


def test_families_are_kept_apart_as_wholes_and_there_are_enough_of_them() -> None:
    pages = read_pages()
    kept = [page for page in pages if page.is_kept_apart]
    families = {page.family for page in kept}
    assert not families & {page.family for page in pages if not page.is_kept_apart}
    assert len(pages) >= 150
    assert len(kept) >= 60
    assert {page.verdict for page in kept} == set(VerdictKind)
    assert sum(page.verdict is VerdictKind.OK for page in kept) >= 8
