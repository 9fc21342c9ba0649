"""Crawl4AI's fit_markdown: what its crawler does with a page's HTML once a browser gave it."""

from crawl4ai import (  # type: ignore[import-not-found]  # it is not in cinder's environment
    CrawlerRunConfig,
    DefaultMarkdownGenerator,
    LXMLWebScrapingStrategy,
    PruningContentFilterLXML,
)

from bench.corpus import Page
from bench.prediction import Prediction, predict_each, task_of, task_parser


def main() -> None:
    scraping = LXMLWebScrapingStrategy()
    generator = DefaultMarkdownGenerator(content_filter=PruningContentFilterLXML())
    options = {name: value for name, value in vars(CrawlerRunConfig()).items() if name != "url"}

    def predict(page: Page, body: bytes) -> Prediction:
        html = body.decode("utf-8", "replace")
        cleaned = scraping.scrap(page.url, html, **options).cleaned_html
        return Prediction(
            text=generator.generate_markdown(input_html=cleaned, base_url=page.url).fit_markdown
        )

    predict_each(task_of(task_parser().parse_args()), predict)


main()
