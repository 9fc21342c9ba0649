"""Verdicts on saved pages: how many are right, walls called `ok`, and alarms on ordinary pages."""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinder.documents.page_content import extract_content
from cinder.fetch.responses import media_type
from cinder.models.document import FetchedPage, FetchSource, Verdict, VerdictKind
from cinder.models.request import ExtractOptions
from cinder.verdicts.verdict import judge

BAR_RIGHT, MAX_WALLS_OK, MAX_ALARMS = 0.95, 0.02, 0.002
ORDINARY = ("wcxb", "aeb", "languages")
_WALLS = ("blocked", "login_wall", "consent_only", "paywall", "soft_404", "js_shell")
_HALVES = ("tuned", "held-out")
# Saved pages whose text was gathered from a wall.
_SAVED_WALLS = {
    "0551": "Anubis",
    "4441": "the post stops in its middle",
    "7ab16ade32386ece353b8d31fc3bb7e660189efd5bf3c8549aaba101ad3f5ef5": "a paid text",
}
_MIN_SHARE_OF_TRUTH = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled page with cinder's verdict on it."""

    id: str
    family: str
    label: str
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        return self.verdict.kind == self.label

    @property
    def half(self) -> str:
        """One half of the families is for tuning; the other shows what the tuning is worth."""
        return _HALVES[hashlib.sha256(self.family.encode()).digest()[0] % 2]


async def bench_verdicts(data: Path, sample: int | None) -> None:
    """Print the verdicts on labelled pages, and the alarms on ordinary ones."""
    manifest = data / "verdicts/manifest.jsonl"
    if not manifest.exists():
        print(f"verdicts: not measured, {manifest} is missing: name the folder of pages by DATA=")
        return
    pages = [json.loads(line) for line in manifest.read_text("utf-8").splitlines()][:sample]
    judged = [_judge_labelled(page, manifest.parent) for page in pages]
    for half in _HALVES:
        _print_scores(half, [page for page in judged if page.half == half])
    _print_scores("all", judged)
    print(f"verdicts: bars: right {BAR_RIGHT}, walls ok {MAX_WALLS_OK:.0%}, bot walls ok 0")
    for page in judged:
        # The errors of the other half are not for tuning.
        if not page.is_right and page.half == _HALVES[0]:
            reason = page.verdict.evidence[:90]
            print(f"  {page.id} of {page.family}: {page.label} as {page.verdict.kind} ({reason})")
    for dataset in ORDINARY:
        if (data / dataset / "truth.jsonl.gz").exists():
            _print_alarms(dataset, _judge_ordinary(data / dataset, sample))


def _judge_labelled(page: Mapping[str, Any], folder: Path) -> Judged:  # Any: JSON of a manifest
    site = "https://site.example"
    body = gzip.decompress((folder / page["file"]).read_bytes())
    verdict = _judge(
        body,
        url=site + page["path"],
        final_url=site + page.get("redirect_to", page["path"]),
        status_code=page["status"],
        headers=page["headers"],
    )
    return Judged(page["id"], page["repo"], page["label"], verdict)


@dataclass(frozen=True, slots=True)
class Ordinary:
    """A page of real content with cinder's verdict, and whether the saved page has the content."""

    id: str
    verdict: Verdict
    has_content: bool


def _judge_ordinary(folder: Path, sample: int | None) -> Iterator[Ordinary]:
    with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in list(lines)[:sample]:
            truth = json.loads(line)
            body = gzip.decompress((folder / "html" / f"{truth['id']}.html.gz").read_bytes())
            url = truth["url"] or "https://site.example/page"
            verdict = _judge(body, url=url, final_url=url, status_code=200, headers={})
            words = set((truth["text"] or "").split())
            found = words.intersection(body.decode("utf-8", "replace").replace("<", " <").split())
            has_content = bool(words) and len(found) / len(words) >= _MIN_SHARE_OF_TRUTH
            yield Ordinary(truth["id"], verdict, has_content and truth["id"] not in _SAVED_WALLS)


def _judge(
    body: bytes, *, url: str, final_url: str, status_code: int, headers: Mapping[str, str]
) -> Verdict:
    """Judge a response as the static engine's answers are judged, sandbox and network aside."""
    named = {name.lower(): value for name, value in headers.items()}
    page = FetchedPage(
        url=url,
        final_url=final_url,
        status_code=status_code,
        headers={"content-type": "text/html"} | named,
        body=body,
        source=FetchSource.NATIVE,
        strategy="native",
    )
    if media_type(page):
        return judge(page, None)
    content = extract_content(
        body, content_type=page.headers["content-type"], url=final_url, options=ExtractOptions()
    )
    return judge(page, content if content.text is not None else None)


def _print_scores(name: str, pages: Iterable[Judged]) -> None:
    pages = list(pages)
    walls = [page for page in pages if page.label in _WALLS]
    missed = Counter(page.label for page in walls if page.verdict.kind is VerdictKind.OK)
    right = sum(page.is_right for page in pages)
    print(
        f"verdicts: {name}: {right} of {len(pages)} right ({right / max(1, len(pages)):.3f}), "
        f"{missed.total()} of {len(walls)} walls called ok, {missed['blocked']} of them bot walls"
    )


def _print_alarms(name: str, pages: Iterable[Ordinary]) -> None:
    pages = list(pages)
    alarms = [page for page in pages if page.verdict.kind is not VerdictKind.OK]
    false = sum(page.has_content for page in alarms)
    print(
        f"verdicts: {false} false alarms on {len(pages)} pages of {name} "
        f"({false / max(1, len(pages)):.2%}, bar {MAX_ALARMS:.1%}); {len(alarms) - false} of the "
        "saved pages are without their content, and are judged so"
    )
    for page in alarms:
        state = "false" if page.has_content else "right"
        print(f"  {state} {page.id}: {page.verdict.kind} ({page.verdict.evidence[:110]})")
