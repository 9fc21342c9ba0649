"""Pictures, fonts and media: what a page is spared when only its text is wanted.

Chromium blocks by URL alone, so this goes by the extension; what has none is let through. SVG is
not in it: scripts fetch it to put it into the page, and some stop when they cannot.
"""

_PICTURES = ("apng", "avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "webp")
_FONTS = ("eot", "otf", "ttf", "woff", "woff2")
_MEDIA = ("aac", "flac", "m3u8", "m4a", "m4v", "mov", "mp3", "mp4", "mpd", "ogg", "wav", "webm")
# Patterns compare case, and cameras write capitals.
_IN_CAPITALS = ("GIF", "JPEG", "JPG", "PNG")


def resource_patterns() -> tuple[str, ...]:
    """Return the URLPatterns of pictures, fonts and media, whatever their query."""
    extensions = (*_PICTURES, *_FONTS, *_MEDIA, *_IN_CAPITALS)
    return tuple(f"*://*:*/*.{extension}" for extension in extensions)
