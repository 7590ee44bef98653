"""The table of methods."""

import subprocess
import sys

import pytest

from hiergcn.errors import InputError
from hiergcn.model.method import Method
from hiergcn.settings.registry import config_class, method_class, method_names, method_title


@pytest.mark.parametrize("name", method_names())
def test_every_entry_has_a_title_and_its_classes(name: str) -> None:
    assert method_title(name)
    assert issubclass(method_class(name), Method)
    assert method_class(name)(config_class(name)()).config == config_class(name)()


def test_titles_are_unique() -> None:
    assert len({method_title(name) for name in method_names()}) == len(method_names())


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean hgcn"):
        method_title("hgnc")
    with pytest.raises(InputError, match=r"choose one of hgcn, .*grand"):
        method_title("zzz")


def test_reading_the_table_does_not_import_torch() -> None:
    script = "import sys, hiergcn.settings.registry as table\ntable.method_names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
