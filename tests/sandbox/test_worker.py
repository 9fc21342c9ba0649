"""The sandbox's child process, called directly."""

import os
import subprocess
import sys

import pytest

from cinder.extraction.filling import extract_fields
from cinder.extraction.passage_ranking import rank_passages
from cinder.extraction.recipes.applying import extract_with_recipes
from cinder.html.branding import find_stylesheets, read_branding
from cinder.models.document import HtmlFacts, Json
from cinder.models.extraction import (
    ExtractedData,
    PassageQuery,
    QueriedField,
    RankedPassage,
    ValueSign,
)
from cinder.models.recipe import Recipe, RecipeTrials
from cinder.models.saved import Comparison
from cinder.sandbox.extraction_messages import (
    FieldsJob,
    LearnRecipeJob,
    PassagesJob,
    TryRecipesJob,
)
from cinder.sandbox.messages import (
    PREFIX_BYTES,
    BrandingJob,
    CompareJob,
    InspectJob,
    Message,
    SandboxJob,
    StylesheetsJob,
    read_sizes,
)
from cinder.text.diff import compare_texts
from tests.extraction.recipes.lessons import URL
from tests.extraction.recipes.test_learning import LAMP, product
from tests.site.brand import BRAND, BRAND_CSS

MEMORY_BYTES = 512 * 1024 * 1024
HTML = "text/html; charset=utf-8"


def run_worker(*messages: Message, parent_pid: int) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-m", "cinder.sandbox"]
    return subprocess.run(
        [*command, str(MEMORY_BYTES), str(parent_pid)],
        input=b"".join(piece for message in messages for piece in message.frame()),
        capture_output=True,
        check=False,
        timeout=60,
    )


def read_answers(raw: bytes) -> list[Message]:
    answers = []
    while raw:
        kind_bytes, content_bytes = read_sizes(raw[:PREFIX_BYTES])
        end = PREFIX_BYTES + kind_bytes
        answers.append(Message(raw[PREFIX_BYTES:end].decode(), raw[end : end + content_bytes]))
        raw = raw[end + content_bytes :]
    return answers


def answers_to(*jobs: SandboxJob) -> list[Message]:
    """Return what one worker answers to some jobs."""
    messages = [Message.of(job.kind, job) for job in jobs]
    ready, *answers = read_answers(run_worker(*messages, parent_pid=os.getpid()).stdout)
    assert ready.kind == "ready"
    assert [answer.kind for answer in answers] == ["result"] * len(jobs)
    return answers


def test_jobs_are_answered_in_order_until_the_input_ends() -> None:
    jobs = [Message.of("inspect", InspectJob(f"<h1>{n}</h1>", "")) for n in range(3)]
    done = run_worker(*jobs, parent_pid=os.getpid())
    ready, *answers = read_answers(done.stdout)
    assert (done.returncode, done.stderr, ready.kind) == (0, b"", "ready")
    assert [answer.read(HtmlFacts).title for answer in answers] == ["0", "1", "2"]


def test_a_job_that_makes_no_sense_fails_alone() -> None:
    done = run_worker(
        Message.of("extract", {"body": "x"}),
        Message.of("no such job", None),
        Message.of("inspect", InspectJob("<h1>x</h1>", "")),
        parent_pid=os.getpid(),
    )
    kinds = [answer.kind for answer in read_answers(done.stdout)]
    assert kinds == ["ready", "failed", "failed", "result"]


def test_a_worker_whose_parent_is_gone_does_not_start() -> None:
    done = run_worker(Message.of("inspect", InspectJob("<p>", "")), parent_pid=1)
    assert done.returncode == 1
    assert done.stdout == b""


@pytest.mark.parametrize("samples", [None, {"elements": [], "colours": {"red": 2}}])
def test_branding_is_read_from_the_sheets_of_a_page(samples: dict[str, Json] | None) -> None:
    body, page_url = BRAND.encode(), "https://example.com/"
    sheets, branding = answers_to(
        StylesheetsJob(body, "text/html", page_url),
        BrandingJob(body, "text/html", page_url, (BRAND_CSS, "\ud800"), samples),
    )
    found = find_stylesheets(body, content_type="text/html", url=page_url)
    assert tuple(sheets.read(list[str])) == found != ()
    assert branding.read(dict[str, Json]) == read_branding(
        body, content_type="text/html", url=page_url, sheets=(BRAND_CSS, "?"), samples=samples
    )


def test_texts_are_compared() -> None:
    pairs = [("a", "a"), ("ž\n\nb", "ž\n\nc\n\nd"), ("\ud800", "?")]
    answers = answers_to(*(CompareJob(before, after) for before, after in pairs))
    expected = [compare_texts(before.replace("\ud800", "?"), after) for before, after in pairs]
    assert [answer.read(Comparison) for answer in answers] == expected


def test_passages_are_ranked() -> None:
    markdown = "# Löwe\n\nThe price is 12 €."
    price = QueriedField(name="price", description="in euros", sign=ValueSign.FIGURE)
    query = PassageQuery(prompt="Wie teuer?", fields=(price, QueriedField(name="x")))
    (answer,) = answers_to(PassagesJob(markdown, query, 5))
    ranked = answer.read(tuple[RankedPassage, ...])
    assert ranked == rank_passages(markdown, query, 5)
    assert ranked[0].text == markdown


def test_fields_are_read_from_html_or_else_from_the_text() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {
            "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
    rows = "<table><tr><th>Price</th><td>$9</td></tr></table>"
    page, markdown = f"<p>Price: $12</p><p>Tags: a, b</p>{rows}", "Price: $12"
    html, *others = answers_to(
        FieldsJob(page, markdown, "text/html", URL, schema),
        FieldsJob(None, markdown, "application/pdf", URL, schema),
        FieldsJob("%PDF-1.7 …", markdown, "application/pdf", URL, schema),
        FieldsJob(markdown, None, "text/plain", URL, schema),
    )
    expected = extract_fields(page, markdown, url=URL, schema=schema)
    assert html.read(ExtractedData) == expected
    assert expected.conflicts
    assert len(expected.values) == 3
    assert [other.read(ExtractedData).data for other in others] == [{"price": 12}] * 3


def test_recipes_are_learned_from_html_and_tried() -> None:
    recipe, page = LAMP.learn(), product("Oak desk", "$1,340.00", "Nordhaus")
    learned, nothing, tried = answers_to(
        LearnRecipeJob(LAMP.html, LAMP.markdown, HTML, URL, LAMP.schema, tuple(LAMP.values)),
        LearnRecipeJob(LAMP.html, None, "text/plain", URL, LAMP.schema, tuple(LAMP.values)),
        TryRecipesJob(page, None, HTML, URL, LAMP.schema, (recipe,)),
    )
    assert learned.read(Recipe) == recipe
    assert nothing.read(Recipe) == Recipe()
    # Without a markdown, quotes are looked up in the page.
    expected = extract_with_recipes(page, page, url=URL, schema=LAMP.schema, recipes=[recipe])
    assert tried.read(RecipeTrials) == expected
