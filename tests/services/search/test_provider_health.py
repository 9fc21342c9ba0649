from cinder.services.search.provider_health import REMEMBERED_SECONDS, ProviderHealth
from tests.services.search.doubles import Hand


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
