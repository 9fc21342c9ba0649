"""Speed of extraction: pages a CPU second of cinder, its sandbox included, and of peers."""

import statistics
import sys
import tempfile
from pathlib import Path

from bench.contestant import PEERS_PYTHON
from bench.extraction import RESILIPARSE, TRAFILATURA, TRAFILATURA_FAST, Extractor, run_extractor
from bench.runs import Goal, Table, report

DATASET = "wcxb"
PAGES = 300
ROUNDS = 5
CINDER = Extractor("cinder", Path(sys.executable), "cinder")
# The order is that of a round.
EXTRACTORS = (CINDER, TRAFILATURA, TRAFILATURA_FAST, RESILIPARSE)
# As fast as a machine that does nothing else should be.
AT_LEAST = 80
GOALS = (Goal(CINDER.name, TRAFILATURA.name, 4),)


async def bench_extraction_speed(data: Path, sample: int | None) -> None:
    """Print how many pages a second of CPU each contestant reads."""
    if not (data / DATASET).exists():
        print(f"extraction speed: not measured, {data} has no pages: name their folder by DATA=")
        return
    if not PEERS_PYTHON.exists():
        print(
            f"extraction speed: not measured, {PEERS_PYTHON} is missing: `make bench` installs it"
        )
        return
    count = sample or PAGES
    rates: dict[str, list[float]] = {extractor.name: [] for extractor in EXTRACTORS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for extractor in EXTRACTORS:
                made = await run_extractor(extractor, data, count, Path(folder), DATASET)
                rates[extractor.name].append(made.pages_per_second)
    medians = {name: statistics.median(each) for name, each in rates.items()}
    title = f"extraction of {count} WCXB pages (goal {AT_LEAST} for cinder, aim 100)"
    report(Table("extraction-speed", title, "pages a CPU second", medians, GOALS))
