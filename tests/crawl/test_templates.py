"""The templates of addresses."""

import pytest

from cinder.crawl.templates import TemplateKind, template_of
from tests.crawl.reading import address_at


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        ("/calendar?month=2024-05", "calendar", "/calendar?month=*"),
        ("/calendar?month=5&view=list", "calendar", "/calendar?month=*"),
        ("/x?from=2024-05-01&a=b", "calendar", "/x?from=*"),
        ("/events/2024/05", "calendar", "/events/*/*"),
        ("/2024/05/?attendees=3", "calendar", "/*/*/?attendees=*"),
        ("/journal/2024-05-12", "dated path", "/journal/*"),
        ("/2024/may/12/", "dated path", "/*/may/*/"),
        ("/shoes?color=red&size=9", "facets", "/shoes?*"),
        ("/shoes?size=9&sort=price&page=2", "facets", "/shoes?*"),
        ("/shoes?f%5B0%5D=a", "facets", "/shoes?*"),
        ("/x?a=1&b=2&c=3&d=4&e=5&f=6", "facets", "/x?*"),
        ("/index.php?option=a&view=b&id=5", "combinations", "/?*"),
        ("/list?page=7", "page numbers", "/list?page=*"),
        ("/blog/page/7", "page numbers", "/blog/page/*"),
        ("/viewtopic.php?t=12", "parameters", "/viewtopic.php?t=*"),
        ("/product/17?variant=3", "parameters", "/product/*?variant=*"),
        ("/a/5f2b8c1d-77aa-4c1e/?x2=1", "parameters", "/a/*/?x*=*"),
    ],
)
def test_what_is_made_by_one_rule_has_one_template(path: str, kind: str, shown: str) -> None:
    found = template_of(address_at(f"https://e.com{path}"))
    assert found is not None
    assert (found.kind, found.shown) == (TemplateKind(kind), shown)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/product/12345",
        "/p/red-shoes-12345",
        "/2024/05/how-to-burn-oak",
        "/2024/05/12/how-to-burn-oak",
        "/2024/marathon",
        "/reports/2024",
        "/docs/v2/api",
    ],
)
def test_paths_that_lead_to_pages_need_no_template(path: str) -> None:
    assert template_of(address_at(f"https://e.com{path}")) is None


def test_each_host_has_templates_of_its_own() -> None:
    one, other = (template_of(address_at(f"https://{host}/?id=1")) for host in ("a.com", "b.com"))
    assert one is not None
    assert other is not None
    assert one.key != other.key
