"""Errors: what a missing extra says."""

from importlib import import_module

import pytest

from cinder.errors import ErrorCode, Unsupported, requires_extra


def test_a_missing_library_names_the_extra_that_installs_it() -> None:
    with (
        pytest.raises(Unsupported, match=r"cinder-web\[postgres\]") as raised,
        requires_extra("postgres"),
    ):
        import_module("no_such_driver")
    assert raised.value.code is ErrorCode.UNSUPPORTED
