"""Fixtures shared by the tests of the experiments."""

from cli_shell import command as command
from cli_shell import folder as folder
