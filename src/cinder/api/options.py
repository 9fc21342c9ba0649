"""Argument models derived from the options that a request declares."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType, NoneType
from typing import Annotated, Any, TypeVar, cast, get_args

from pydantic import Field, create_model
from pydantic.alias_generators import to_snake

from cinder.api.arguments import Arguments, StrictBool, StrictFloat, StrictInt
from cinder.models.options import Option, options_of

A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=object)


@dataclass(frozen=True, slots=True)
class WireForm:
    """How an option is written on the wire, where its type does not say it."""

    type: Any  # Any: a type form has no type
    to_value: Callable[[Any], Any] = tuple
    """Turns the argument into the value that the request holds."""
    default_factory: Callable[[], object] = list


WireForms = Mapping[str, WireForm]
_NO_FORMS: WireForms = MappingProxyType({})
_STRICT_TYPES: Mapping[Any, Any] = {bool: StrictBool, int: StrictInt, float: StrictFloat}


def with_options(
    request: type, *, forms: WireForms = _NO_FORMS, only: Collection[str] = ()
) -> Callable[[type[A]], type[A]]:
    """Return a decorator that adds a request's options to the fields of an argument model.

    Args:
        request: the dataclass that declares the options.
        forms: by name, the options whose type on the wire differs from the request's.
        only: the names of the options to add; all by default.
    """

    def add_options(model: type[A]) -> type[A]:
        added: dict[str, Any] = {
            to_snake(option.name): _make_field(option, forms.get(option.name))
            for option in options_of(request)
            if not only or option.name in only
        }
        about: dict[str, Any] = {
            "__doc__": model.__doc__,
            "__module__": model.__module__,
            # The model has read its docstrings, and an option has a sentence.
            "__cls_kwargs__": {"use_attribute_docstrings": False},
        }
        return create_model(model.__name__, __base__=model, **about, **added)

    return add_options


def _make_field(option: Option, form: WireForm | None) -> tuple[Any, Any]:
    bounds: dict[str, Any] = dict(option.bounds or {})
    if form is not None:
        default = Field(default_factory=form.default_factory, description=option.sentence)
        return form.type, default
    parts = get_args(option.type)
    if option.is_list:
        kind = Annotated[list[parts[0]], Field(**bounds)] if bounds else list[parts[0]]  # type: ignore[valid-type]  # computed
        return kind, Field(default_factory=list, description=option.sentence)
    is_optional = NoneType in parts
    kind = parts[0] if is_optional else option.type
    kind = _STRICT_TYPES.get(kind, kind)
    if bounds:
        kind = Annotated[kind, Field(**bounds)]
    default = Field(default=option.default, description=option.sentence)
    return (kind | None if is_optional else kind), default


def build_request(
    request: type[R], arguments: Arguments, forms: WireForms = _NO_FORMS, **values: object
) -> R:
    """Return the request that arguments make.

    Args:
        request: the dataclass that declares the options.
        arguments: a model that `with_options` made; options that it lacks have their defaults.
        forms: see `with_options`.
        values: the other fields of the request.
    """
    groups: dict[str, dict[str, Any]] = {"": dict(values)}
    for option in options_of(cast(type, request)):
        argument = to_snake(option.name)
        if option.attribute in values or argument not in type(arguments).model_fields:
            continue
        value = getattr(arguments, argument)
        if option.name in forms:
            value = forms[option.name].to_value(value)
        elif option.is_list:
            value = tuple(value)
        group, _, name = option.attribute.rpartition(".")
        groups.setdefault(group, {})[name] = value
    own = groups.pop("")
    # Any: mypy does not know that the request is a dataclass.
    kinds: dict[str, Any] = {each.name: each.type for each in fields(cast(Any, request))}
    return request(**own, **{name: kinds[name](**inner) for name, inner in groups.items()})
