"""What methods and datasets are called where people read."""

NAMES = {
    "deepwalk": "DeepWalk",
    "planetoid-t": "Planetoid-T",
    "planetoid-i": "Planetoid-I",
    "gcn": "GCN",
    "gat": "GAT",
    "dgcn": "DGCN",
    "hgcn": "H-GCN",
    "hgcn-nell": "H-GCN, our recipe for NELL",
    "appnp": "APPNP",
    "grand": "GRAND",
    "graph-unet": "Graph U-Net",
    "mlp": "MLP",
    "label-propagation": "label propagation",
    "no-coarsening": "H-GCN without coarsening and refining",
    "no-embedding": "H-GCN without node-weight embedding",
    "no-coarsening-nell": "our recipe without coarsening and refining",
    "no-embedding-nell": "our recipe without node-weight embedding",
}
TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "nell": "NELL"}
