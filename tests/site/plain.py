"""The website's texts that are no HTML: tables, feeds, sitemaps."""

from itertools import pairwise

CSV = 'Wood,Hours,Remark\r\nOak,9,"burns long,\nevenly"\r\nPine,3,spits | cracks\r\n'

RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>Ember news</title><atom:link rel="self" href="https://embers.example/feed"/>
<link>https://embers.example/</link><description>All about embers &amp; ash&nbsp;too</description>
<language>en</language><lastBuildDate>Sat, 15 Nov 2025 18:30:00 GMT</lastBuildDate>
<item><title>Ash &lt;fine&gt;</title><link>https://embers.example/ash</link>
<pubDate>Fri, 14 Nov 2025 08:00:00 GMT</pubDate><dc:creator>Ada Stoker</dc:creator>
<content:encoded><![CDATA[<p>Sift <b>it</b>, says <a href="/sift">Sift</a>.</p>
<script>alert(1)</script><img src="/ash.png" alt="Ash">]]></content:encoded></item>
<item><title>Coals</title><guid>https://embers.example/coals</guid>
<description>Plain words</description></item>
</channel></rss>"""

ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de">
<title>Glut</title><subtitle>Neues</subtitle><link href="https://glut.example/"/>
<updated>2025-11-15T18:30:00Z</updated><author><name>Ada</name></author>
<entry><title>Asche</title><link rel="alternate" href="https://glut.example/asche"/>
<published>2025-11-14T08:00:00Z</published>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Fein <em>gesiebt</em></p></div>
</content></entry>
<entry><title>Kohle</title><link href="https://glut.example/kohle"/>
<summary>1 &lt; 2</summary></entry></feed>"""

JSON_FEED = """{"version": "https://jsonfeed.org/version/1.1", "title": "Sparks",
"home_page_url": "https://sparks.example/", "items": [
{"id": "1", "url": "https://sparks.example/1", "title": "One", "content_html": "<p>First</p>",
 "date_published": "2025-11-14T08:00:00Z", "image": "https://sparks.example/1.png"},
{"id": "2", "content_text": "no <b>title</b>"}]}"""

SITEMAP = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://embers.example/</loc><lastmod>2025-11-14</lastmod></url>
<url><loc>https://embers.example/ash</loc></url></urlset>"""

_LETTERS = "abcdefghij"
_ENTITIES = "".join(
    "<!ENTITY " + name + " '" + 10 * ("&" + held + ";") + "'>" for held, name in pairwise(_LETTERS)
)
LAUGHS = (
    f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "lol">{_ENTITIES}]>'
    "<rss><channel><title>&j;</title></channel></rss>"
)

PLAIN = {
    "table.csv": ("text/csv", CSV),
    "feed.rss": ("application/rss+xml", RSS),
    "feed.atom": ("application/atom+xml", ATOM),
    "feed.json": ("application/feed+json", JSON_FEED),
    "sitemap.xml": ("application/xml", SITEMAP),
    "laughs.xml": ("application/xml", LAUGHS),
    "notes.md": ("text/markdown", "# Notes\n\nSome *notes*.\n"),
}
