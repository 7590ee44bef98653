"""A NetworkX graph whose nodes are names: the characters of Les Misérables, linked if they appear together.

Nineteen of the 77 are assigned to a circle by hand; the circles of the others are predicted.
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

g = nx.les_miserables_graph()  # edge weight: how often two appear together
for circle, people in CIRCLES.items():
    for person in people:
        g.nodes[person]["circle"] = circle

graph = Graph.from_networkx(g, label="circle", name="Les Misérables")
print(graph)
classifier = HGCNClassifier(seed=0).fit(graph)

table = pd.DataFrame({"person": graph.ids, "circle": classifier.predict(), "given": graph.labels >= 0})  # type: ignore[operator]
for group, rows in table[~table["given"]].groupby("circle"):
    print(f"{group}: {', '.join(rows['person'])}")

# The circles of some others, from the novel:
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
correct = sum(found[person] == circle for person, circle in EXPECTED.items())
print(f"{correct} of {len(EXPECTED)} as in the novel")
