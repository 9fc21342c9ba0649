"""The process's limit of open files: how many connections it leaves room for."""

import resource

import structlog

log = structlog.get_logger()

# For the database, fetches through the egress proxy, browsers and parsers.
_OTHER_FILES = 2048


def fit_connections(max_connections: int, accepted_at_once: int) -> int:
    """Raise the limit of open files as far as needed and allowed; return what fits under it.

    Without a free descriptor the event loop accepts nothing for a second, again and again.
    """
    # With a request under way, and as many again without one.
    needed = 2 * max_connections + accepted_at_once + _OTHER_FILES
    limit = _raise_limit(needed)
    if limit >= needed:
        return max_connections
    room = limit - min(_OTHER_FILES, limit // 2) - accepted_at_once
    fitting = min(max_connections, max(1, room // 2))
    log.warning(
        "this process may open too few files for its connections: raise `ulimit -n`",
        open_files=limit,
        needed=needed,
        max_connections=fitting,
    )
    return fitting


def _raise_limit(needed: int) -> int:
    """Raise the soft limit towards the hard one; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return needed if soft == resource.RLIM_INFINITY else soft
