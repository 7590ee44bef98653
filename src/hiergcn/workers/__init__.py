"""Work in this process, in other processes of this machine, or on a Ray cluster; and the machine itself."""
