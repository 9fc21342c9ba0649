"""An engine that answers with pages like those of html.duckduckgo.com."""

from html import escape
from urllib.parse import quote

from tests.search_servers.serving import Asked, Reply, SearchServer
from tests.search_servers.web import Web, WebPage

PAGE_SIZE = 10
PATH = "/html/"
_DAYS = {"d": 1, "w": 7, "m": 31, "y": 365}
_HTML = "text/html; charset=UTF-8"
_AD = """<div class="result results_links results_links_deep result--ad ">
<div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=ads.example">
Buy embers</a></h2><a class="result__snippet" href="#">Ad</a></div></div>"""
CHALLENGE = Reply(
    b"""<!DOCTYPE html><html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js">
<div class="anomaly-modal__mask"><div class="anomaly-modal__title">Unfortunately, bots use
DuckDuckGo too.</div></div></form></body></html>""",
    _HTML,
    202,
)


class DuckDuckGoServer(SearchServer):
    """DuckDuckGo without scripts: who asks for a page that no form led to is a bot."""

    def __init__(self, web: Web) -> None:
        super().__init__()
        self.web = web

    @property
    def html_url(self) -> str:
        return f"{self.url}{PATH}"

    def answer(self, asked: Asked) -> Reply:
        fields = asked.parameters
        query, start = fields.get("q", ""), int(fields.get("s", 0))
        if asked.path != PATH or not query or query.startswith("!"):
            return Reply(b"", _HTML, 303, {"Location": "https://elsewhere.example/"})
        if (start and fields.get("vqd") != _token(query)) or len(query) >= 500:
            return CHALLENGE
        found = self.web.find(query, max_days=_DAYS.get(fields.get("df", "")))
        return Reply(_page(query, found, start, fields.get("df", "")).encode(), _HTML)


def _page(query: str, found: list[WebPage], start: int, period: str) -> str:
    shown = found[start : start + PAGE_SIZE]
    results = "".join(_result(page) for page in shown)
    nothing = '<div class="no-results">No results.</div>' if not shown else ""
    following = start + PAGE_SIZE
    form = _next_form(query, following, period) if following < len(found) else ""
    return f"""<!DOCTYPE html><html><head><title>{escape(query)} at DuckDuckGo</title></head><body>
<form id="search_form" action="/html/" method="post"><input name="q" value="{escape(query)}">
</form><div class="serp__results"><div id="links" class="results">{_AD}{results}{nothing}{form}
</div></div></body></html>"""


def _result(page: WebPage) -> str:
    link = f"//duckduckgo.com/l/?uddg={quote(page.url, safe='')}&amp;rut=0123456789abcdef"
    return f"""<div class="result results_links results_links_deep web-result ">
<div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="{link}">{escape(page.title)}</a></h2>
<div class="result__extras"><a class="result__url" href="{link}">{page.host}</a></div>
<a class="result__snippet" href="{link}"><b>…</b> {escape(page.text)}</a>
<div class="clear"></div></div></div>"""


def _next_form(query: str, start: int, period: str) -> str:
    fields = {
        "q": query,
        "s": str(start),
        "nextParams": "",
        "v": "l",
        "o": "json",
        "dc": str(start + 1),
        "api": "d.js",
        "vqd": _token(query),
        "kl": "wt-wt",
        **({"df": period} if period else {}),
    }
    inputs = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}" />'
        for name, value in fields.items()
    )
    submit = '<input type="submit" class="btn btn--alt" value="Next" />'
    form = f'<form action="/html/" method="post">{submit}{inputs}</form>'
    return f'<div class="nav-link">{form}</div>'


def _token(query: str) -> str:
    return f"4-{sum(query.encode())}"
