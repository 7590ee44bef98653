"""Methods that only the experiments need. Importing this module registers them; torch is imported when one is used.

A method is a module with `<Prefix>Config` and `<Prefix>Method`, and a folder of recipes.
"""

from hiergcn import register_method

register_method(
    "graph-unet",
    "Graph U-Net",
    "hiergcn_experiments.methods.graph_unet",
    "GraphUNet",
    "Learned pooling and unpooling (Gao & Ji, 2019).",
    package="torch_geometric",
)
register_method(
    "dgcn",
    "DGCN",
    "hiergcn_experiments.methods.dgcn",
    "DGCN",
    "Two GCNs, one on edges and one on random walks, that must agree (Zhuang & Ma, 2018).",
)
register_method(
    "planetoid-t",
    "Planetoid-T",
    "hiergcn_experiments.methods.planetoid",
    "PlanetoidT",
    "Embeddings of nodes that predict contexts and classes, transductive (Yang et al., 2016).",
)
register_method(
    "planetoid-i",
    "Planetoid-I",
    "hiergcn_experiments.methods.planetoid",
    "PlanetoidI",
    "The same with embeddings computed from features, inductive (Yang et al., 2016).",
)
register_method(
    "deepwalk",
    "DeepWalk",
    "hiergcn_experiments.methods.deepwalk",
    "DeepWalk",
    "A skip-gram of random walks, then a support vector machine (Perozzi et al., 2014).",
    package="gensim",
)
register_method(
    "hgcn-exchange",
    "H-GCN with exchange",
    "hiergcn_experiments.methods.exchange",
    "Exchange",
    "H-GCN whose levels convolve side by side and exchange after every layer.",
    recipes="hiergcn:recipes/hgcn",
)
