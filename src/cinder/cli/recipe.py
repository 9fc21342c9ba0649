"""`cinder recipe`: lists, shows and deletes learned extraction recipes."""

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.cli.backends import run_with_app
from cinder.cli.jobs import require_one_of
from cinder.cli.output import write_text

if TYPE_CHECKING:
    from cinder.app import App
    from cinder.models.document import Json
    from cinder.models.recipe import FieldRule, KeptRecipe

_MAX_FIELDS_CHARS = 60

recipe = typer.Typer(help="List, show and delete learned recipes.", no_args_is_help=True)
Id = Annotated[int, typer.Argument(help="The recipe's number.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@recipe.command("list")
def list_(
    site: Annotated[str | None, typer.Option(help="Only of this site: a host or a URL.")] = None,
    limit: Annotated[int, typer.Option(help="How many, at most 1000.", min=1, max=1000)] = 100,
    before: Annotated[int | None, typer.Option(help="Only those below this number.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the recipes, newest first."""
    found = run_with_app(lambda app: app.recipes.list_recipes(site, before_id=before, limit=limit))
    if as_json:
        shown: list[Json] = [describe_recipe(kept) for kept in found]
        write_text(json.dumps(shown, ensure_ascii=False, indent=2), None)
        return
    write_text("\n".join(map(format_recipe, found)) or "Nothing was learned yet.", None)
    if len(found) == limit:
        print(f"More: --before {found[-1].id}", file=sys.stderr)


@recipe.command()
def show(recipe_id: Id, as_json: AsJson = False) -> None:
    """Show where a recipe looks for each field."""
    found = run_with_app(lambda app: app.recipes.find(recipe_id))
    if found is None:
        print(f"There is no recipe {recipe_id}; it may have been dropped.", file=sys.stderr)
        raise typer.Exit(1)
    if as_json:
        write_text(json.dumps(describe_recipe(found), ensure_ascii=False, indent=2), None)
        return
    write_text("\n".join((format_recipe(found), *format_rules(found))), None)


@recipe.command()
def delete(
    recipe_ids: Annotated[list[int] | None, typer.Argument(help="Numbers of recipes.")] = None,
    site: Annotated[str | None, typer.Option(help="All of this site: a host or a URL.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every recipe of every site.")] = False,
) -> None:
    """Delete recipes; cinder learns them again from the next page."""
    require_one_of({"RECIPE_IDS": recipe_ids, "--site": site, "--all": every})

    async def work(app: "App") -> int:
        if recipe_ids:
            return await app.recipes.delete(recipe_ids)
        return await (app.recipes.delete_site(site) if site else app.recipes.delete_all())

    deleted = run_with_app(work)
    print(f"Deleted {deleted} {'recipe' if deleted == 1 else 'recipes'}")
    if recipe_ids and not deleted:
        raise typer.Exit(1)


def format_recipe(kept: "KeptRecipe") -> str:
    """Return a recipe as one line: number, pages, fields, and its success rate."""
    fields = kept.summary
    if len(fields) > _MAX_FIELDS_CHARS:
        fields = f"{fields[:_MAX_FIELDS_CHARS]}…"
    failing = f", failed {kept.failures} in a row" if kept.failures else ""
    owner = "" if kept.place.owner is None else f", only for {kept.place.owner}"
    return (
        f"{kept.id}  {kept.place.site}{kept.place.shape}  {fields}  "
        f"held on {kept.successes} of {kept.uses} pages{failing}, "
        f"last tried {kept.used_at:%Y-%m-%d}{owner}"
    )


def format_rules(kept: "KeptRecipe") -> Iterator[str]:
    """Yield the rules of a recipe as lines, field by field."""
    yield f"learned from {kept.learned_from} on {kept.created_at:%Y-%m-%d}"
    for rule in kept.recipe.fields:
        yield f"  {_format_field(rule)}"
    for records in kept.recipe.lists:
        place = f"{records.selector!r}" + (f" under {records.label!r}" if records.label else "")
        yield f"  {'.'.join(records.path)}[]: each {place}"
        for rule in records.fields:
            yield f"    {_format_field(rule)}"


def _format_field(rule: "FieldRule") -> str:
    locators = []
    for locator in rule.locators:
        text = repr(locator.selector) if locator.selector else "all of it"
        if locator.attribute:
            text = f"{locator.attribute} of {text}"
        context = {
            "after label": locator.label,
            "after": locator.before,
            "before": locator.after,
        }
        locators.append(" ".join([text, *(f"{word} {t!r}" for word, t in context.items() if t)]))
    name = ".".join(rule.path) or "value"
    parsed = f", read as {rule.format}" if rule.format else ""
    return f"{name}: {' and '.join(locators)}{parsed}"


def describe_recipe(kept: "KeptRecipe") -> "dict[str, Json]":
    """Return a recipe as JSON."""
    from cinder.models.recipe import recipe_to_json

    return {
        "id": kept.id,
        "site": kept.place.site,
        "shape": kept.place.shape,
        "wish": kept.place.wish,
        "owner": kept.place.owner,
        "fields": kept.summary,
        "learnedFrom": kept.learned_from,
        "createdAt": kept.created_at.isoformat(),
        "usedAt": kept.used_at.isoformat(),
        "uses": kept.uses,
        "successes": kept.successes,
        "failuresInARow": kept.failures,
        "recipe": recipe_to_json(kept.recipe),
    }
