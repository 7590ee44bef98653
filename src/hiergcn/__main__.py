"""`python -m hiergcn` is the command `hiergcn`."""

from hiergcn.cli import shell

shell()
