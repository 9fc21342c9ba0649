"""Messages of the sandbox about a page's branding and its linked style sheets."""

import json
from collections.abc import Mapping, Sequence

from cinder.html.branding import find_stylesheets, read_branding
from cinder.models.document import FetchedPage, Json
from cinder.sandbox.messages import MalformedMessage, Message

STYLESHEETS = "stylesheets"
BRANDING = "branding"


def stylesheets_job(page: FetchedPage) -> Message:
    """Ask which style sheets a page links to."""
    return Message(STYLESHEETS, _describe(page), (page.body,))


def branding_job(page: FetchedPage, sheets: Sequence[str]) -> Message:
    """Ask for a page's branding, given the style sheets that it links to."""
    samples = json.dumps(page.style_samples).encode()
    texts = (sheet.encode("utf-8", "replace") for sheet in sheets)
    return Message(BRANDING, _describe(page), (page.body, samples, *texts))


def answer_stylesheets(job: Message) -> Message:
    """Find the style sheets of the page that a job carries."""
    header = job.header
    found = find_stylesheets(
        job.parts[0], content_type=str(header["content_type"]), url=str(header["url"])
    )
    return Message("stylesheets", {"addresses": list(found)})


def answer_branding(job: Message) -> Message:
    """Read the branding of the page that a job carries."""
    body, samples, *sheets = job.parts
    branding = read_branding(
        body,
        content_type=str(job.header["content_type"]),
        url=str(job.header["url"]),
        sheets=[sheet.decode() for sheet in sheets],
        samples=json.loads(samples),
    )
    return Message("branding", {"branding": branding})


def read_stylesheets(message: Message) -> list[str]:
    """Return the addresses that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    addresses = message.header.get("addresses")
    if not isinstance(addresses, list):
        raise MalformedMessage("The addresses cannot be read")
    return [str(address) for address in addresses]


def read_brand(message: Message) -> Mapping[str, Json]:
    """Return the branding that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    branding = message.header.get("branding")
    if not isinstance(branding, dict):
        raise MalformedMessage("The branding cannot be read")
    return branding


def _describe(page: FetchedPage) -> dict[str, Json]:
    return {"content_type": page.headers.get("content-type", ""), "url": page.final_url}
