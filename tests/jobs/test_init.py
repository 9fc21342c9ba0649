"""The choice of an engine, and the cost of importing it."""

import subprocess
import sys

import pytest

from cinder.jobs import engine_for


def test_an_engine_is_chosen_by_the_stores_url() -> None:
    urls = ("sqlite:///cinder.db", "postgresql://user@host/name", "postgres://user@host/name")

    engines = [type(engine_for(url)).__name__ for url in urls]

    assert engines == ["EmbeddedEngine", "PgqueuerEngine", "PgqueuerEngine"]


def test_a_database_without_an_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown kind of database 'mysql'"):
        engine_for("mysql://host/name")


def test_having_an_engine_imports_nothing_that_takes_long() -> None:
    code = (
        "import sys; from cinder.jobs import engine_for; import cinder.jobs.worker; "
        "engine_for('postgresql://host/name'); "
        "print(sorted({'pgqueuer', 'croniter', 'sqlalchemy', 'typer'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert output.decode().strip() == "[]"
