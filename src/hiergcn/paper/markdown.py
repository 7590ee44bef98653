"""The page as Markdown, for a repository's own pages."""

import re

from hiergcn.paper.blocks import Picture, Section, Table, Text


def markdown(title: str, intro: list[str], parts: list[Section]) -> str:
    lines = [f"# {title}", "", *_paragraphs(intro)]
    for part in parts:
        lines += [f"## {_heading(part)}", "", part.about, ""]
        for block in part.blocks:
            lines += _picture(block) if isinstance(block, Picture) else _table(block)
        lines += [f"- {note}" for note in part.notes]
        lines += [""] if part.notes else []
    return "\n".join(lines).rstrip() + "\n"


def _heading(part: Section) -> str:
    return part.title if part.name == "reading" else f"{part.title} (`{part.name}`)"


def _paragraphs(texts: list[str]) -> list[str]:
    return [line for text in texts for line in (text, "")]


def _picture(picture: Picture) -> list[str]:
    return [f"![{picture.description}](figures/{picture.name}.svg)", ""]


def _table(table: Table) -> list[str]:
    caption = [table.caption, ""] if table.caption else []
    head = "| " + " | ".join(table.columns) + " |"
    rule = "|" + "---|" * len(table.columns)
    rows = ["| " + " | ".join(_text(cell) for cell in row) + " |" for row in table.rows]
    return [*caption, head, rule, *rows, ""]


def _text(text: Text) -> str:
    main = f"**{_safe(text.main)}**" if text.strong else _safe(text.main)
    return main + "".join(f"<br><sub>{_safe(line)}</sub>" for line in text.below)


def _safe(text: str) -> str:
    return re.sub(r"([|<>])", lambda found: {"|": "\\|", "<": "&lt;", ">": "&gt;"}[found.group()], text)
