"""Options: what every surface knows of an option, declared once at the field that holds it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, get_args, get_origin


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a request: `field: Annotated[type, Option("A sentence.")] = default`."""

    sentence: str
    """What it does, in the API's description, on the command line and in the docs."""
    name: str = ""
    """Its name on the wire; the field's name in camelCase by default."""
    bounds: Mapping[str, float | bool] | None = None
    """The keywords of `pydantic.Field` that bound its value."""
    hint: str | None = None
    """A shorter sentence for tool lists, which language models pay for; `sentence` by default."""
    in_tools: bool = True
    """Whether tool lists show the option. Tools accept it in any case."""
    flags: tuple[str, ...] | None = ()
    """On the command line; `--name` or, where it is on by default, `--no-name`. None for none."""
    flag_help: str = ""
    """The help text of the flag; `sentence` by default."""

    # `options_of` sets these.
    attribute: str = ""
    """The path of the field within the request."""
    type: Any = None  # Any: a type form has no type
    default: Any = None

    def read(self, request: object) -> Any:  # Any: the value of the field
        """Return the option's value in a request."""
        return attrgetter(self.attribute)(request)

    @property
    def is_list(self) -> bool:
        """Whether the option takes several values."""
        return get_origin(self.type) is tuple


@cache
def options_of(request: type) -> tuple[Option, ...]:
    """Return the options of a request in order, those of its nested dataclasses included."""
    return tuple(_find_options(request, ""))


def _find_options(request: type, prefix: str) -> Iterator[Option]:
    for field in fields(request):
        kind, attribute = field.type, prefix + field.name
        if isinstance(kind, type) and is_dataclass(kind):
            yield from _find_options(kind, f"{attribute}.")
        elif get_origin(kind) is Annotated:
            first, *rest = field.name.split("_")
            camel = first + "".join(map(str.capitalize, rest))
            for option in get_args(kind)[1:]:
                yield replace(
                    option,
                    name=option.name or camel,
                    attribute=attribute,
                    type=get_args(kind)[0],
                    default=field.default,
                )
