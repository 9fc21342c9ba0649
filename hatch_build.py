"""Compiles the modules that score blocks while cinder is built: they take half the time then.

They are the same source with or without: where mypyc or a C compiler is missing, or where
`CINDER_COMPILE=no` says so, the plain modules are installed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What a page costs is nearly all here; compiling the rest of `html` gains one per cent.
PACKAGE = Path("cinder/html/main_content")
GROUP = "cinder_main_content"
# What the compiled modules in the source tree were made of.
STAMP = PACKAGE / "compiled.sha256"

_COMPILE = """
import sys
from mypyc.build import mypycify
from setuptools import setup

target, group, *modules = sys.argv[1:]
extensions = mypycify(
    # The project's own settings of mypy need packages that a build may be without.
    ["--config-file=", "--ignore-missing-imports", *modules],
    opt_level="2",
    debug_level="0",
    target_dir=target,
    group_name=group,
)
setup(
    name=group,
    packages=[],
    ext_modules=extensions,
    script_args=["--quiet", "build_ext", "--build-lib", f"{target}/lib", "--build-temp", target],
)
"""


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, or to the source tree of an editable install."""

    PLUGIN_NAME = "custom"

    # Any: hatchling's own type.
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before hatchling collects the files."""
        source = Path(self.root) / "src"
        is_editable = version == "editable"
        digest = sources_digest(source)
        if is_editable and read_stamp(source) == digest and is_wanted():
            return
        if is_editable:
            remove_compiled(source)
        if not is_wanted():
            return
        with tempfile.TemporaryDirectory() as folder:
            output = compile_modules(source, Path(folder))
            if output is None:
                self.app.display_warning(
                    "cinder is installed without compiled modules: pages take longer to read"
                )
                return
            target = source if is_editable else Path(self.root) / "build/compiled"
            for file in output.rglob("*.*"):
                place = target / file.relative_to(output)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
                if not is_editable:
                    build_data["force_include"][str(place)] = str(file.relative_to(output))
        if is_editable:
            (source / STAMP).write_text(digest)
        else:
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


def is_wanted() -> bool:
    """Whether the environment does not say `CINDER_COMPILE=no`."""
    return os.environ.get("CINDER_COMPILE") != "no"


def compile_modules(source: Path, folder: Path) -> Path | None:
    """Compile the modules below a folder; return where they are, None where that failed."""
    modules = [str(file.relative_to(source)) for file in _sources(source)]
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _COMPILE, str(folder), GROUP, *modules],
        cwd=source,
        env={**os.environ, "MYPY_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.stderr.write("\n".join(done.stdout.splitlines()[-5:]) + "\n")
        return None
    return folder / "lib"


def sources_digest(source: Path) -> str:
    """Return what changes when the compiled modules have to be made again."""
    digest = hashlib.sha256(sysconfig.get_platform().encode() + sys.version.encode())
    for file in _sources(source):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def remove_compiled(source: Path) -> None:
    """Remove the compiled modules from the source tree: the plain ones are used then."""
    for file in (*source.glob(f"{GROUP}__mypyc.*"), *(source / PACKAGE).glob("*.so")):
        file.unlink()
    (source / STAMP).unlink(missing_ok=True)


def _sources(source: Path) -> list[Path]:
    return sorted((source / PACKAGE).glob("*.py"))


def read_stamp(source: Path) -> str | None:
    """Return the digest of what the compiled modules in the source tree were made of, if any."""
    stamp = source / STAMP
    return stamp.read_text() if stamp.exists() else None
