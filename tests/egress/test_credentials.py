from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.egress import Credentials

CREDENTIALS = Credentials("cinder", "pass:word")


@pytest.mark.parametrize("user", ["cinder", "context-7", ""])
def test_any_user_is_admitted_with_the_right_password(user: str) -> None:
    assert CREDENTIALS.admit(b"Basic " + b64encode(f"{user}:pass:word".encode()))
    assert CREDENTIALS.admit(b"bAsIc  " + b64encode(f"{user}:pass:word".encode()))


@given(st.binary())
def test_no_other_bytes_are_admitted(value: bytes) -> None:
    assert not CREDENTIALS.admit(value)
    assert not CREDENTIALS.admit(b"Basic " + value)
    assert not CREDENTIALS.admit(b"Basic " + b64encode(value))


def test_generated_credentials_are_a_pair_and_differ() -> None:
    user, password = Credentials.generate()
    assert (user, password) == (user, password)
    assert password != Credentials.generate().password
