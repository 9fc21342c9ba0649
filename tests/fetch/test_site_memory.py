from cinder.fetch.site_memory import SiteMemory


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def remember_shells(memory: SiteMemory, *urls: str) -> None:
    for url in urls:
        memory.remember(url, needs_browser=True)


def test_an_unknown_site_needs_no_browser() -> None:
    assert not SiteMemory().needs_browser("https://a.example/")


def test_two_shells_in_a_row_speak_for_their_site_only() -> None:
    memory = SiteMemory()
    remember_shells(memory, "https://a.example/1")
    assert not memory.needs_browser("https://a.example/3")
    remember_shells(memory, "https://a.example/2")
    assert memory.needs_browser("https://a.example/3")
    assert not memory.needs_browser("https://a.example:8443/3")
    assert not memory.needs_browser("https://b.example/3")


def test_one_page_does_not_speak_for_its_site_however_often_it_is_fetched() -> None:
    memory = SiteMemory()
    remember_shells(memory, *["https://a.example/odd"] * 5)
    assert not memory.needs_browser("https://a.example/other")


def test_a_whole_page_clears_its_site() -> None:
    memory = SiteMemory()
    remember_shells(memory, "https://a.example/1", "https://a.example/2")
    memory.remember("https://a.example/3", needs_browser=False)
    remember_shells(memory, "https://a.example/1")
    assert not memory.needs_browser("https://a.example/3")


def test_a_belief_ends_and_one_more_shell_renews_it() -> None:
    clock = Clock()
    memory = SiteMemory(expiry_seconds=60, clock=clock)
    remember_shells(memory, "https://a.example/1", "https://a.example/2")
    clock.now = 60
    assert memory.needs_browser("https://a.example/")
    clock.now = 61
    assert not memory.needs_browser("https://a.example/")
    remember_shells(memory, "https://a.example/2")
    assert memory.needs_browser("https://a.example/")


def test_the_sites_heard_of_last_are_kept() -> None:
    memory = SiteMemory(max_sites=2)
    for site in ("a", "b", "a", "c"):
        remember_shells(memory, f"https://{site}.example/1", f"https://{site}.example/2")
    known = [site for site in "abc" if memory.needs_browser(f"https://{site}.example/")]
    assert known == ["a", "c"]
