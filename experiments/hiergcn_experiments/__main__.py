"""`python -m hiergcn_experiments` is the command `hiergcn` with `reproduce`, even if nothing is installed."""

from hiergcn.cli import add_command, shell
from hiergcn_experiments.cli import reproduce

add_command("reproduce", reproduce)
shell()
