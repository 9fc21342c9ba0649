from cinder.models.request import OWNER
from cinder.search.base import ProviderQuery
from cinder.services.search.providers import REMEMBERED_SECONDS, LocalProvider, ProviderHealth
from tests.services.search.doubles import NOW, AllRights, Hand, MemoryIndex


def test_a_failure_is_remembered_for_a_while() -> None:
    health = ProviderHealth(clock := Hand())
    assert health.is_healthy("web")
    health.note_failure("web")
    assert not health.is_healthy("web")
    assert health.is_healthy("other")
    assert health.pause_left("web") == 0
    clock.seconds += REMEMBERED_SECONDS
    assert health.is_healthy("web")


def test_a_pause_lasts_as_long_as_the_provider_says_and_an_hour_at_most() -> None:
    health = ProviderHealth(clock := Hand())
    health.note_failure("web", 300)
    health.note_failure("eternal", 1e9)
    clock.seconds += 200
    assert health.pause_left("web") == 100
    assert not health.is_healthy("web")
    assert health.pause_left("eternal") == 3_400


def test_an_answer_makes_it_healthy_again() -> None:
    health = ProviderHealth(Hand())
    health.note_failure("web", 300)
    health.note_success("web")
    assert health.is_healthy("web")


async def test_saved_pages_are_hits_page_by_page() -> None:
    index = MemoryIndex()
    for number in range(5):
        index.add(f"https://a.example/{number}", f"Coals {number}", "Of coals.")
    provider = LocalProvider(index, AllRights())
    query = ProviderQuery(text="coals", caller=OWNER, page=1, count=2)
    found = await provider.search(query)
    assert [hit.url for hit in found] == ["https://a.example/2", "https://a.example/3"]
    assert (found[0].title, found[0].summary) == ("Coals 2", "Of coals.")
    assert found[0].first_seen_at == NOW
