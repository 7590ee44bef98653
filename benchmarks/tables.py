"""Write all tables of benchmarks/README.md again from the files in `results/`. Nothing is measured.

python benchmarks/tables.py
"""

import batches
import coarsening
import coarsening_large
import first_training
import first_use
import gpu_traffic
import harmonic
import large
import memory
import models
import ray_speed
import read_csv
import replicas
import report_page
import scaling
import train_step
from harness import read_results, write_table

ONE_RESULT = {
    "coarsening_large": coarsening_large.table,
    "first_training": first_training.table,
    "first_use": first_use.table,
    "memory": memory.table,
    "models": models.table,
    "models-cuda": models.table,
    "ray_speed": ray_speed.table,
    "read_csv": read_csv.table,
    "replicas": replicas.table,
    "report_page": report_page.table,
    "scaling": scaling.table,
    "train_step": train_step.table,
    "coarsening": coarsening.table,
}


def main() -> None:
    for name, table in ONE_RESULT.items():
        for result in read_results(f"{name}.json"):
            write_table(name, table(result))
    write_table("batches", batches.table(read_results("batches-")))
    write_table("large", large.table())
    write_table("harmonic", harmonic.table())
    write_table("gpu_traffic", gpu_traffic.table(read_results("replicas.json")[0]["parts"]))


if __name__ == "__main__":
    main()
