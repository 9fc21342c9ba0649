"""Lessons: pages with values from a model, and the recipes learned from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cinder.documents.page_content import extract_content
from cinder.extraction.recipes.applying import AppliedRecipe, RecipeReader
from cinder.extraction.recipes.learning import learn_recipe
from cinder.models.document import Json
from cinder.models.extraction import Evidence, FieldPath, FieldValue, Grounding, Method, QuotedText
from cinder.models.recipe import Recipe
from cinder.models.request import ExtractOptions

URL = "https://shop.example/lamps/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A page, a schema, and what a model found: values with the texts that it quoted."""

    html: str
    properties: Mapping[str, Json]
    said: Mapping[FieldPath, tuple[Json, str]] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Json]:
        return {"type": "object", "properties": self.properties}

    @property
    def markdown(self) -> str:
        return markdown_of(self.html)

    @property
    def values(self) -> list[FieldValue]:
        markdown = self.markdown
        return [quoted(path, value, quote, markdown) for path, (value, quote) in self.said.items()]

    def learn(self) -> Recipe:
        return learn_recipe(
            self.html, self.markdown, url=URL, schema=self.schema, values=self.values
        )

    def apply_to(self, html: str) -> AppliedRecipe:
        return apply(self.learn(), html, self.schema)


def quoted(path: FieldPath, value: Json, quote: str, markdown: str) -> FieldValue:
    """Return a value as a model's proved answer has it."""
    start = markdown.index(quote)
    evidence = Evidence(
        method=Method.MODEL,
        quote=quote,
        grounding=Grounding.VERIFIED if value == quote else Grounding.NORMALIZED,
        url=URL,
        text=QuotedText.MARKDOWN,
        start=start,
        end=start + len(quote),
    )
    return FieldValue(path=path, value=value, evidence=(evidence,))


def apply(recipe: Recipe, html: str, schema: Mapping[str, Json]) -> AppliedRecipe:
    return RecipeReader(html, markdown_of(html), url=URL, schema=schema).apply(recipe)


def markdown_of(html: str) -> str:
    content = extract_content(
        html.encode(), content_type="text/html; charset=utf-8", url=URL, options=ExtractOptions()
    )
    return content.markdown or ""


def values_of(applied: AppliedRecipe) -> dict[FieldPath, Json]:
    return {each.path: each.value for each in applied.values}
