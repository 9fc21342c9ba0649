"""Positions: where a URL stands in the lists of its job, so that any part of one is read at once.

A job's URLs are numbered from 0 without gaps in each list that it may be asked for: all of them,
those of each fate, and those that could not be had. The numbers are given under the job's lock, so
a list only grows at its end. The expressions here are looked up in an index, and see what their
own transaction has written before.
"""

from cinder.model.job import ERROR_FATES

ERRORS = ", ".join(f"'{fate}'" for fate in ERROR_FATES)


def next_position(job: str) -> str:
    """Return SQL for the first free number among all URLs of a job."""
    return _next("position", f"numbered.job_id = {job}")


def next_fate_position(job: str, fate: str) -> str:
    """Return SQL for the first free number among a job's URLs of a fate."""
    where = f"numbered.job_id = {job} AND numbered.fate = {fate}"
    return _next("fate_position", f"{where} AND numbered.fate_position IS NOT NULL")


def next_error_position(job: str) -> str:
    """Return SQL for the first free number among a job's URLs that could not be had."""
    where = f"numbered.job_id = {job} AND numbered.error_position IS NOT NULL"
    return _next("error_position", where)


def _next(column: str, where: str) -> str:
    last = f"SELECT max(numbered.{column}) FROM webhook.frontier numbered WHERE {where}"  # noqa: S608
    return f"COALESCE(({last}) + 1, 0)"
