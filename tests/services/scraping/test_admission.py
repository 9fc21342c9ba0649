"""How many pages may be under way, in bursts and under a load that lasts."""

from contextlib import ExitStack, suppress

import pytest

from cinder.errors import Overloaded, RateLimited
from cinder.model.request import OWNER
from cinder.services.scraping.admission import Admission, AdmissionLimits

LIMITS = AdmissionLimits(most=64, least=4, wait_seconds=0.05, moment_seconds=0.25)


class Machine:
    """A clock and a queue, both as the test says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wait = 0.0
        self.admission = Admission(LIMITS, recent_wait=lambda: self.wait, clock=lambda: self.now)

    def count_admitted(self, caller: str = OWNER) -> int:
        """Return how many are let in at once, and let them all go again."""
        with ExitStack() as pages:
            for admitted in range(2 * LIMITS.most):
                try:
                    pages.enter_context(self.admission.admit(caller))
                except Overloaded:
                    return admitted
        raise AssertionError("nobody was refused")

    def spend_moments(self, count: int) -> int:
        """Let moments pass, with more asked for than is let in; return how many are at the end."""
        for _ in range(count):
            self.count_admitted()
            self.now += LIMITS.moment_seconds
        return self.count_admitted()


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_burst_is_let_in_up_to_the_most(machine: Machine) -> None:
    assert machine.count_admitted() == LIMITS.most
    with machine.admission.admit():
        assert machine.count_admitted() == LIMITS.most - 1


def test_a_queue_that_lasts_lets_fewer_in_down_to_the_least(machine: Machine) -> None:
    machine.wait = 0.2
    assert machine.spend_moments(3) < LIMITS.most
    assert machine.spend_moments(20) == LIMITS.least


def test_one_page_that_did_not_wait_is_enough_for_a_burst_to_be_borne(machine: Machine) -> None:
    for _ in range(10):
        for machine.wait in (0.2, 0.0):
            machine.count_admitted()
        machine.now += LIMITS.moment_seconds
    assert machine.count_admitted() == LIMITS.most


def test_more_are_let_in_one_by_one_while_some_are_refused_and_soon_all(machine: Machine) -> None:
    machine.wait = 0.2
    machine.spend_moments(20)
    machine.wait = 0.0
    assert machine.spend_moments(4) in range(LIMITS.least + 3, LIMITS.least + 6)
    for _ in range(10):
        machine.now += LIMITS.moment_seconds
        with machine.admission.admit():
            pass
    assert machine.count_admitted() == LIMITS.most


def test_who_is_refused_leaves_no_trace(machine: Machine) -> None:
    for _ in range(3):
        assert machine.count_admitted() == LIMITS.most


def hold(admission: Admission, pages: ExitStack, caller: str, count: int) -> None:
    """Have so many pages of a caller under way."""
    for _ in range(count):
        pages.enter_context(admission.admit(caller))


def test_a_caller_has_all_but_a_quarter_and_is_told_of_the_setting(machine: Machine) -> None:
    with ExitStack() as pages:
        hold(machine.admission, pages, "alice", 48)
        with (
            pytest.raises(RateLimited, match=r"scrape\.max-in-flight-per-caller"),
            machine.admission.admit("alice"),
        ):
            pytest.fail("alice has had her share")
        assert machine.count_admitted("bob") == 16


def test_the_owner_keeps_to_a_share_once_there_are_others(machine: Machine) -> None:
    with machine.admission.admit("bob"), ExitStack() as pages:
        hold(machine.admission, pages, OWNER, 48)
        with pytest.raises(RateLimited), machine.admission.admit():
            pytest.fail("the owner counts as one caller")


def test_the_share_can_be_set_and_is_everybodys_then() -> None:
    admission = Admission(AdmissionLimits(most=64, most_per_caller=2))
    with ExitStack() as pages:
        for caller in (OWNER, "alice"):
            hold(admission, pages, caller, 2)
            with pytest.raises(RateLimited), admission.admit(caller):
                pytest.fail("two are enough")


def test_where_fewer_are_let_in_a_caller_with_few_has_an_equal_part(machine: Machine) -> None:
    machine.wait = 0.2
    with ExitStack() as pages:
        hold(machine.admission, pages, "alice", 40)
        for _ in range(8):
            machine.now += LIMITS.moment_seconds
            with suppress(Overloaded), machine.admission.admit("alice"):
                pass
        with pytest.raises(Overloaded), machine.admission.admit("alice"):
            pytest.fail("alice has more than are let in")
        assert machine.count_admitted("bob") == LIMITS.least // 2
