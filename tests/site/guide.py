"""A long page with headings, prose, code and a table, to read in parts."""

_WOODS = ("Oak", "Birch", "Beech", "Ash", "Larch", "Spruce", "Alder", "Hornbeam")


def _section(number: int, wood: str) -> str:
    filler = " ".join(
        f"{wood} of stack {number}-{n} burns evenly when it has dried for {n + 1} summers."
        for n in range(20)
    )
    return f"<h2>{wood}</h2><p>{filler}</p><h3>Drying</h3><p>Stack {wood} under a roof.</p>"


_CODE = "\n".join(f"    rake({n})" for n in range(40))
_ROWS = "".join(
    f"<tr><td><a href='/wood/{n}'>{wood}</a></td><td>{n + 4}</td></tr>"
    for n, wood in enumerate(_WOODS * 5)
)

GUIDE = (
    "<!doctype html><html lang='en'><head><title>A guide to firewood</title></head><body>"
    "<main><article><h1>A guide to firewood</h1>"
    "<p>Firewood keeps a house warm when it is dry, split and stacked with care. Wet wood smokes "
    "and blackens the flue of every stove. This guide tells how long each kind of wood glows.</p>"
    + "".join(_section(number, wood) for number, wood in enumerate(_WOODS))
    + "<h2>Banking a fire</h2><p>Bank the coals with ash at midnight, and close the damper.</p>"
    f"<pre><code class='language-python'>def bank():\n{_CODE}\n</code></pre>"
    f"<h2>Hours</h2><table><tr><th>Wood</th><th>Hours</th></tr>{_ROWS}</table>"
    "</article></main></body></html>"
)
