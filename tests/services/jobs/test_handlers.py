"""The handler of a crawl: which links it follows, and which pages are duplicates."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from cinder.crawl.scope import ScopeKind, ScopeRules
from cinder.crawl.sitemaps import SitemapUse
from cinder.errors import CacheFailed
from cinder.models.document import CrawlHints, Media, PageMetadata, Verdict, VerdictKind
from cinder.models.job import Job, JobKind, JobStatus, NewPage, PageResult, PageStatus
from cinder.services.jobs.handlers import CrawlHandler, PageOutcome
from cinder.services.jobs.site_files import RobotsCache, SitemapReader
from cinder.services.jobs.specs import CrawlSpec, Deduplication, Following
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store.documents import Store
from tests.services.jobs.samples import HOST, WORDS, TableFetcher, a_lease, an_outcome
from tests.store.ledger.samples import a_job, a_page, claim_one, commit_page, ledger_of, the_job

SITEMAP = b"<urlset><loc>https://site.test/a</loc><loc>https://other.test/b</loc></urlset>"


def a_spec(**scope: object) -> CrawlSpec:
    rules = ScopeRules(**{"max_depth": 3, **scope})  # type: ignore[arg-type]  # by the caller
    return CrawlSpec(url=f"{HOST}/", scope=rules)


def make(
    store: Store,
    spec: CrawlSpec | None = None,
    fetcher: TableFetcher | None = None,
    templates: dict[str, int] | None = None,
) -> CrawlHandler:
    fetcher = fetcher or TableFetcher({})
    new = a_job()
    job = Job(
        id="job",
        kind=JobKind.CRAWL,
        owner="owner",
        status=JobStatus.RUNNING,
        spec=msgspec.to_builtins(spec or a_spec()),
        created_at=new.expires_at,
        expires_at=new.expires_at,
        max_pages=10,
    )
    sitemaps = SitemapReader(RobotsCache(store.ledger, fetcher), fetcher)
    return CrawlHandler(job, store.ledger, sitemaps, templates or {}, timeout_ms=5_000)


def found(page_outcome: PageOutcome) -> dict[str, PageStatus | None]:
    return {page.url.removeprefix(HOST): page.fate for page in page_outcome.found}


def with_document(outcome: ScrapeOutcome, **changes: object) -> ScrapeOutcome:
    document = replace(outcome.document, **changes)  # type: ignore[arg-type]  # by the caller
    return replace(outcome, document=document)


def with_hints(outcome: ScrapeOutcome, hints: CrawlHints) -> ScrapeOutcome:
    return with_document(outcome, content=replace(outcome.document.content, hints=hints))


def robots_meta(robots: str) -> PageMetadata:
    return PageMetadata(robots=robots)


def test_links_are_taken_with_their_fates_at_first_sight(store: Store) -> None:
    handler = make(store, a_spec(exclude=("/private",)))
    links = ("/a", "/a#part", "https://other.test/x", "/private/x", "/film.mp4", "/")
    page_outcome = handler.read(a_lease(), an_outcome(links=links))

    assert found(page_outcome) == {
        "/a": None,
        "https://other.test/x": PageStatus.OUTSIDE,
        "/private/x": PageStatus.OUTSIDE,
        "/film.mp4": PageStatus.OUTSIDE,
    }
    assert {page.depth for page in page_outcome.found} == {2}
    assert all(page.reason for page in page_outcome.found if page.fate)


def test_what_stands_in_the_ledger_is_not_brought_again(store: Store) -> None:
    handler = make(store)
    page_outcome = handler.read(a_lease(), an_outcome(links=("/a", "/b")))
    handler.committed(page_outcome)

    again = handler.read(a_lease("/a", depth=2), an_outcome("/a", links=("/a", "/b", "/c")))
    assert found(again) == {"/c": None}


def test_links_of_a_page_whose_fate_was_not_written_down_are_brought_again(store: Store) -> None:
    handler = make(store)
    page = an_outcome(links=("/a?page=1", "/b"))
    first = handler.read(a_lease(), page)

    assert handler.read(a_lease(), page).found == first.found


def test_a_link_is_counted_once_however_often_it_is_met_before_it_is_written(
    store: Store,
) -> None:
    handler = make(store)
    calendar = tuple(f"/calendar?date=2025-01-{day:02}" for day in range(1, 29))
    for _ in range(5):
        page_outcome = handler.read(a_lease(), an_outcome(links=calendar))

    assert set(found(page_outcome).values()) == {None}


def test_what_is_too_deep_is_taken_when_it_is_met_nearer(store: Store) -> None:
    handler = make(store)
    deep = handler.read(a_lease("/x", depth=3), an_outcome("/x", links=("/a",)))
    handler.committed(deep)
    as_deep = handler.read(a_lease("/y", depth=3), an_outcome("/y", links=("/a",)))
    nearer = handler.read(a_lease("/z", depth=2), an_outcome("/z", links=("/a",)))

    assert found(deep) == {"/a": PageStatus.OUTSIDE}
    assert found(as_deep) == {}
    assert found(nearer) == {"/a": None}


def test_spaces_without_end_are_bounded_also_by_what_others_took(store: Store) -> None:
    links = tuple(f"/calendar?date=2025-01-{day:02}" for day in range(1, 29))
    (template,) = {
        page.template for page in make(store).read(a_lease(), an_outcome(links=links)).found
    }
    page_outcome = make(store, templates={template: 40}).read(a_lease(), an_outcome(links=links))

    fates = list(found(page_outcome).values())
    assert (fates.count(None), fates.count(PageStatus.TRAP)) == (10, 18)
    trapped = next(page for page in page_outcome.found if page.fate is PageStatus.TRAP)
    assert trapped.reason.startswith("more than 50 URLs like ")


@pytest.mark.parametrize(
    ("robots", "is_followed"),
    [("noindex", True), ("nofollow", False), ("none", False), ("otherbot: nofollow", True)],
)
def test_links_are_not_followed_where_the_page_asks_for_that(
    store: Store, robots: str, is_followed: bool
) -> None:
    outcome = an_outcome(links=("/a",), metadata=robots_meta(robots))
    (link,) = make(store).read(a_lease(), outcome).found

    assert link.fate is (None if is_followed else PageStatus.OUTSIDE)
    assert ("nofollow" in link.reason) is not is_followed


def test_links_marked_nofollow_are_followed_only_on_request(store: Store) -> None:
    hints = CrawlHints(nofollow=(f"{HOST}/a",))
    page = with_hints(an_outcome(links=("/a", "/b")), hints)
    spec = replace(a_spec(), follow=(Following.NOFOLLOW,))

    assert found(make(store).read(a_lease(), page)) == {"/a": PageStatus.OUTSIDE, "/b": None}
    assert found(make(store, spec).read(a_lease(), page)) == {"/a": None, "/b": None}


def test_a_link_that_one_page_marks_nofollow_is_followed_from_another(store: Store) -> None:
    handler = make(store)
    marked = with_hints(an_outcome(links=("/a",)), CrawlHints(nofollow=(f"{HOST}/a",)))
    handler.committed(handler.read(a_lease(), marked))
    again = handler.read(a_lease(), marked)
    plain = handler.read(a_lease("/b", depth=2), an_outcome("/b", links=("/a",)))

    assert found(again) == {}
    assert found(plain) == {"/a": None}


def test_frames_refreshes_and_neighbours_are_links(store: Store) -> None:
    hints = CrawlHints(
        pages=(f"{HOST}/frame", f"{HOST}/page/2"),
        languages=(f"{HOST}/de/",),
        feeds=(f"{HOST}/feed.xml",),
    )
    page = with_hints(an_outcome(), hints)
    spec = replace(a_spec(), follow=(Following.LANGUAGES, Following.FEEDS))

    assert set(found(make(store).read(a_lease(), page))) == {"/frame", "/page/2"}
    assert set(found(make(store, spec).read(a_lease(), page))) == {
        *("/frame", "/page/2", "/de/", "/feed.xml")
    }


def test_pages_of_the_sitemaps_alone_come_without_links(store: Store) -> None:
    spec = replace(a_spec(), sitemap=SitemapUse.ONLY)

    assert make(store, spec).read(a_lease(), an_outcome(links=("/a",))).found == ()


def test_links_are_ranked_by_how_close_they_are_to_the_start(store: Store) -> None:
    spec = replace(a_spec(kind=ScopeKind.DOMAIN), url=f"{HOST}/docs/")
    links = ("/", "https://www.site.test/", "/docs/a", "/docs", "/documents/")
    pages = make(store, spec).read(a_lease("/docs/"), an_outcome("/docs/", links=links)).found
    ranks = {page.url.removeprefix(HOST): page.rank for page in pages}

    assert ranks["/docs/a"] == ranks["/docs"] < ranks["/"] == ranks["/documents/"]
    assert ranks["/"] < ranks["https://www.site.test/"]


def test_a_page_that_names_another_as_its_own_address_is_its_duplicate(store: Store) -> None:
    metadata = PageMetadata(canonical=f"{HOST}/a")
    page = an_outcome("/a?ref=x1", links=("/b",), metadata=metadata)
    page_outcome = make(store).read(a_lease("/a?ref=x1", depth=2), page)

    assert page_outcome.result.canonical is not None
    assert page_outcome.result.canonical.url == f"{HOST}/a"
    assert found(page_outcome) == {"/a": None, "/b": None}
    assert [page.depth for page in page_outcome.found] == [2, 3]


def test_a_deepest_page_that_links_to_its_own_address_has_it_taken_once(store: Store) -> None:
    metadata = PageMetadata(canonical=f"{HOST}/a")
    page = an_outcome("/a?ref=x1", links=("/a",), metadata=metadata)
    page_outcome = make(store).read(a_lease("/a?ref=x1", depth=3), page)

    assert [(page.depth, page.fate) for page in page_outcome.found] == [
        (3, None),
        (4, PageStatus.OUTSIDE),
    ]


@pytest.mark.parametrize("canonical", [f"{HOST}/", "https://other.test/a", "", f"{HOST}/b#x"])
def test_an_address_that_cannot_be_the_pages_own_is_not_believed(
    store: Store, canonical: str
) -> None:
    page = an_outcome("/b", metadata=PageMetadata(canonical=canonical))

    assert make(store).read(a_lease("/b"), page).result.canonical is None


def test_a_file_is_no_page_of_the_crawl(store: Store) -> None:
    outcome = with_document(an_outcome("/a"), media=Media("application/zip", b"PK"))
    result = make(store).read(a_lease("/a"), outcome).result

    assert (result.fate, result.reason) == (
        PageStatus.OUTSIDE,
        "a file, not a page (application/zip)",
    )


@pytest.mark.parametrize("kind", [VerdictKind.SOFT_404, VerdictKind.HTTP_ERROR])
def test_a_page_that_is_none_has_failed_and_says_why(store: Store, kind: VerdictKind) -> None:
    outcome = with_document(an_outcome("/a"), verdict=Verdict(kind, "Page not found"))
    result = make(store).read(a_lease("/a"), outcome).result

    assert (result.fate, result.reason, result.verdict) == (
        PageStatus.FAILED,
        "Page not found",
        kind,
    )


def test_a_redirect_gives_the_page_its_last_address(store: Store) -> None:
    outcome = with_document(an_outcome("/old", links=("/new", "/b")), final_url=f"{HOST}/new")
    page_outcome = make(store).read(a_lease("/old", depth=2), outcome)

    assert page_outcome.result.landed_on is not None
    assert page_outcome.result.landed_on.url == f"{HOST}/new"
    assert page_outcome.result.landed_on.depth == 2
    assert found(page_outcome) == {"/b": None}


def test_an_address_that_only_looks_different_is_no_redirect(store: Store) -> None:
    outcome = with_document(an_outcome("/a"), final_url=f"{HOST}:443/a?utm_source=x#top")

    assert make(store).read(a_lease("/a"), outcome).result.landed_on is None


def test_redirects_out_of_the_scope_are_refused(store: Store) -> None:
    handler = make(store, a_spec(exclude=("/private",)))

    assert handler.refuse_landing(a_lease("/a"), f"{HOST}/b") is None
    assert handler.refuse_landing(a_lease("/a"), "https://other.test/") is not None
    assert (
        handler.refuse_landing(a_lease("/a"), f"{HOST}/private") == "excluded by pattern '/private'"
    )
    assert handler.refuse_landing(a_lease("/a"), "mailto:someone") == "no web address"


def nearness(handler: CrawlHandler, path: str) -> Callable[[bytes, bytes], bool]:
    page_outcome = handler.read(a_lease(path), an_outcome(path))
    assert page_outcome.is_near is not None
    return page_outcome.is_near


def print_of(handler: CrawlHandler, markdown: str, path: str = "/a") -> PageResult:
    return handler.read(a_lease(path), an_outcome(path, markdown=markdown)).result


def test_pages_whose_links_alone_differ_have_the_same_content(store: Store) -> None:
    handler = make(store)
    one = print_of(handler, f"{WORDS} [next](/calendar?date=2025-01-01)")
    other = print_of(handler, f"{WORDS} [next](/calendar?date=2025-01-02)")

    assert one.content is not None
    assert one.content == other.content


def test_short_texts_tell_only_that_an_index_file_is_its_folder(store: Store) -> None:
    handler = make(store)
    one, same, other = (
        print_of(handler, "Please log in", path).content for path in ("/a/", "/a/index.html", "/b/")
    )

    assert one == same != other


@pytest.mark.parametrize("path", ["/releases/1.3.5.html", "/list?page=2", "/2024/05/"])
def test_only_pages_of_the_same_text_are_duplicates_by_default(store: Store, path: str) -> None:
    handler = make(store)
    one, other = (print_of(handler, f"{WORDS * 30} {end}", path).content for end in "ab")

    assert one is not None
    assert other is not None
    assert one.exact != other.exact
    assert not nearness(handler, path)(one.sketch, other.sketch)


def test_no_page_is_a_duplicate_where_they_are_not_looked_for(store: Store) -> None:
    page = make(store, replace(a_spec(), deduplicate=Deduplication.OFF)).read(
        a_lease(), an_outcome()
    )

    assert (page.is_near, page.result.content) == (None, None)


def test_pages_of_endless_lists_are_the_same_sooner_than_others(store: Store) -> None:
    handler = make(store, replace(a_spec(), deduplicate=Deduplication.NEAR))
    words = [f"word{number}" for number in range(300)]
    changed = [*words[:40], *(f"other{number}" for number in range(8)), *words[48:]]
    one, other = (print_of(handler, " ".join(text)).content for text in (words, changed))
    assert one is not None
    assert other is not None

    assert nearness(handler, "/calendar?date=2025-01-01")(one.sketch, other.sketch)
    assert not nearness(handler, "/essay")(one.sketch, other.sketch)


async def test_the_pages_of_the_sitemaps_are_as_deep_as_what_the_start_links_to(
    store: Store,
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")], is_seeded=False)
    handler = make(store, fetcher=TableFetcher({f"{HOST}/sitemap.xml": SITEMAP}))
    await handler.seed()

    pages = await ledger_of(store)
    assert (pages["/a"].depth, pages["/a"].fate) == (2, None)
    assert pages["https://other.test/b"].fate is PageStatus.OUTSIDE
    assert (await the_job(store)).is_seeded


async def test_seeds_that_could_not_be_written_are_not_lost(store: Store) -> None:
    handler = make(store, fetcher=TableFetcher({f"{HOST}/sitemap.xml": SITEMAP}))
    with pytest.raises(CacheFailed):
        await handler.seed()  # there is no such job yet
    await store.ledger.add_job(a_job(), [a_page("/")], is_seeded=False)
    await handler.seed()

    assert "/a" in await ledger_of(store)


async def test_a_crawl_of_one_page_reads_no_sitemap(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")], is_seeded=False)
    fetcher = TableFetcher({f"{HOST}/sitemap.xml": SITEMAP})
    await make(store, a_spec(max_depth=1), fetcher).seed()

    assert not fetcher.asked
    assert (await the_job(store)).is_seeded


async def test_a_crawl_that_got_a_page_has_completed(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")])
    await commit_page(store, await claim_one(store))
    await make(store).end()

    assert (await the_job(store)).status is JobStatus.COMPLETED


@pytest.mark.parametrize("fate", [PageStatus.FAILED, PageStatus.DISALLOWED, PageStatus.OUTSIDE])
async def test_a_crawl_that_got_no_page_has_failed_and_says_why(
    store: Store, fate: PageStatus
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")])
    await commit_page(store, await claim_one(store), PageResult(fate=fate, reason="it is so"))
    await make(store).end()

    job = await the_job(store)
    assert (job.status, job.error) == (
        JobStatus.FAILED,
        f"{HOST}/ could not be fetched: it is so",
    )


def test_a_crawl_asks_for_the_time_between_requests_that_it_was_told(store: Store) -> None:
    spec = replace(a_spec(), delay_ms=700)

    assert (make(store, spec).least_delay_ms, make(store).least_delay_ms) == (700, 0)


def test_pages_are_new_to_the_ledger_under_their_canonical_addresses(store: Store) -> None:
    links = ("/a?b=2&a=1&utm_source=x", "/a?a=1&b=2")
    (page,) = make(store).read(a_lease(), an_outcome(links=links)).found

    assert isinstance(page, NewPage)
    assert (page.host, len(page.fingerprint)) == (HOST, 16)
