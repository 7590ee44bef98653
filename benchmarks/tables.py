"""Write the tables of README.md anew from `results/`, where files of another machine have come.

python benchmarks/tables.py
"""

import batches
import large
import moved
import replicas
from measuring import read_results, write_table


def main() -> None:
    write_table("batches", batches.table(read_results("batches-")))
    write_table("large", large.table())
    seeds = read_results("replicas")[0]
    write_table("replicas", replicas.table(seeds))
    write_table("moved", moved.table(seeds["parts"]))


if __name__ == "__main__":
    main()
