import threading

from cinder.background import SHORT_CHARS, run_in_thread


async def test_a_short_text_is_worked_on_at_once() -> None:
    assert await run_in_thread(SHORT_CHARS, threading.current_thread) is threading.current_thread()


async def test_a_long_text_is_worked_on_in_another_thread() -> None:
    worker = await run_in_thread(SHORT_CHARS + 1, threading.current_thread)
    assert worker is not threading.current_thread()
