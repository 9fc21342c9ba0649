"""User data directories: made for workers, kept for people, swept after the dead."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cinder.fetch.browser.profiles import ProfileRoot
from tests.fetch.browser.runtime import make_profile

LONG_AGO = 1_000_000_000


def test_each_worker_gets_a_folder_of_its_own_that_only_its_user_may_enter(tmp_path: Path) -> None:
    root = ProfileRoot(tmp_path / "browser")
    first, second = root.make_slave(), root.make_slave()
    assert [first.name, second.name] == [f"slave_{os.getpid()}_{n}" for n in (1, 2)]
    assert first.stat().st_mode & 0o777 == 0o700


def test_a_new_folder_has_nothing_of_an_earlier_process_with_this_ones_number(
    tmp_path: Path,
) -> None:
    left = tmp_path / f"slave_{os.getpid()}_1" / "Cookies"
    left.parent.mkdir()
    left.write_text("old")
    assert list(ProfileRoot(tmp_path).make_slave().iterdir()) == []


def test_a_workers_folder_is_removed_and_a_persons_is_not(tmp_path: Path) -> None:
    root = ProfileRoot(tmp_path)
    slave, master = root.make_slave(), make_profile(tmp_path)
    for profile in (slave, master, slave):
        root.remove(profile)
    assert list(tmp_path.iterdir()) == [master]


def test_profiles_of_ended_processes_are_swept_and_all_else_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    root = ProfileRoot(tmp_path)
    kept = [root.make_slave(), *(make_profile(tmp_path, n) for n in ("master", "slave_of_fashion"))]
    (tmp_path / f"slave_{ended.pid}_1").mkdir()
    assert root.sweep() == [f"slave_{ended.pid}_1"]
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_profiles_of_a_running_process_are_not_swept(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as running:
        (tmp_path / f"slave_{running.pid}_1").mkdir()
        assert ProfileRoot(tmp_path).sweep() == []


@pytest.mark.parametrize("pid", [1, os.getpid()], ids=["the first", "this"])
def test_a_profile_older_than_the_process_under_its_number_is_swept(
    tmp_path: Path, pid: int
) -> None:
    profile = tmp_path / f"slave_{pid}_7"
    profile.mkdir()
    os.utime(profile, (LONG_AGO, LONG_AGO))
    assert ProfileRoot(tmp_path).sweep() == [profile.name]


def test_there_is_nothing_to_sweep_before_the_first_browser(tmp_path: Path) -> None:
    assert ProfileRoot(tmp_path / "none").sweep() == []
