import pytest

from cinder.model.request import Action, ActionType, Profile, RenderOptions, ScrapeRequest

URL = "https://site.example/page"


@pytest.mark.parametrize(
    "request_",
    [
        ScrapeRequest(url=URL, headers=(("Authorization", "Basic dTpw"),)),
        ScrapeRequest(url=URL, headers=(("Cookie", "a=b"),)),
        ScrapeRequest(url=URL, headers=(("X-Api-Key", "a"),)),
        ScrapeRequest(url=f"{URL}?a=1&token=abc"),
        ScrapeRequest(url=f"{URL}?X-Amz-Signature=abc"),
        ScrapeRequest(url=URL, render=RenderOptions(profile=Profile.MASTER)),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(
                actions=(Action(type=ActionType.WRITE, selector="#password", text="a"),)
            ),
        ),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(actions=(Action(type=ActionType.PRESS, key="a"),)),
        ),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(
                actions=(Action(type=ActionType.EXECUTE_JAVASCRIPT, script="logIn()"),)
            ),
        ),
    ],
)
def test_what_only_this_caller_may_open_is_his_alone(request_: ScrapeRequest) -> None:
    assert request_.is_private


@pytest.mark.parametrize(
    "request_",
    [
        ScrapeRequest(url=URL),
        ScrapeRequest(url=f"{URL}?page=2&sort=new"),
        ScrapeRequest(url=URL, headers=(("Accept-Language", "de"),)),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(actions=(Action(type=ActionType.SCROLL, direction="down"),)),
        ),
    ],
)
def test_what_everybody_gets_is_everybodys(request_: ScrapeRequest) -> None:
    assert not request_.is_private
