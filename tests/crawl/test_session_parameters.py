"""Parameters that say nothing of the page."""

import pytest

from cinder.crawl.session_parameters import is_noise, without_session


@pytest.mark.parametrize(
    "parameter",
    [
        "utm_campaign=spring",
        "fbclid=IwAR0",
        "msclkid",
        "mc_eid=1",
        "PHPSESSID=x",
        "ASPSESSIONIDQQ=x",
        "sid=0123456789abcdef0123456789abcdef",
        "session_id=aB3dE6gH9jK2mN5pQ8sT1vW4",
    ],
)
def test_tracking_and_sessions_are_noise(parameter: str) -> None:
    assert is_noise(parameter)


@pytest.mark.parametrize(
    "parameter", ["id=1", "ref=x", "source=y", "sid=42", "s=shoes", "session=keynote-on-day-one"]
)
def test_what_may_choose_a_page_is_kept(parameter: str) -> None:
    assert not is_noise(parameter)


def test_paths_lose_their_session() -> None:
    assert without_session("/a;jsessionid=1F.node2/b;v=1") == "/a/b;v=1"
    assert without_session("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx") == "/orders.aspx"
    assert without_session("/wiki/Mercury_(planet)/x") == "/wiki/Mercury_(planet)/x"
