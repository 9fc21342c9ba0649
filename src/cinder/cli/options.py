"""Command-line flags derived from the options that a request declares."""

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cinder.errors import InvalidRequest
from cinder.models.options import Option, options_of

Command = Callable[..., None]

WholeAnswer = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")]


def takes_options(
    request: type,
    *,
    without: Collection[str] = (),
    flags: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Command], Command]:
    """Return a decorator that adds the flags of a request's options to a command.

    The command receives the options that are set as keyword arguments, by their names on the wire.

    Args:
        request: the dataclass that declares the options.
        without: the names of the options that the command does not offer.
        flags: by option, the flags that the command names in its own way.
    """
    options: dict[str, tuple[Option, tuple[str, ...]]] = {}
    for option in options_of(request):
        if option.flags is not None and option.name not in without:
            names = (flags or {}).get(option.name) or flags_of(option)
            options[names[0].lstrip("-").replace("-", "_")] = option, names

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**arguments: Any) -> None:  # Any: what the flags hold
            for name, (option, _) in options.items():
                value = arguments.pop(name)
                # Flags that are not set: a switch is False, a list is empty.
                if value is not None and value is not False and value != []:
                    arguments[option.name] = not option.default if value is True else value
            command(**arguments)

        hints = get_type_hints(command, include_extras=True)
        parameters = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(command).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        parameters += [_make_parameter(name, *described) for name, described in options.items()]
        # Typer reads both.
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # functions have it
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def flags_of(option: Option) -> tuple[str, ...]:
    """Return the flags of an option that the command line offers."""
    kebab = "".join(f"-{char.lower()}" if char.isupper() else char for char in option.name)
    return option.flags or (f"--no-{kebab}" if option.default is True else f"--{kebab}",)


def _make_parameter(name: str, option: Option, flags: tuple[str, ...]) -> inspect.Parameter:
    kind: Any = next(
        (kind for kind in (bool, int, float) if kind in (option.type, *get_args(option.type))), str
    )
    if option.is_list:
        kind = list[str]
    is_switch = kind is bool
    described = typer.Option(*flags, help=option.flag_help or option.sentence)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if is_switch else None,
        annotation=Annotated[kind if is_switch else kind | None, described],
    )


def parse_headers(lines: list[str]) -> dict[str, str]:
    """Return the headers that the command line names.

    Raises:
        InvalidRequest: one of them has no colon.
    """
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise InvalidRequest.at("--header", f"Expected 'Name: value', received {line!r}")
        headers[name.strip()] = value.strip()
    return headers


def parse_actions(texts: list[str]) -> list[Any]:  # Any: the API validates them
    """Return the actions that the command line names.

    Raises:
        InvalidRequest: one of them is not JSON.
    """
    actions = []
    for text in texts:
        try:
            actions.append(json.loads(text))
        except (ValueError, RecursionError):
            raise InvalidRequest.at("--action", f"Expected JSON, received {text[:100]!r}") from None
    return actions


def read_json_file(path: Path, flag: str) -> Any:  # Any: the API validates it
    """Return the JSON in a file that the command line names.

    Raises:
        InvalidRequest: it is not JSON.
        OSError: it cannot be read.
    """
    try:
        return json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise InvalidRequest.at(flag, f"{path} is not valid JSON: {error}") from None


def parse_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a scrape as they are sent: headers, actions and the schema parsed.

    Raises:
        InvalidRequest: a header has no colon, or an action or the schema is not JSON.
        OSError: the file of the schema cannot be read.
    """
    parsers: dict[str, Callable[[Any], Any]] = {
        "headers": parse_headers,
        "actions": parse_actions,
        "extractSchema": lambda path: read_json_file(Path(path), "--extract-schema"),
    }
    return {
        name: parsers[name](value) if name in parsers else value for name, value in options.items()
    }
