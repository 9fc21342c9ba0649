"""Lets `python -m cinder` do what the `cinder` command does."""

from cinder.surfaces.cli.main import main

main()
