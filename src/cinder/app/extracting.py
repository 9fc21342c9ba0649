"""Extraction, built of the sandbox, the language model if there is one, and scraping."""

from dataclasses import dataclass

from cinder.app.llm import ConfiguredModel
from cinder.config import ExtractSettings
from cinder.metrics import Metrics
from cinder.services.extraction.asking import ModelAsker
from cinder.services.extraction.extractor import AskedModel, Extractor
from cinder.services.extraction.hand_off import HandOffMaker
from cinder.services.extraction.memory import FindingsMemory
from cinder.services.extraction.model_stage import ModelStage
from cinder.services.extraction.recipe_learning import RecipeLearner
from cinder.services.extraction.recipe_stage import RecipeStage
from cinder.services.extraction.rules_stage import RulesStage
from cinder.services.extraction.service import ExtractLimits, ExtractService
from cinder.services.page_scraping import PageScraper
from cinder.services.sandbox.sandbox import ExtractionSandbox
from cinder.services.scraping.service import ScrapeService
from cinder.store.recipe_base import RecipeBook, RecipeLimits


@dataclass(frozen=True, slots=True)
class RecipeBasis:
    """What recipes are kept in, and where it is counted what becomes of them."""

    book: RecipeBook
    metrics: Metrics


def make_extractor(
    settings: ExtractSettings,
    sandbox: ExtractionSandbox,
    configured: ConfiguredModel | None,
    recipes: RecipeBasis,
) -> Extractor:
    """Return what finds values on pages; its stages stand in the order in which they are tried."""
    rules = RulesStage(sandbox)
    return Extractor(
        stages=[_recipe_stage(settings, sandbox, recipes), rules] if settings.recipes else [rules],
        model=_asked_model(sandbox, configured) if configured else None,
        memory=FindingsMemory(settings.held_values),
        learner=_learner(settings, sandbox, recipes) if settings.recipes else None,
    )


def _recipe_stage(
    settings: ExtractSettings, sandbox: ExtractionSandbox, recipes: RecipeBasis
) -> RecipeStage:
    return RecipeStage(
        sandbox,
        recipes.book,
        max_failures=settings.recipe_max_failures,
        count=recipes.metrics.count_recipe,
    )


def _learner(
    settings: ExtractSettings, sandbox: ExtractionSandbox, recipes: RecipeBasis
) -> RecipeLearner:
    return RecipeLearner(
        sandbox,
        recipes.book,
        limits=RecipeLimits(most=settings.max_recipes, days=settings.recipe_days),
        count=recipes.metrics.count_recipe,
    )


def make_extract_service(
    settings: ExtractSettings,
    extractor: Extractor,
    sandbox: ExtractionSandbox,
    scrape: ScrapeService,
) -> ExtractService:
    """Return the service that answers what callers want to know of pages."""
    return ExtractService(
        reader=PageScraper(scrape, at_once=settings.max_concurrency),
        extractor=extractor,
        hand_offs=HandOffMaker(sandbox),
        limits=ExtractLimits(max_urls=settings.max_urls, max_bytes=settings.max_output_bytes),
    )


def _asked_model(sandbox: ExtractionSandbox, configured: ConfiguredModel) -> AskedModel:
    return AskedModel(
        name=configured.model.name,
        stage=ModelStage(ModelAsker(configured.model, sandbox, configured.chunk_tokens)),
        limits=configured.limits,
    )
