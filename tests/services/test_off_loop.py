import threading

from cinder.services.off_loop import SHORT_CHARS, off_loop


async def test_a_short_text_is_worked_on_at_once() -> None:
    assert await off_loop(SHORT_CHARS, threading.current_thread) is threading.current_thread()


async def test_a_long_text_is_worked_on_in_another_thread() -> None:
    worker = await off_loop(SHORT_CHARS + 1, threading.current_thread)
    assert worker is not threading.current_thread()
