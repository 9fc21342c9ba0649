"""Signing in to the egress proxy: a context shows its credentials once, and then by itself."""

from cinder.egress import ProxyPass
from cinder.fetch.browser.connection import Message, Session


async def sign_in(session: Session, proxy_pass: ProxyPass) -> None:
    """Show a pass's credentials; the tab's context then sends them with all it asks for.

    Only requests that are watched can be answered for, and watching all of them would cost a
    round trip each. The proxy answers this URL itself.
    """
    url = proxy_pass.sign_in_url

    def let_pass(event: Message) -> None:
        session.post("Fetch.continueRequest", requestId=event["requestId"])

    def show(event: Message) -> None:
        session.post(
            "Fetch.continueWithAuth",
            requestId=event["requestId"],
            authChallengeResponse={
                "response": "ProvideCredentials",
                "username": proxy_pass.credentials.user,
                "password": proxy_pass.credentials.password,
            },
        )

    stop = (session.on("Fetch.requestPaused", let_pass), session.on("Fetch.authRequired", show))
    await session.send("Fetch.enable", handleAuthRequests=True, patterns=[{"urlPattern": url}])
    await session.send("Page.navigate", url=url)
    await session.send("Fetch.disable")
    for remove in stop:
        remove()
