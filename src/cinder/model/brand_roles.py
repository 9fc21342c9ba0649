"""Which elements of a page show its brand, and in which of their styles."""

# By role, the selectors by which its element is looked for, the best first.
BRAND_ROLES = {
    "html": ("html",),
    "body": ("body",),
    "h1": ("h1",),
    "h2": ("h2",),
    "h3": ("h3",),
    "text": ("main p", "article p", "p"),
    "link": ("main a[href]:not([class])", "p a[href]", "a[href]:not([class])", "a[href]"),
    "header": ("header", "[role=banner]"),
    "input": ("input[type=text]", "input[type=email]", "input[type=search]", "textarea"),
    "code": ("pre", "code"),
}
BUTTON = "button"
BUTTONS = (
    "button, [role=button], input[type=submit], a[class*=btn], a[class*=button], a[class*=cta]"
)
MAX_BUTTONS = 12

INHERITED_STYLES = ("color", "font-family", "font-size", "font-weight", "line-height")
BRAND_STYLES = (*INHERITED_STYLES, "background-color", "border-radius", "border-color")
