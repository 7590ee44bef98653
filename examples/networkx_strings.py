"""A NetworkX graph whose nodes are names: the characters of Les Misérables, joined where they appear together.

Nineteen of the 77 are placed in a circle by hand; the others find theirs by the company they keep.
"""

import networkx as nx
import pandas as pd

from hiergcn import Graph, HGCNClassifier

CIRCLES = {
    "the bishop's town": ["Myriel", "MlleBaptistine", "Napoleon", "CountessDeLo"],
    "Fantine's friends": ["Fantine", "Tholomyes", "Favourite", "Dahlia"],
    "the trial": ["Judge", "Champmathieu", "Brevet"],
    "the gang": ["Thenardier", "Montparnasse", "Babet", "Claquesous"],
    "the barricade": ["Enjolras", "Combeferre", "Courfeyrac", "Bahorel"],
}

g = nx.les_miserables_graph()  # edges have a weight: how often two appear together
for circle, people in CIRCLES.items():
    for person in people:
        g.nodes[person]["circle"] = circle

graph = Graph.from_networkx(g, label="circle", name="Les Misérables")
print(graph)
classifier = HGCNClassifier(seed=0).fit(graph)

table = pd.DataFrame({"person": graph.ids, "circle": classifier.predict(), "given": graph.labels >= 0})  # type: ignore[operator]
for group, rows in table[~table["given"]].groupby("circle"):
    print(f"{group}: {', '.join(rows['person'])}")

# Where readers of the novel would put some of them:
EXPECTED = {
    "Zephine": "Fantine's friends",
    "Blacheville": "Fantine's friends",
    "Gueulemer": "the gang",
    "Brujon": "the gang",
    "Feuilly": "the barricade",
    "Joly": "the barricade",
    "Grantaire": "the barricade",
    "Cochepaille": "the trial",
    "Chenildieu": "the trial",
    "OldMan": "the bishop's town",
    "Cravatte": "the bishop's town",
}
found = table.set_index("person")["circle"]
right = sum(found[person] == circle for person, circle in EXPECTED.items())
print(f"{right} of {len(EXPECTED)} as a reader would have it")
