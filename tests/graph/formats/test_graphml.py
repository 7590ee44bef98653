"""GraphML from other programs, and files that are not to be trusted."""

from pathlib import Path

import numpy as np
import pytest

from hiergcn.errors import InputError
from hiergcn.graph import Graph

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
OTHERS = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="topic" attr.type="string"/>
<key id="d1" for="node" attr.name="age" attr.type="int"/>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="directed">
<node id="a"><data key="d0">art</data><data key="d1">30</data></node><node id="b"><data key="d1">41</data></node>
<edge source="a" target="b"><data key="d2">2.5</data></edge></graph></graphml>
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.graphml"


def test_a_file_of_another_program(path: Path) -> None:
    path.write_text(HEAD + OTHERS)
    graph = Graph.from_graphml(path, label="topic", features=["age"])
    assert graph.ids.tolist() == ["a", "b"]
    assert graph.truth.tolist() == [0, -1]
    assert np.asarray(graph.features).tolist() == [[30], [41]]
    assert graph.adjacency.toarray().tolist() == [[0, 2.5], [2.5, 0]]
    assert graph.name == "people"


def test_entities_are_refused_unread(path: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("password")
    for declared in (
        f'<!DOCTYPE graphml [<!ENTITY x SYSTEM "{secret.as_uri()}">]>',
        '<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        f'<!DOCTYPE graphml SYSTEM "{secret.as_uri()}">',
    ):
        path.write_text(HEAD + declared + "\n" + OTHERS.replace("art", "&x;"))
        with pytest.raises(InputError, match=r"people\.graphml, line 2: a document type is declared"):
            Graph.from_graphml(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1 is not well-formed XML \\(no element found"),
        (HEAD + "<graphml>", "line 2 is not well-formed XML"),
        ("a,b\n1,2\n", "not well-formed XML"),
        ("<html><body/></html>", "not readable GraphML"),
        (OTHERS.replace(">30<", ">old<"), "not readable GraphML \\(invalid literal for int"),
        (OTHERS.replace("<graph ", "<graph><node id='a'/></graph><graph "), None),
        (OTHERS.replace('key="d0"', 'key="d9"'), "not readable GraphML"),
    ],
)
def test_broken_files(path: Path, content: str, message: str | None) -> None:
    path.write_text(content)
    if message is None:  # of several graphs the first is read
        assert Graph.from_graphml(path).n_nodes == 1
        return
    with pytest.raises(InputError, match=message):
        Graph.from_graphml(path)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Graph.from_graphml(tmp_path / "none.graphml")
    with pytest.raises(InputError, match="cannot be read"):
        Graph.from_graphml(tmp_path)


def test_what_xml_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    graph = Graph.from_edges([0], [1], ids=np.array(["a\x00", "b"], dtype=object))
    with pytest.raises(InputError, match="XML does not allow"):
        graph.to_graphml(tmp_path / "g.graphml")
    assert list(tmp_path.iterdir()) == []


def test_kept_text_that_was_changed_by_hand(path: Path) -> None:
    graph = Graph.from_edges([0], [1], features=[[1.0], [2.0]])
    graph.to_graphml(path)
    text = path.read_text()
    path.write_text(text.replace("[1.0]", "[1.0"))
    with pytest.raises(InputError, match="node '0': its features are not a list of numbers in JSON"):
        Graph.from_graphml(path)
    path.write_text(text.replace('{"name"', '"name"'))
    with pytest.raises(InputError, match="of the graph is not JSON"):
        Graph.from_graphml(path)
