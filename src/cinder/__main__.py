"""Lets `python -m cinder` do what the `cinder` command does."""

from cinder.cli.main import main

main()
