"""The website's pages and its ill-behaved corners."""

import asyncio
import gzip
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from tests.site.brand import BRAND, BRAND_CSS
from tests.site.documents import DOCUMENTS
from tests.site.guide import GUIDE
from tests.site.plain import PLAIN
from tests.site.scripted import LATE_DATA, SCRIPTED
from tests.site.shop import WARES
from tests.site.verdict_pages import answer_verdict_page

BUILDS = Path(__file__).with_name("builds")

ARTICLE = """<!doctype html>
<html lang="en"><head>
<title>Ember care</title>
<meta name="description" content="How to keep a fire overnight.">
<meta name="author" content="Ada Stoker">
<meta name="keywords" content="fire, ash, ember">
<meta property="og:title" content="Ember care">
<meta property="article:published_time" content="2025-11-15T18:30:00Z">
<link rel="canonical" href="/article">
<script type="application/ld+json">{"@type": "Article", "headline": "Ember care"}</script>
</head><body>
<nav><a href="/">Home</a><a href="/about">About</a></nav>
<main><article class="post">
<h1>Ember care</h1>
<p>Cover the <a href="/coals?x=1">coals</a> with a thick layer of ash before you go to bed.</p>
<h2>In the morning</h2>
<p>Rake the ash aside, lay fine kindling on the glowing coals, and give the fire some air.</p>
<img src="/ember.png" alt="An ember">
<table><tr><th>Wood</th><th>Hours</th></tr><tr><td>Oak</td><td>9</td></tr></table>
</article></main>
<div id="ad">Buy matches now</div>
<footer>Copyright the stokers</footer>
</body></html>"""

WALL = """<!doctype html><title>Log in</title><h1>Log in</h1>
<p>You must be logged in to view this page.</p>
<form><input name="user"><input type="password" name="p"><button>Log in</button></form>
<script>document.cookie = 'member=yes'</script>"""

# A one-pixel PNG.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000000000005000159f2fbd60000000049454e44ae426082"
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"


def vast_page() -> str:
    """Return five megabytes of headings, links, images, tables, and words that JSON must escape."""
    words = 'Ash "keeps" a C:\\fire. ' * 60
    parts = "".join(
        f"<h2>Part {n}</h2><p>By Ada Stoker: <a href='/part?n={n}'>more</a> <img src='/{n}.png' "
        f"alt='An ember'> {words}</p><table><tr><th>Wood {n}</th><td>{n} hours</td></tr></table>"
        for n in range(3_200)
    )
    meta = "".join(f"<meta name='m{n}' content='{words[:200]}'>" for n in range(200))
    return f"<title>Vast {words}</title>{meta}<main><h1>Vast</h1>{parts}</main>"


class Pages:
    """The site's routes and the memory of who asked for what."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        self.headers: dict[str, dict[str, str]] = {}
        """What each page was last asked with."""
        self.release = asyncio.Event()
        self._asked = asyncio.Condition()

    def app(self) -> Starlette:
        async def counted(request: Request) -> Response:
            async with self._asked:
                self.hits[request.url.path] += 1
                self.headers[request.url.path] = dict(request.headers)
                self._asked.notify_all()
            name = request.path_params["name"]
            if name in SCRIPTED:
                return HTMLResponse(SCRIPTED[name])
            if (BUILDS / name).is_file() and ".." not in name:
                return FileResponse(BUILDS / name)
            if name.startswith("router/"):
                return FileResponse(BUILDS / "router" / "index.html")
            if judged := answer_verdict_page(request):
                return judged
            handler = getattr(self, name.replace("-", "_").replace(".", "_"), self.missing)
            response: Response = await handler(request)
            return response

        return Starlette(routes=[Route("/{name:path}", counted, methods=["GET", "POST", "HEAD"])])

    async def forget(self) -> None:
        """Be as if nobody had ever asked."""
        self.hits.clear()
        self.headers.clear()
        self.release.clear()

    async def wait_for(self, path: str) -> None:
        async with self._asked, asyncio.timeout(60):
            await self._asked.wait_for(lambda: self.hits[path] > 0)

    async def missing(self, request: Request) -> Response:
        return HTMLResponse("<title>404</title><p>No such page</p>", status_code=404)

    async def set_late_cookie(self, request: Request) -> Response:
        """Set a cookie, after the page that asked for it has been left."""
        await asyncio.sleep(0.2)
        return PlainTextResponse("late", headers={"set-cookie": "sent=late; max-age=600; path=/"})

    async def members(self, request: Request) -> Response:
        """Ask for a login, which every browser makes that renders the page; then show it."""
        return HTMLResponse(ARTICLE if request.cookies.get("member") == "yes" else WALL)

    async def frame_of(self, request: Request) -> Response:
        """Frame a page, of another origin perhaps."""
        address = request.query_params["address"]
        return HTMLResponse(f"<title>Framed</title><p>Frame</p><iframe src='{address}'></iframe>")

    async def robots_txt(self, request: Request) -> Response:
        return PlainTextResponse("User-agent: *\nDisallow: /forbidden\n")

    async def shelf(self, request: Request) -> Response:
        """Link to books, to one that robots may not read, and to one that is not there.

        Where one is lent, it is not had before the test lets go.
        """
        count = int(request.query_params["books"])
        shelved = [f"<li><a href='/book?n={n}'>Book {n}</a></li>" for n in range(count)]
        if "lent" in request.query_params:
            shelved.insert(count // 2, "<li><a href='/lent?n=99'>Book 99</a></li>")
        books = "".join(shelved)
        others = "<a href='/forbidden'>Kept shut</a> <a href='/lost'>Lost</a>"
        words = "This shelf holds what was written about fire, ash, embers and the night."
        return HTMLResponse(f"<title>Shelf</title><p>{words}</p><ul>{books}</ul><p>{others}</p>")

    async def book(self, request: Request) -> Response:
        """Be a page that is like no other of its kind."""
        number = request.query_params["n"]
        words = " ".join(f"word{number}x{n}" for n in range(200))
        return HTMLResponse(f"<title>Book {number}</title><h1>Book {number}</h1><p>{words}</p>")

    async def lent(self, request: Request) -> Response:
        """Be such a page once the test lets go."""
        await self.release.wait()
        return await self.book(request)

    async def late_data(self, request: Request) -> Response:
        return JSONResponse(LATE_DATA)

    async def article(self, request: Request) -> Response:
        return HTMLResponse(ARTICLE)

    async def ware(self, request: Request) -> Response:
        """Offer a thing for sale."""
        return HTMLResponse(WARES[request.query_params["name"]].page)

    async def guide(self, request: Request) -> Response:
        return HTMLResponse(GUIDE)

    async def numbered_parts(self, request: Request) -> Response:
        """Have thousands of headings."""
        parts = "".join(f"<h2>Part {n}</h2><p>Word{n} of it.</p>" for n in range(3_000))
        return HTMLResponse(f"<title>Parts</title><main>{parts}</main>")

    async def numbered(self, request: Request) -> Response:
        return HTMLResponse(ARTICLE.replace("Ember care", f"Ember {request.query_params['n']}"))

    async def long(self, request: Request) -> Response:
        words = " ".join(f"word{n}" for n in range(30_000))
        return HTMLResponse(f"<title>Long</title><main><p>{words}</p></main>")

    async def vast(self, request: Request) -> Response:
        """Be five megabytes of everything that fills an answer."""
        return HTMLResponse(vast_page())

    async def nested(self, request: Request) -> Response:
        """Be a page on which the selector `b div div div div div i` takes minutes."""
        nested = "<div>" * 200 + "<i>last words"
        return HTMLResponse(f"<p>first words <a href='/article'>more</a>{nested}")

    async def echo(self, request: Request) -> Response:
        return JSONResponse(dict(request.headers))

    async def image(self, request: Request) -> Response:
        return Response(PNG, media_type="image/png")

    async def paper(self, request: Request) -> Response:
        return Response(PDF, media_type="application/pdf")

    async def document(self, request: Request) -> Response:
        """Be one of the PDF documents, under the type that is asked for."""
        body = DOCUMENTS[request.query_params["name"]]()
        kind = request.query_params.get("type", "application/pdf")
        headers = {"etag": '"one"'}
        if sent := int(request.query_params.get("sent", "0")):
            # Less than is announced: the connection breaks off.
            headers["content-length"] = str(len(body))
            body = body[:sent]
        return Response(body, media_type=kind, headers=headers)

    async def plain(self, request: Request) -> Response:
        """Be a text of the type that its name is kept under."""
        kind, body = PLAIN[request.query_params["name"]]
        return Response(body, media_type=kind)

    async def attachment(self, request: Request) -> Response:
        headers = {"content-disposition": 'attachment; filename="data.bin"'}
        return Response(b"\x00\x01data", media_type="application/octet-stream", headers=headers)

    async def download(self, request: Request) -> Response:
        return Response(PNG, media_type="application/octet-stream")

    async def status(self, request: Request) -> Response:
        code = int(request.query_params["code"])
        return HTMLResponse(f"<title>{code}</title><p>Sorry</p>", status_code=code)

    async def wall(self, request: Request) -> Response:
        """Keep machines out, with an error or with an innocent status."""
        html = "<title>Just a moment...</title><p>Verify that you are human to go on.</p>"
        return HTMLResponse(html, status_code=int(request.query_params.get("code", "200")))

    async def tricky(self, request: Request) -> Response:
        """Hide a message in characters that nobody sees, and turn a file's name round."""
        hidden = "".join(f"&#{0xE0000 + ord(letter)};" for letter in "obey")
        return HTMLResponse(ARTICLE.replace("</h1>", f"{hidden} gnp.\u202eexe</h1>", 1))

    async def turning(self, request: Request) -> Response:
        """Answer once, then keep machines out."""
        is_first = self.hits["/turning"] == 1
        return HTMLResponse(ARTICLE) if is_first else await self.wall(request)

    async def diary(self, request: Request) -> Response:
        """Be another page from visit to visit, in the order that `days` names."""
        days = request.query_params["days"].split(",")
        day = days[min(self.hits["/diary"], len(days)) - 1]
        if day.isdigit():
            return HTMLResponse("<title>Gone</title><p>Nothing here</p>", status_code=int(day))
        changed = ARTICLE.replace("<td>9</td>", "<td>10</td>").replace(
            "</article>", "<p>Birch burns faster.</p></article>"
        )
        spaced = ARTICLE.replace("Rake the ash", "Rake  the\n ash")
        pages = {"first": ARTICLE, "spaced": spaced, "changed": changed}
        headers = {"etag": f'"{day}"'} if "tagged" in request.query_params else {}
        if headers and request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return HTMLResponse(pages[day], headers=headers)

    async def brand(self, request: Request) -> Response:
        return HTMLResponse(BRAND)

    async def styled(self, request: Request) -> Response:
        """Link to the style sheet that the query names."""
        sheet = request.query_params["sheet"]
        return HTMLResponse(f"<link rel=stylesheet href='{sheet}'><h1>Styled</h1><p>Words.</p>")

    async def brand_css(self, request: Request) -> Response:
        return Response(BRAND_CSS, media_type="text/css")

    async def souring(self, request: Request) -> Response:
        """Answer once, then ask to log in."""
        html = "<title>Log in</title><form><input type='password'><button>Log in</button></form>"
        return HTMLResponse(ARTICLE if self.hits["/souring"] == 1 else html)

    async def breaking(self, request: Request) -> Response:
        """Break off in the middle as often as asked for, then answer whole, or as unchanged."""
        body, headers = ARTICLE.encode(), {"etag": '"v1"'}
        if request.headers.get("if-none-match") == '"v1"':
            return Response(status_code=304, headers=headers)
        if self.hits["/breaking"] > int(request.query_params["times"]):
            return HTMLResponse(body, headers=headers)

        async def half() -> AsyncIterator[bytes]:
            yield body[: len(body) // 2]

        headers["content-length"] = str(len(body))
        return StreamingResponse(half(), media_type="text/html", headers=headers)

    async def flaky(self, request: Request) -> Response:
        """Fail as often as asked for, then answer."""
        failures = int(request.query_params["failures"])
        if self.hits["/flaky"] <= failures:
            headers = {"retry-after": request.query_params.get("retry-after", "0")}
            return PlainTextResponse("busy", status_code=503, headers=headers)
        return HTMLResponse(ARTICLE)

    async def etag(self, request: Request) -> Response:
        headers = {"etag": '"v1"', "last-modified": "Sat, 15 Nov 2025 18:30:00 GMT"}
        if request.headers.get("if-none-match") == '"v1"':
            return Response(status_code=304, headers=headers)
        return HTMLResponse(ARTICLE, headers=headers)

    async def no_robots(self, request: Request) -> Response:
        """Say in a header that robots are to follow no links."""
        return HTMLResponse(ARTICLE, headers={"x-robots-tag": "noindex, nofollow"})

    async def redirect(self, request: Request) -> Response:
        code = int(request.query_params.get("code", "302"))
        return RedirectResponse(request.query_params["to"], status_code=code)

    async def redirect_loop(self, request: Request) -> Response:
        return RedirectResponse("/redirect-loop")

    async def cookie_gate(self, request: Request) -> Response:
        """Answer only to a visitor who brings back the cookie set on the way."""
        if request.cookies.get("seen") == "yes":
            return HTMLResponse(ARTICLE)
        response = RedirectResponse("/cookie-gate")
        response.set_cookie("seen", "yes")
        return response

    async def silent(self, request: Request) -> Response:
        """Answer only once the test lets go."""
        await self.release.wait()
        return HTMLResponse(ARTICLE, int(request.query_params.get("code", "200")))

    async def moving(self, request: Request) -> Response:
        """Redirect the first visitor to a page with validators, and be a page to the others."""
        if self.hits["/moving"] == 1:
            return RedirectResponse("/etag")
        if "if-none-match" in request.headers or "if-modified-since" in request.headers:
            return Response(status_code=304)
        return HTMLResponse("<title>A page of its own</title><p>Something else entirely</p>")

    async def unasked(self, request: Request) -> Response:
        """Be a page without validators once, and then claim not to have changed."""
        return HTMLResponse(ARTICLE) if self.hits["/unasked"] == 1 else Response(status_code=304)

    async def odd_headers(self, request: Request) -> Response:
        """Set a cookie and send a tag that are not ASCII, by way of a redirect."""
        odd = {"set-cookie": "a=caf\xe9", "etag": '"caf\xe9"'}
        if self.hits["/odd-headers"] % 2:
            return Response(status_code=302, headers={"location": "/odd-headers", **odd})
        return HTMLResponse(ARTICLE, headers=odd)

    async def archive(self, request: Request) -> Response:
        return Response(b"PK\x03\x04\x00\xff\xfe\x00" * 20, media_type="application/zip")

    async def huge(self, request: Request) -> Response:
        async def body() -> AsyncIterator[bytes]:
            for _ in range(400):
                yield b"a" * 65536
                await asyncio.sleep(0)

        return StreamingResponse(body(), media_type="text/html")

    async def gzip_bomb(self, request: Request) -> Response:
        packed = gzip.compress(b"\0" * (64 * 1024 * 1024))
        return Response(packed, media_type="text/html", headers={"content-encoding": "gzip"})

    async def gzip_cut(self, request: Request) -> Response:
        """Pack an article as a whole once, and from then on end in the midst of it."""
        packed = gzip.compress(ARTICLE.encode())
        packed = packed if self.hits["/gzip-cut"] == 1 else packed[: len(packed) // 2]
        return Response(packed, media_type="text/html", headers={"content-encoding": "gzip"})

    async def gzip_members(self, request: Request) -> Response:
        """Pack an article in pieces, each a gzip member of its own, with more after it."""
        middle = len(ARTICLE) // 2
        parts = [ARTICLE[:middle], ARTICLE[middle:]]
        packed = b"".join(gzip.compress(part.encode()) for part in parts)
        packed += gzip.compress(b"a" * 1000) * int(request.query_params.get("more", "0"))
        packed += request.query_params.get("then", "").encode("latin-1")
        packed = packed[: int(request.query_params.get("keep", len(packed)))]
        return Response(packed, media_type="text/html", headers={"content-encoding": "gzip"})

    async def latin(self, request: Request) -> Response:
        body = '<meta charset="iso-8859-1"><title>Café</title><p>Grüße aus der Küche</p>'
        return Response(body.encode("latin-1"), headers={"content-type": "text/html"})

    async def undeclared(self, request: Request) -> Response:
        """Be in an encoding that nothing on the page declares."""
        encoding = request.query_params["encoding"]
        text = "Grüße aus der Küche, für 12 €; später gehört das Öl dem Bäcker. " * 5
        body = f"<title>Undeclared</title><p>{text}</p>"
        return Response(body.encode(encoding), headers={"content-type": "text/html"})

    async def empty(self, request: Request) -> Response:
        return HTMLResponse("<title></title>")

    async def bodiless(self, request: Request) -> Response:
        return Response(status_code=int(request.query_params["code"]))

    async def latin_text(self, request: Request) -> Response:
        body = "Grüße aus der Küche".encode("latin-1")
        return Response(body, headers={"content-type": "text/plain; charset=iso-8859-1"})

    async def feed(self, request: Request) -> Response:
        body = '<?xml version="1.0"?><feed><entry>Embers</entry></feed>'
        return Response(body, media_type="application/xml")

    async def framed(self, request: Request) -> Response:
        """Name a picture, a script and a frame of another site."""
        other = request.query_params["other"]
        return HTMLResponse(
            f"<title>Framed</title><p>Page</p><img src='{other}/image'>"
            f"<script src='{other}/script'></script><iframe src='{other}/article'></iframe>"
            "<script>fetch('/data')</script>"
        )

    async def data(self, request: Request) -> Response:
        return JSONResponse({"embers": [1, 2, 3]})
