"""One set of limits for several workers."""

import re

import pytest

from cinder.app.settings import DIVIDED_SETTINGS, worker_share
from cinder.config.settings import Settings, read_settings

# What sounds like a limit of the server and is none: of one request or one host, or shared already.
_NOT_DIVIDED = {
    "egress.proxy_pools",
    "server.workers",
    "jobs.workers_per_job",
    "jobs.host_concurrency",
    "jobs.max_open",
    "jobs.max_open_per_caller",
}
_SOUNDS_SHARED = re.compile(
    r"concurrency|workers|connections|in_flight|pool|slots|streams|sessions|waiting|held|max_open"
    r"|queued|starting|spared"
)


@pytest.mark.parametrize("size", [1, 2, 3, 16])
def test_the_parts_add_up_to_the_whole_and_none_is_nothing(size: int) -> None:
    settings = read_settings(browser={"worker_pool_min_size_per_process": 1})
    parts = [worker_share(settings, number, size) for number in range(size)]
    for section, names in DIVIDED_SETTINGS.items():
        for name in names:
            whole = _value(settings, section, name)
            shares = [_value(part, section, name) for part in parts]
            if whole is None:
                assert set(shares) == {None}
                continue
            numbers = [share for share in shares if share is not None]
            assert sum(numbers) == max(whole, size)
            assert max(numbers) - min(numbers) <= 1


def test_zero_stays_zero() -> None:
    settings = read_settings(browser={"worker_pool_min_size_per_process": 0})
    assert worker_share(settings, 1, 2).browser.worker_pool_min_size_per_process == 0


def test_every_setting_that_sounds_like_a_limit_of_the_server_is_divided_or_known_not_to_be() -> (
    None
):
    sounding = {
        f"{section}.{name}"
        for section, field in Settings.model_fields.items()
        for name in getattr(field.annotation, "model_fields", {})
        if _SOUNDS_SHARED.search(name)
    }
    divided = {f"{section}.{name}" for section, names in DIVIDED_SETTINGS.items() for name in names}
    assert sounding - divided == _NOT_DIVIDED
    assert divided <= sounding


def _value(settings: Settings, section: str, name: str) -> int | None:
    value: int | None = getattr(getattr(settings, section), name)
    return value
