"""The `srcset` attribute: a comma-separated list of image addresses with descriptors."""

from collections.abc import Iterator

_MAX_LENGTH = 65_536


def parse_srcset(value: str) -> list[tuple[str, str]]:
    """Return the (address, descriptor) pairs in order; an absurdly long list is cut."""
    return list(_candidates(value[:_MAX_LENGTH].split()))


def widest(candidates: list[tuple[str, str]]) -> str | None:
    """Return the address with the largest width or density, the first of equals."""
    return max(candidates, key=lambda pair: _size(pair[1]))[0] if candidates else None


def _candidates(tokens: list[str]) -> Iterator[tuple[str, str]]:
    # An address may hold commas; only one at its end separates, or one after a descriptor.
    address = ""
    for token in tokens:
        if address:
            descriptor, comma, rest = token.partition(",")
            if not comma and not descriptor:
                continue
            yield address, descriptor
            address = ""
            token = rest  # noqa: PLW2901 - what follows the comma is the next address
        token = token.lstrip(",")  # noqa: PLW2901 - the same
        if token.endswith(","):
            yield token.rstrip(","), ""
        else:
            address = token
    if address:
        yield address, ""


def _size(descriptor: str) -> float:
    try:
        return float(descriptor[:-1])
    except ValueError:
        return 0.0
