"""Render the page templates, and escape what goes into a script element."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from hiergcn.settings.settings import Settings

EQUAL = 1e-9
"""A standard deviation up to this is rounding."""


def rendered(template: str, *, script: Markup | None = None, package: str = "hiergcn.reports", **values: Any) -> str:
    """Return the page of a template in `package`. Only `script` may run in it: its security policy names the digest."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # only a page needs it

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, "hiergcn.reports"))]),
        autoescape=True,  # names come from users' files
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": in_percent,
        "mean_and_std": mean_and_std,
        "breakable": breakable,
        "capital": lambda text: text[:1].upper() + text[1:],
        "signed": signed,
    }
    digest = base64.b64encode(hashlib.sha256((script or "").encode()).digest()).decode("ascii")
    script_hash = None if script is None else f"sha256-{digest}"
    return environment.get_template(template).render(script=script, script_hash=script_hash, **values)


def in_percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def mean_and_std(
    summary: Mapping[str, float | None] | None, text: Callable[[float], str] = lambda share: f"{100 * share:.1f}"
) -> str:
    """Format a summary over seeds, by default in per cent; one seed, or seeds that are equal, have no spread."""
    if summary is None or summary["mean"] is None:
        return "–"
    std = summary["std"] or 0.0
    return text(summary["mean"]) + (f" ± {text(std)}" if std > EQUAL else "")


def signed(text: str) -> str:
    """Return numbers with a true minus sign, and zero without a sign."""
    return re.sub(r"[+-](0(?:\.0+)?)(?![.\d])", r"\1", text).replace("-", "−")


def settings_rows(settings: Settings, reasons: Mapping[str, str], prefix: str = "") -> list[tuple[Any, ...]]:
    """Return the rows of the table of settings: group, name, value, reason."""
    groups = settings.to_dict()
    return [
        (prefix + group, name, value, reasons.get(name, ""))
        for group in ("model", "train", "coarsen")
        for name, value in groups[group].items()
    ]


def breakable(name: str) -> Markup:
    """Let a long name be broken after underscores, hyphens and slashes."""
    return Markup(re.sub(r"(?<=\w)([_/-])(?=\w)", r"\1<wbr>", str(escape(name))))  # noqa: S704  (just escaped)


def script(name: str) -> Markup:
    """Return a script that `make explorer` builds: `page` for every page, `explorer` for one with a hierarchy."""
    code = (files("hiergcn.reports") / "static" / f"{name}.js").read_text(encoding="utf-8")
    return Markup(code)  # noqa: S704  (our own file; its build removes any end of a script element)


def in_script(value: Any) -> Markup:
    """Return JSON that cannot close the script element around it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704  (just escaped)
