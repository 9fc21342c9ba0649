"""Sites without end, or with nothing but lures, for crawls to walk into."""

from collections.abc import Callable

from tests.hostile.case import OK, Bounds, Case, Task, cases_of

_MANY = 200_000
_LURES = (
    "http://{canary}/",
    "//{canary}/",
    "http://localhost:{canary_port}/",
    "http://169.254.169.254/",
    "file:///etc/passwd",
    "javascript:fetch('http://{canary}/')",
    "data:text/html,x",
    "mailto:a@b",
    "http://[",
    "/redirect/302/0",
    "/redirect/307/11",
    "/endless/loop",
    "/slow/drip",
    "/too-large/gzip-bomb",
    "/pdf/zeros",
    "/doc/zip-bomb",
)


def _links(*places: str) -> str:
    return "".join(f'<p>Words of <a href="{place}">a link</a></p>' for place in places)


# What each page of a site says; the number is the page's own.
TRAPS: dict[str, Callable[[int], str]] = {
    "calendar": lambda n: _links(f"/trap/calendar/{n + 1}", f"/trap/calendar/{n - 1}"),
    "tree": lambda n: _links(*(f"/trap/tree/{n * 10 + each}" for each in range(10))),
    "query": lambda n: _links(*(f"/trap/query/{n}?a={n + each}&b={each}" for each in range(50))),
    "fragments": lambda n: _links(*(f"/trap/fragments/{n}#{each}" for each in range(1_000))),
    "growing-path": lambda n: _links("x/" * (n % 50 + 1) + str(n + 1)),
    "sessions": lambda n: _links(f"/trap/sessions/1?PHPSESSID={n * 7919}", "/trap/sessions/2"),
    "many-links": lambda n: "".join(
        f'<a href="/trap/many-links/{n}{i}">l</a>' for i in range(_MANY)
    ),
    "many-hosts": lambda n: _links(*(f"http://h{n}-{i}.invalid/" for i in range(5_000))),
    "long-links": lambda n: _links(
        *("/trap/long-links/" + "a" * 7_000 + str(i) for i in range(99))
    ),
    "lures": lambda n: _links(*_LURES),
    "canonical-canary": lambda n: (
        f'<link rel=canonical href="http://{{canary}}/">{_links("/trap/canonical-canary/2")}'
    ),
    "base-canary": lambda n: f'<base href="http://{{canary}}/">{_links("x", "y")}',
    "no-index": lambda n: f"<meta name=robots content='noindex, nofollow'>{_links('/plain')}",
}


def trap_cases() -> list[Case]:
    """Return a crawl into each of the sites."""
    crawls = [
        {
            "url": f"http://{{site}}/trap/{name}/1",
            "maxDepth": 20,
            "maxPages": 5,
            "scope": "host",
            "delay": 0,
        }
        for name in TRAPS
    ]
    return cases_of("trap", crawls, OK, task=Task.CRAWL, bounds=Bounds(seconds=60))
