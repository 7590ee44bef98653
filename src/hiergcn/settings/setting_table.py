"""The settings of every method: type, default and meaning, read from the source without importing torch.

A setting is a field of the method's Config, of `TrainConfig` or of `CoarsenConfig`, and the string below the field says
what it means. Importing a method takes seconds; parsing its file takes milliseconds. So a wrong name or value is
refused at once, and `hiergcn settings` and `help(HGCNClassifier)` can show what the source says.
"""

import ast
import types
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from hiergcn.errors import InputError
from hiergcn.model import config_types
from hiergcn.model.config_types import Limits
from hiergcn.model.registry import method_source

GROUPS = ("model", "train", "coarsen")
SIBLING = {"hgcn": "hgcn-plus", "hgcn-plus": "hgcn"}
"""The model that is easily confused with another, because one of them is the default."""

_SHARED = {
    "train": ("hiergcn.settings.train_config", "TrainConfig"),
    "coarsen": ("hiergcn.coarsen.strategy", "CoarsenConfig"),
}
_KINDS = {"int": int, "float": float, "str": str, "bool": bool}
_MEANINGS = {"scaling": config_types.SCALING_MEANING}  # of settings that several methods have and few explain


class Setting(NamedTuple):
    """A setting of a method, as defined in its source."""

    name: str
    group: str
    kind: Any
    """int, float, str, bool, a Literal, one of these with None, or one with `Limits`."""
    default: Any
    about: str

    @property
    def values(self) -> str:
        """The values that it takes, in words."""
        kind, optional = _without_none(self.kind)
        if get_origin(kind) is Annotated:
            words: str = kind.__metadata__[0].words
        elif get_origin(kind) is Literal:
            *others, last = map(str, get_args(kind))
            words = f"{', '.join(others)} or {last}"
        else:
            words = {bool: "true or false", int: "a whole number", float: "a number", str: "a name"}[kind]
        return words + (", or none" if optional else "")

    def parsed(self, given: Any) -> Any:
        """Return a value of the right type; text is parsed, so that `--set hidden=64` works. Refuse other values."""
        kind, optional = _without_none(self.kind)
        limits: Limits | None = kind.__metadata__[0] if get_origin(kind) is Annotated else None
        plain = get_args(kind)[0] if limits else kind
        if isinstance(given, str) and optional and given.lower() in ("none", "null"):
            return None
        value = parse(self.name, given, plain) if isinstance(given, str) else given
        choices = get_args(kind) if get_origin(kind) is Literal else None
        if (limits and not limits.allow(value)) or (choices and value not in choices):
            raise InputError(f"{self.name} is {value!r}; give {self.values}.")
        return value


class MethodFacts(NamedTuple):
    """Class attributes of a method; `Method` explains them."""

    uses_hierarchy: bool
    learns_at_once: bool
    predicts_numbers: bool
    relearns: bool


@cache
def method_settings(method: str) -> dict[str, Setting]:
    """Return the settings of a method in all groups, by name, with the defaults of their classes."""
    module, prefix = method_source(method)
    places = {"model": (module, f"{prefix}Config")} | _SHARED
    return {one.name: one for group in GROUPS for one in _fields(*places[group], group)}


@cache
def method_facts(method: str) -> MethodFacts:
    """Return the class attributes of a method without importing it."""
    module, prefix = method_source(method)
    found: dict[str, Any] = {}
    for _, statement in _body(module, f"{prefix}Method"):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = _literal(statement.value)
    return MethodFacts(*(bool(found.get(name)) for name in MethodFacts._fields))


def without_effect(method: str, group: str) -> str | None:
    """Return why the settings of a group do not matter to a method; None if they do."""
    facts = method_facts(method)
    if group == "train" and facts.learns_at_once:
        return f"{method} learns in one step and without gradients"
    if group == "coarsen" and not facts.uses_hierarchy:
        return f"{method} does not coarsen the graph"
    return None


def parsed_changes(method: str, changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return changed settings with their values, by group. Refuse unknown names, wrong values and those without effect.

    What depends on several settings is checked by their class.
    """
    known, grouped = method_settings(method), dict[str, dict[str, Any]]()
    for name, value in changes.items():
        if name not in known:
            raise InputError(f"{method} has no setting named {name!r}{_hint(method, name, known)}")
        setting = known[name]
        if why := without_effect(method, setting.group):
            raise InputError(f"{name} has no effect here: {why}; leave it out.")
        grouped.setdefault(setting.group, {})[name] = setting.parsed(value)
    return grouped


def effective(method: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the changes that the method has and that matter to it."""
    known = method_settings(method)
    return {name: changes[name] for name in changes if name in known and not without_effect(method, known[name].group)}


def check_for_any(methods: Collection[str], changes: Mapping[str, Any]) -> None:
    """Refuse settings that none of the methods has, and values that one of them does not take."""
    known = {name for method in methods for name in method_settings(method)}
    for name in changes:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; see `hiergcn settings MODEL`, and name that model."
            raise InputError(f"No candidate has a setting {name!r}{hint}")
    for method in methods:
        parsed_changes(method, effective(method, changes))


def parse(name: str, text: str, kind: Any) -> Any:
    """Return the text of a setting as a value of its type: int, float, bool, str, Literal, or one of these or None."""
    kind, optional = _without_none(kind)
    if optional and text.lower() in ("none", "null"):
        return None
    if get_origin(kind) is Literal or kind is str:
        return text  # the config class checks it and names the choices
    if kind is bool:
        truth = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
        if truth is None:
            raise InputError(f"{name} is {text!r}; give true or false.")
        return truth
    try:
        return kind(text)
    except ValueError:
        word = "a whole number" if kind is int else "a number"
        raise InputError(f"{name} is {text!r}; give {word}.") from None


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Return a type without its None, and whether it had one."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind, False
    return next(part for part in get_args(kind) if part is not types.NoneType), True


def _hint(method: str, name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about an unknown setting: the model that has it, or the nearest name."""
    near = get_close_matches(name, known, n=1)
    other = SIBLING.get(method)
    if other and method_settings(other).get(name, (None, None))[1] == "model":
        alike = [one for one in sorted(known) if one.endswith(f"_{name}")] or near  # dropout: input_dropout
        nearest = f", or set {' or '.join(alike)}" if alike else ""
        return f", but {other} has: choose that model{nearest}."
    return f"; did you mean {near[0]}?" if near else f"; the settings are {', '.join(sorted(known))}."


def _fields(module: str, name: str, group: str) -> list[Setting]:
    """Return the fields of a dataclass, those of its bases first; one that is defined again keeps its meaning."""
    found: dict[str, Setting] = {}
    body = _body(module, name)
    for (where, statement), (_, after) in zip(body, [*body[1:], (module, ast.Pass())], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        kind, field = _kind(statement.annotation, where), statement.target.id
        if kind is None or statement.value is None:
            continue
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        before = found[field].about if field in found else _MEANINGS.get(field, "")
        about = " ".join(str(said).split("\n\n")[0].split()) if said else before
        found[field] = Setting(field, group, kind, _default(statement.value), about)
    return list(found.values())


@cache
def _tree(module: str) -> ast.Module:
    """Return the syntax of a module."""
    package, _, inside = module.partition(".")
    return ast.parse(files(package).joinpath(f"{inside.replace('.', '/')}.py").read_text(encoding="utf-8"))


def _body(module: str, name: str) -> list[tuple[str, ast.stmt]]:
    """Return the statements of a class with their modules, those of its bases first; none if it is not ours."""
    where, statement = _definition(module, name)
    if not isinstance(statement, ast.ClassDef):
        return []
    bases = [base.id for base in statement.bases if isinstance(base, ast.Name)]
    own = [(where, part) for part in statement.body]
    return [part for base in reversed(bases) for part in _body(where, base)] + own


def _definition(module: str, name: str) -> tuple[str, ast.AST | None]:
    """Return the module that defines a name, and its class or its value; an import is followed."""
    for statement in _tree(module).body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return module, statement
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            return module, statement.value
        if isinstance(statement, ast.ImportFrom) and any((one.asname or one.name) == name for one in statement.names):
            package = (statement.module or "").partition(".")[0]
            ours = package in ("hiergcn", module.partition(".")[0])
            return _definition(statement.module or "", name) if ours else (module, None)
    return module, None


def _kind(annotation: ast.AST | None, module: str) -> Any:
    """Return the type that an annotation names; None if it is not the type of a setting."""
    match annotation:
        case ast.Constant(value=None):
            return types.NoneType
        case ast.Name(id=name) if name in _KINDS:
            return _KINDS[name]
        case ast.Name(id=name) if get_origin(getattr(config_types, name, None)) in (Annotated, Literal):
            return getattr(config_types, name)
        case ast.Name(id=name):
            where, value = _definition(module, name)
            return None if value is None or isinstance(value, ast.ClassDef) else _kind(value, where)
        case ast.BinOp(left=left, right=right):
            kinds = [kind for kind in (_kind(left, module), _kind(right, module)) if kind is not None]
            return Union[tuple(kinds)] if kinds else None  # noqa: UP007  (as many as there are)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            listed = choices.elts if isinstance(choices, ast.Tuple) else [choices]
            return Literal[tuple(_literal(one) for one in listed)]
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, ast.Call(args=[low])])):
            return Annotated[_kind(kind, module), config_types.at_least(_literal(low))]
    return None


def _default(value: ast.expr) -> Any:
    """Return the default of a field, also of `field(default=...)`."""
    if isinstance(value, ast.Call):
        value = next(word.value for word in value.keywords if word.arg == "default")
    return _literal(value)


def _literal(node: ast.AST) -> Any:
    """Return the value of a literal; None for other expressions."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
