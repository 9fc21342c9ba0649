"""The sites of documentation that benchmarks read, from Debian's packages."""

import os
import subprocess

from training.documentation import DOC_SITES, DocSite


def install_doc_sites() -> list[DocSite]:
    """Return the sites that are there, or could be installed; say which are not."""
    return [site for site in DOC_SITES if _install(site)]


def _install(site: DocSite) -> bool:
    if not site.find_pages() and os.geteuid() == 0:
        command = ("apt-get", "install", "--yes", "--quiet", site.package)
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if not site.find_pages():
        print(f"{site.package} is not installed: apt-get install {site.package} (as root)")
        return False
    return True
