from cinder.config import ServerSettings
from cinder.model.request import ActionType, Format
from cinder.services.excerpt import Window
from cinder.surfaces.action_arguments import ActionArguments
from cinder.surfaces.mcp.size_limit import leave_room_for_outline, shared_window
from cinder.surfaces.mcp.untrusted import BOUNDARY_CHARS
from cinder.surfaces.scrape_arguments import ScrapeArguments
from tests.surfaces.documents import a_page

SERVER = ServerSettings(mcp_result_max_chars=10_000, result_max_chars_ceiling=50_000)
ROOM = 9_000 - BOUNDARY_CHARS


def test_default_leaves_room_for_the_header() -> None:
    window = shared_window(ScrapeArguments(), [Format.MARKDOWN], SERVER)
    assert window == Window(0, ROOM)


def test_formats_share_the_room_evenly() -> None:
    formats = [Format.MARKDOWN, Format.HTML, Format.LINKS]
    assert shared_window(ScrapeArguments(), formats, SERVER) == Window(0, ROOM // 3)


def test_what_actions_bring_shares_the_room_beside_their_lines() -> None:
    actions = [
        ActionArguments(type=ActionType.CLICK, selector="a"),
        ActionArguments(type=ActionType.SCRAPE),
        ActionArguments(type=ActionType.EXECUTE_JAVASCRIPT, script="1"),
    ]
    window = shared_window(ScrapeArguments(actions=actions), [Format.MARKDOWN], SERVER)
    assert window == Window(0, (ROOM - 300) // 4)


def test_a_part_of_the_markdown_shares_with_no_other_text() -> None:
    formats = [Format.MARKDOWN, Format.HTML]
    window = shared_window(ScrapeArguments(section="ash"), formats, SERVER)
    assert window == Window(0, ROOM, section="ash")


def test_a_summary_has_room_beside_the_text() -> None:
    formats = [Format.MARKDOWN, Format.SUMMARY]
    assert shared_window(ScrapeArguments(), formats, SERVER) == Window(0, ROOM - 2_800)


def test_only_a_text_that_is_cut_makes_room_for_its_outline() -> None:
    assert leave_room_for_outline(Window(0, 9_000), a_page()) == Window(0, 9_000)
    long = a_page(markdown="Ember " * 2_000)
    assert leave_room_for_outline(Window(0, 9_000), long) == Window(0, 7_500)
    assert leave_room_for_outline(Window(0, 1_000), long) == Window(0, 500)


def test_explicit_size_is_honoured_exactly() -> None:
    arguments = ScrapeArguments(max_chars=12_345, start_index=7)
    assert shared_window(arguments, [Format.MARKDOWN], SERVER) == Window(7, 12_345)


def test_explicit_size_ends_at_the_ceiling() -> None:
    arguments = ScrapeArguments(max_chars=10_000_000)
    assert shared_window(arguments, [Format.MARKDOWN], SERVER) == Window(0, 50_000)
