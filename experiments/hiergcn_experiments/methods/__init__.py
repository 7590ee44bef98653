"""Methods that only the experiments need. Importing this module registers them; torch is imported when one is used."""

from hiergcn import register_method

register_method(
    "graph-unet",
    "hiergcn_experiments.methods.graph_unet:GraphUNetConfig",
    "hiergcn_experiments.methods.graph_unet:GraphUNetMethod",
    title="Graph U-Net",
    about="Learned pooling and unpooling (Gao & Ji, 2019).",
    recipes="hiergcn_experiments:recipes/graph-unet",
    package="torch_geometric",
    colour="violet",
)
register_method(
    "dgcn",
    "hiergcn_experiments.methods.dgcn:DGCNConfig",
    "hiergcn_experiments.methods.dgcn:DGCNMethod",
    title="DGCN",
    about="Two GCNs, one on edges and one on random walks, that must agree (Zhuang & Ma, 2018).",
    recipes="hiergcn_experiments:recipes/dgcn",
    colour="pink",
)
register_method(
    "planetoid-t",
    "hiergcn_experiments.methods.planetoid:PlanetoidTConfig",
    "hiergcn_experiments.methods.planetoid:PlanetoidTMethod",
    title="Planetoid-T",
    about="Embeddings of nodes that predict contexts and classes, transductive (Yang et al., 2016).",
    recipes="hiergcn_experiments:recipes/planetoid-t",
)
register_method(
    "planetoid-i",
    "hiergcn_experiments.methods.planetoid:PlanetoidIConfig",
    "hiergcn_experiments.methods.planetoid:PlanetoidIMethod",
    title="Planetoid-I",
    about="The same with embeddings computed from features, inductive (Yang et al., 2016).",
    recipes="hiergcn_experiments:recipes/planetoid-i",
)
register_method(
    "deepwalk",
    "hiergcn_experiments.methods.deepwalk:DeepWalkConfig",
    "hiergcn_experiments.methods.deepwalk:DeepWalkMethod",
    title="DeepWalk",
    about="A skip-gram of random walks, then a support vector machine (Perozzi et al., 2014).",
    recipes="hiergcn_experiments:recipes/deepwalk",
    package="gensim",
)
register_method(
    "hgcn-exchange",
    "hiergcn_experiments.methods.exchange:ExchangeConfig",
    "hiergcn_experiments.methods.exchange:ExchangeMethod",
    title="H-GCN with exchange",
    about="H-GCN whose levels convolve side by side and exchange after every layer.",
    recipes="hiergcn:recipes/hgcn",
)
