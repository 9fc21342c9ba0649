"""Pages to be judged: what real walls, shells, errors and pages look like, each with its verdict.

Those in `tuning` were in sight while the signs of verdicts were written. Those in `kept_apart` were
written before, are of vendors and page families that `tuning` has none of, and are there to measure
by: a rule is never fitted to one of them.
"""

from tests.site.verdict_pages.reading import VerdictPage, read_pages
from tests.site.verdict_pages.serving import answer_verdict_page

__all__ = ["VerdictPage", "answer_verdict_page", "read_pages"]
