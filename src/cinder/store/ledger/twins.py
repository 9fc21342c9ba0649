"""Twins: pages of a job that have the same content, or nearly."""

from collections.abc import Sequence
from typing import NamedTuple

from cinder.model.job import ContentPrint
from cinder.store.joining import Stage
from cinder.store.ledger_base import IsNear
from cinder.store.procedure import Arguments, Procedure, Row, Statement

_MAX_CANDIDATES = 20

# Equal texts have equal keys; those that are too short for keys are only ever equal.
_SAME_CONTENT = """
SELECT url, content_exact, content_sketch FROM webhook.frontier
 WHERE job_id = $1 AND content_exact = $2 AND fate = 'fetched' ORDER BY id LIMIT 1
"""

_LIKE_CONTENT = """
SELECT f.url, f.content_exact, f.content_sketch FROM webhook.frontier_keys k
  JOIN webhook.frontier f ON f.id = k.page_id
 WHERE k.job_id = $1 AND k.key = ANY($3) AND f.fate = 'fetched'
 ORDER BY f.content_exact <> $2, f.id LIMIT $4
"""

# Each key is looked up by itself: PostgreSQL knows nothing of a table that fills up as fast as a
# crawl's does, and asked for all at once it reads every key of the job.
_KNOWN_KEYS = """
SELECT value AS key FROM unnest(CAST($2 AS BIGINT[])) AS value
 WHERE (SELECT page_id FROM webhook.frontier_keys
         WHERE job_id = $1 AND key = value LIMIT 1) IS NOT NULL
"""


class _Kept(NamedTuple):
    """A page that was fetched, and what is kept of its content."""

    url: str
    exact: bytes
    sketch: bytes
    keys: frozenset[int] = frozenset()


class _Meeting:
    """Where pages that are settled together tell each other which of them are kept.

    The ledger does not say so yet: all look for their like before any is written down.
    """

    stage = Stage.MEET

    def meet(self) -> Statement:
        """Return what is answered with a list that all of them share, under `company`."""
        return Statement("", (), self)

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Let them meet."""
        yield from ()
        company: Row = {"company": []}
        return [[company]] * len(arguments)


class _Likenesses:
    """Looks for pages with nearly some content."""

    stage = Stage.FIND_LIKE

    def find(self, job_id: str, content: ContentPrint) -> Statement:
        """Return what looks for one page's."""
        args = (job_id, content.exact, list(content.keys), _MAX_CANDIDATES)
        return Statement(_LIKE_CONTENT, args, self)

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Look for those of several; most of them share no key with any page."""
        keys = [key for _, _, keys, _ in arguments for key in keys]
        rows = yield Statement(_KNOWN_KEYS, (arguments[0][0], keys))
        known = {row["key"] for row in rows}
        answers: list[Sequence[Row]] = [() for _ in arguments]
        for number, each in enumerate(arguments):
            if not known.isdisjoint(each[2]):
                answers[number] = yield Statement(_LIKE_CONTENT, each)
        return answers


_MEETING = _Meeting()
_LIKENESSES = _Likenesses()


def find_twin(
    url: str, job_id: str, content: ContentPrint, is_near: IsNear
) -> Procedure[str | None]:
    """Return the URL of a page that was fetched before with the same content, or nearly."""
    company: list[_Kept] = (yield _MEETING.meet())[0]["company"]
    if content.keys:
        rows = yield _LIKENESSES.find(job_id, content)
    else:
        rows = yield Statement(_SAME_CONTENT, (job_id, content.exact))
    known = [
        _Kept(row["url"], bytes(row["content_exact"]), bytes(row["content_sketch"])) for row in rows
    ]
    known += [
        kept for kept in company if kept.keys & set(content.keys) or kept.exact == content.exact
    ]
    for kept in known:
        if kept.exact == content.exact or is_near(kept.sketch, content.sketch):
            return kept.url
    company.append(_Kept(url, content.exact, content.sketch, frozenset(content.keys)))
    return None
