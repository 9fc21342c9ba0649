from pathlib import Path

from cinder.browser.blocking import resource_patterns
from tests.browser.bare_chromium import open_tab, show
from tests.browser.test_blocking import refused_urls


async def test_pictures_fonts_and_media_are_blocked_by_their_extension(tmp_path: Path) -> None:
    patterns = [{"urlPattern": pattern, "block": True} for pattern in resource_patterns()]
    blocked = {
        "https://a.test/x/y.jpg",
        "https://a.test:8443/y.png?width=1&z",
        "https://a.test/IMG_1.JPG",
        "https://a.test/f.woff2",
        "https://a.test/m.mp4",
    }
    free = {
        "https://a.test/app.js",
        "https://a.test/photo?file=x.jpg",
        "https://x.pngs.test/a.png.js",
        "https://a.test/icons.svg",
    }
    async with open_tab(tmp_path) as tab:
        await show(tab, "<p>page</p>")
        await tab.session.send("Network.setBlockedURLs", urlPatterns=patterns)
        assert await refused_urls(tab, *blocked, *free) == blocked
