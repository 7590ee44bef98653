"""`python -m hiergcn_experiments` is the command `hiergcn` with `reproduce`, even if nothing is installed."""

import os

from hiergcn.cli import add_command, shell
from hiergcn.plugins import VARIABLE
from hiergcn_experiments.cli import reproduce

os.environ.setdefault(VARIABLE, "hiergcn_experiments.graphs")  # worker processes read it, too
add_command("reproduce", reproduce)
shell()
