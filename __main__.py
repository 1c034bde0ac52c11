"""`python -m railplan`."""

from .cli import main

main()
