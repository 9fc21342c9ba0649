from cinder.model.document import VerdictKind
from cinder.surfaces.verdict_advice import NEXT_STEP

MAX_CHARS = 120


def test_every_verdict_but_ok_has_a_short_next_step() -> None:
    assert set(NEXT_STEP) == set(VerdictKind) - {VerdictKind.OK}
    assert all(len(step) <= MAX_CHARS for step in NEXT_STEP.values())
