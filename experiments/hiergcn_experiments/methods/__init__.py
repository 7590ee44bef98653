"""Methods that only the experiments need. Importing this module registers them; torch is imported when one is used."""

from typing import Any

from hiergcn import register_method


def _register(name: str, classes: str, title: str, about: str, **more: Any) -> None:
    """Register a method; `classes` is its module here and how the names of its config and its method begin."""
    config, method = (f"{__name__}.{classes}{end}" for end in ("Config", "Method"))
    recipes = more.pop("recipes", f"hiergcn_experiments:recipes/{name}")
    register_method(name, config, method, title=title, about=about, recipes=recipes, **more)


_about = "Learned pooling and unpooling (Gao & Ji, 2019)."
_register("graph-unet", "graph_unet:GraphUNet", "Graph U-Net", _about, package="torch_geometric", colour="violet")
_about = "Two GCNs, one on edges and one on random walks, that must agree (Zhuang & Ma, 2018)."
_register("dgcn", "dgcn:DGCN", "DGCN", _about, colour="pink")
_about = "Embeddings of nodes that predict contexts and classes, transductive (Yang et al., 2016)."
_register("planetoid-t", "planetoid:PlanetoidT", "Planetoid-T", _about)
_about = "The same with embeddings computed from features, inductive (Yang et al., 2016)."
_register("planetoid-i", "planetoid:PlanetoidI", "Planetoid-I", _about)
_about = "A skip-gram of random walks, then a support vector machine (Perozzi et al., 2014)."
_register("deepwalk", "deepwalk:DeepWalk", "DeepWalk", _about, package="gensim")
_about = "H-GCN whose levels convolve side by side and exchange after every layer."
_register("hgcn-exchange", "exchange:Exchange", "H-GCN with exchange", _about, recipes="hiergcn:recipes/hgcn")
