from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.egress import Credentials
from cinder.egress.credentials import read_authorization


def test_credentials_survive_the_header() -> None:
    credentials = Credentials("nåme", "pass:wörd")
    shown = read_authorization(credentials.to_header())
    assert shown == ("nåme".encode(), "pass:wörd".encode())
    assert credentials.has_password(shown[1])


@pytest.mark.parametrize("scheme", [b"Basic ", b"bAsIc  "])
def test_the_scheme_is_read_in_any_case(scheme: bytes) -> None:
    assert read_authorization(scheme + b64encode(b"a:b")) == (b"a", b"b")


@pytest.mark.parametrize("value", [b"", b"Basic", b"Bearer YTpi", b"Basic \xff\xfe", b"Basic Y"])
def test_what_is_no_authorization_is_none(value: bytes) -> None:
    assert not any(read_authorization(value) or ())


@given(st.binary())
def test_any_bytes_can_be_shown(value: bytes) -> None:
    read_authorization(value)
    read_authorization(b"Basic " + value)
    assert read_authorization(b"Basic " + b64encode(value))
    assert not Credentials("cinder", "pass:word").has_password(value)


def test_generated_credentials_are_a_pair_and_differ() -> None:
    first, second = Credentials.generate(), Credentials.generate()
    assert not {*first} & {*second}
    assert first.user.isalnum()
