from cli_shell import command as command
from cli_shell import folder as folder
from cli_shell import own_files as own_files
