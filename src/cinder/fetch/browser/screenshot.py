"""Photographs of a page, as PNG: what a window would show of it, or all of it within bounds."""

import base64
from contextlib import suppress
from dataclasses import dataclass

from cinder.fetch.browser.connection import Message
from cinder.fetch.browser.tab import ScriptFailed, Tab
from cinder.model.document import Media

PNG = "image/png"

# Pages load much of what lies below only when it comes into view: walk there and back.
_WALK_DOWN = """
(async () => {
  const frame = () => new Promise(resolve => setTimeout(resolve, 50));
  const end = Math.min(document.documentElement.scrollHeight, %d);
  const start = [window.scrollX, window.scrollY];
  for (let y = 0, steps = 0; y < end && steps < 40; y += innerHeight || 800, steps++) {
    window.scrollTo(0, y);
    await frame();
  }
  window.scrollTo(...start);
  const pending = [...document.images].filter(image => !image.complete).slice(0, 200);
  const settled = image => new Promise(resolve => { image.onload = image.onerror = resolve; });
  await Promise.race([
    Promise.all(pending.map(settled)), new Promise(resolve => setTimeout(resolve, 2000))
  ]);
  return devicePixelRatio || 1;
})()
"""


@dataclass(frozen=True, slots=True)
class Photograph:
    """A picture of a page, and whether it had to leave out some of the page's length."""

    media: Media
    is_cut: bool = False


async def photograph_window(tab: Tab) -> Photograph:
    """Photograph what a window shows."""
    return Photograph(_media(await tab.session.send("Page.captureScreenshot", format="png")))


async def photograph_whole(tab: Tab, max_height: int) -> Photograph:
    """Photograph the page from top to bottom, as far as `max_height` pixels."""
    density = 1.0
    with suppress(ScriptFailed):  # the page went elsewhere on the way
        density = float(await tab.evaluate(_WALK_DOWN % max_height))
    # The limit is the picture's; a page's own pixels are larger on a phone.
    limit = max_height / density
    metrics = await tab.session.send("Page.getLayoutMetrics")
    size = metrics["cssContentSize"]
    height = min(size["height"], limit)
    # Pages wider than a screen exist by mistake; the picture is bounded all the same.
    width = min(size["width"], limit)
    shot = await tab.session.send(
        "Page.captureScreenshot",
        format="png",
        captureBeyondViewport=True,
        clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
    )
    return Photograph(_media(shot), is_cut=size["height"] > height or size["width"] > width)


def _media(shot: Message) -> Media:
    return Media(PNG, base64.b64decode(shot["data"]))
