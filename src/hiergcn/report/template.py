"""Render the page templates, and escape what goes into a script element."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


def rendered(template: str, *, script: Markup | None = None, **values: Any) -> str:
    """Return the page. Only `script` may run in it: the page's security policy names its digest."""
    environment = Environment(
        loader=PackageLoader("hiergcn.report"),
        autoescape=True,  # names come from users' files
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda value: "–" if value is None else f"{100 * value:.1f}"
    environment.filters["with_code"] = with_code
    return environment.get_template(template).render(script=script, script_hash=_digest(script), **values)


def with_code(text: str) -> Markup:
    """Turn text between backticks into <code> elements; everything is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick: nothing is code
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def explorer_script() -> Markup:
    """Return the explorer script, which `make explorer` builds from the folder `explorer`."""
    code = (files("hiergcn.report") / "static" / "explorer.js").read_text(encoding="utf-8")
    return Markup(code)  # noqa: S704  (our own file; its build removes any end of a script element)


def in_script(value: Any) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704  (just escaped)


def _digest(script: Markup | None) -> str | None:
    if script is None:
        return None
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
