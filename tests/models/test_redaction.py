"""Secrets taken out of texts and log lines."""

import pytest

from cinder.models.redaction import hide_address, is_secret_header, redact, redact_line

SECRET = "hunter2-s3cr3t"


@pytest.mark.parametrize(
    "name",
    [
        *("token", "access_token", "api_key", "apikey", "API-Key", "password", "passwd", "pwd"),
        *("signature", "sig", "X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "key"),
        *("client_secret", "sessionid", "session_id", "jwt", "auth", "%74oken", "awsAccessKeyId"),
        *("hmac", "bearer", "hdnea"),
    ],
)
def test_the_value_of_a_secret_parameter_is_hidden(name: str) -> None:
    url = f"https://a.example/x?page=2&{name}={SECRET}&sort=up#top"
    assert redact(url) == f"https://a.example/x?page=2&{name}=…&sort=up#top"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            f"Failed to scrape http://a/?token={SECRET}: Timed",
            "Failed to scrape http://a/?token=…: Timed",
        ),
        (f"http://user:{SECRET}@proxy:8080 refused", "http://…@proxy:8080 refused"),
        (f"postgresql://cinder:{SECRET}@db/cinder", "postgresql://…@db/cinder"),
        (f"connection failed: host=db password={SECRET}", "connection failed: host=db password=…"),
        (f"Authorization: Bearer {SECRET}", "Authorization: Bearer …"),
        ("proxy-authorization: basic dXNlcjpwYXNz=", "proxy-authorization: basic …"),
        (f"cinder_{'a' * 43}", "cinder_…"),
        (f"http://a/#access_token={SECRET}", "http://a/#access_token=…"),
        (f"http://a/?next=http%3A%2F%2Fb%2F%3Ftoken%3D{SECRET}&x=1", "http://a/?next=…&x=1"),
        (f"http://a/?token=x?{SECRET}&y=1", "http://a/?token=…&y=1"),
        (f"http://a/?url=http://b/?token={SECRET}", "http://a/?url=http://b/?token=…"),
        (f"'http://a/?sig={SECRET}' is", "'http://a/?sig=…' is"),
    ],
)
def test_secrets_are_hidden_wherever_they_stand(text: str, left: str) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example/x?author=Ada&monkey=1&code=404&page=2&q=a%20b",
        "Basic understanding of the bearer of news",
        "Send it as `Authorization: Bearer <token>`",
        "a = b; x == y?",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_facts_are_redacted_however_they_are_nested() -> None:
    facts = {
        "event": f"failed for http://a/?token={SECRET}",
        "token": "the name of a token",
        "password": SECRET,
        "headers": {"Cookie": f"id={SECRET}", "Accept": "text/html"},
        "exception": [{"exc_value": f"http://u:{SECRET}@p", "frames": [{"line": 3}]}],
        "raw": f"Bearer {SECRET}".encode(),
    }
    assert redact_line(facts) == {
        "event": "failed for http://a/?token=…",
        "token": "the name of a token",
        "password": "…",
        "headers": {"Cookie": "…", "Accept": "text/html"},
        "exception": [{"exc_value": "http://…@p", "frames": [{"line": 3}]}],
        "raw": "Bearer …",
    }


def test_what_is_nested_too_deep_is_hidden_whole() -> None:
    facts: object = SECRET
    for _ in range(5_000):
        facts = [facts]
    assert SECRET not in str(redact_line({"facts": facts}))


@pytest.mark.parametrize(
    ("url", "said", "left"),
    [
        ("http://inner.test:8080/v1", "At HTTP://Inner.test:8080/x: no", "At HTTP://…:…/x: no"),
        ("http://inner.test:8080/v1", "Port 8080 of 18080 8080s", "Port … of 18080 …s"),
        ("https://inner.test/v1", "inner.test has 443 models", "… has 443 models"),
        ("http://[fd00::1]:8080/", "[fd00::1]:8080 is down", "[…]:… is down"),
        ("http://10.0.0.1:8080/", "10x0.0.1 is another", "10x0.0.1 is another"),
    ],
)
def test_what_a_server_says_is_told_without_its_address(url: str, said: str, left: str) -> None:
    assert hide_address(said, url) == left


@pytest.mark.parametrize(
    "name", ["Cookie", "authorization", "X-API-Key", "X-Jwt", "DPoP", "X-Ticket"]
)
def test_headers_that_may_authorise_are_secret(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize("name", ["Accept-Language", "user-agent", "DNT", "Sec-CH-UA-Platform"])
def test_a_header_that_only_says_how_to_be_served_is_not_secret(name: str) -> None:
    assert not is_secret_header(name)
