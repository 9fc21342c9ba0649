"""Many more inputs for every parser than the tests have time for."""

from collections.abc import Callable

from tests.fuzz.properties import PROPERTIES, Property
from tests.fuzz.proxying import proxy_property

_PROXY_SHARE = 100


def soak_parsers(examples: int, say: Callable[[str], None]) -> list[str]:
    """Try so many inputs on each parser, of the proxy a hundredth; return what went wrong."""
    problems = [found for fact in PROPERTIES if (found := _try(fact, examples))]
    found = _try(proxy_property(), max(examples // _PROXY_SHARE, 1))
    say(f"Parsers: {examples} inputs for each of {len(PROPERTIES)}")
    return [*problems, *([found] if found else [])]


def _try(fact: Property, examples: int) -> str | None:
    try:
        fact.try_examples(examples)
    except Exception as error:  # noqa: BLE001 - whatever a parser raises is what is looked for
        return f"{fact.name}: {error!r} {' '.join(getattr(error, '__notes__', ()))}"
    return None
