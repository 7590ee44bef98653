"""`python -m hiergcn_experiments` is the command `hiergcn` with `reproduce`, even if nothing is installed."""

import os

# Worker processes read it, too.
os.environ.setdefault("HIERGCN_PLUGINS", "hiergcn_experiments.graphs,hiergcn_experiments.methods")

from hiergcn.cli import add_command, shell
from hiergcn_experiments.cli import reproduce

add_command("reproduce", reproduce)
shell()
