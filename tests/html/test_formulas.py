"""MathML without TeX."""

import pytest

from cinder.html.deferred_content import mathml_to_tex
from cinder.html.tree import parse_html


@pytest.mark.parametrize(
    ("mathml", "tex"),
    [
        ("<mi>x</mi><mo>+</mo><mn>1</mn>", "x+1"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_{1}^{2}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "\\sqrt[3]{x}"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>", "\\sum_{i}^{n}"),
        ("<mi>sin</mi><mi>λ</mi>", "\\sin \\lambda"),
        ("<mi>rate</mi><mo>≤</mo><mi>Ω</mi>", "\\mathrm{rate}\\le \\Omega"),
        ("<mtext>if</mtext><mo>{</mo>", "\\text{if}\\{"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr>"
            "<mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable>",
            "\\begin{matrix}1 & 2 \\\\ 3 & 4\\end{matrix}",
        ),
        ("<mfrac><mi>x</mi></mfrac>", "x"),
    ],
)
def test_it_becomes_tex(mathml: str, tex: str) -> None:
    assert mathml_to_tex(parse_html(f"<math>{mathml}</math>").css("math")[0]) == tex


def test_a_deep_formula_keeps_its_text() -> None:
    math = parse_html(f"<math>{'<mrow>' * 2_000}<mi>x</mi>").css("math")[0]
    assert mathml_to_tex(math) == "x"
