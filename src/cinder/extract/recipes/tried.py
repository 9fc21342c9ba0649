"""What trying recipes on a page gave."""

from dataclasses import dataclass

from cinder.model.extracted_data import ExtractedData
from cinder.model.recipe import Trial

MAX_RECIPES = 3
"""How many are tried on one page."""


@dataclass(frozen=True, slots=True)
class TriedRecipes:
    """What a page holds, and how each recipe fared that was tried for it."""

    extracted: ExtractedData
    trials: tuple[Trial, ...]
    """In the order of the recipes, up to the first that held."""
