"""Pieces of HTML that the pages share: look, tables, pictures. Nothing is loaded from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from reproseed.verify.figures import to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
.reproseed{--ground:#fff;--ink:#1a1b1e;--soft:#5b5e66;--line:#d9dbe0;--box:#f5f6f8;
--good:#1c7c54;--bad:#b3263a;--open:#8a5a00;color-scheme:light dark;background:var(--ground);
color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;max-width:1180px;
margin:0 auto;padding:20px;box-sizing:border-box}
@media (prefers-color-scheme:dark){.reproseed{--ground:#16181c;--ink:#e6e7ea;--soft:#a3a7b0;
--line:#363a42;--box:#1f2227;--good:#5cc79b;--bad:#f0808f;--open:#e5b454}
body.reproseed-page{background:#16181c}}
.reproseed *{box-sizing:border-box}
.reproseed h1{font-size:1.5rem;margin:0 0 .2rem;line-height:1.25;color:var(--ink)}
.reproseed h2{font-size:1.05rem;margin:1.8rem 0 .5rem;color:var(--ink)}
.reproseed p{margin:.3rem 0}
.reproseed .soft{color:var(--soft)}
.reproseed .good{color:var(--good)}.reproseed .bad{color:var(--bad)}
.reproseed .open{color:var(--open)}
.reproseed ul{margin:.4rem 0;padding-left:1.2rem}
.reproseed li{margin:.25rem 0;overflow-wrap:anywhere}
.reproseed pre,.reproseed code{font:13px/1.45 ui-monospace,Consolas,"DejaVu Sans Mono",monospace}
.reproseed pre{background:var(--box);border:1px solid var(--line);border-radius:6px;
padding:.6rem .7rem;margin:.3rem 0 .8rem;white-space:pre-wrap;overflow-wrap:anywhere;color:inherit}
.reproseed .pictures{display:grid;gap:1.6rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr))}
.reproseed figure{margin:0;min-width:0;max-width:680px}
.reproseed svg{width:100%;height:auto;display:block;color:var(--ink)}
.reproseed svg text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif!important}
.reproseed figcaption{color:var(--soft);font-size:.88rem;margin-top:.3rem}
.reproseed .wide{overflow-x:auto}
.reproseed table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;
background:none;color:inherit;margin:0}
.reproseed th,.reproseed td{text-align:left;padding:.3rem .9rem .3rem 0;vertical-align:top;
border-bottom:1px solid var(--line);white-space:nowrap;background:none}
.reproseed td.long{white-space:normal;min-width:16rem;overflow-wrap:anywhere}
.reproseed th{color:var(--soft);font-weight:600}
.reproseed summary{cursor:pointer;margin:.4rem 0}
"""


def document(title: str, body: str) -> str:
    """Return a whole page around a fragment."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>body{{margin:0}}</style>\n</head>\n"
        f'<body class="reproseed-page">\n{body}\n</body>\n</html>\n'
    )


def wrap(*parts: str) -> str:
    """Return a fragment with its style, for a page or a notebook's cell."""
    inner = "\n".join(part for part in parts if part)
    return f'<div class="reproseed"><style>{STYLE}</style>\n{inner}\n</div>'


def section(title: str, *parts: str) -> str:
    """Return a heading and what belongs under it; "" where that is empty."""
    inner = "\n".join(part for part in parts if part)
    return f"<h2>{escape(title)}</h2>\n{inner}" if inner else ""


def items(texts: Iterable[str]) -> str:
    """Return a list of sentences; "" for none."""
    rows = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{rows}</ul>" if rows else ""


def table(head: Sequence[str], rows: Iterable[Sequence[object]], long: Sequence[str] = ()) -> str:
    """Return a table that scrolls sideways by itself; columns named in `long` may wrap."""
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=long' if name in long else ''}>{escape(str(cell))}</td>"
            for name, cell in zip(head, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    if not body:
        return ""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def commands(steps: Iterable[Mapping[str, str]]) -> str:
    """Return what to do next: why, and the command."""
    return "".join(
        f"<p>{escape(step['why'][:1].upper() + step['why'][1:])}:</p><pre>{escape(step['command'])}</pre>"
        for step in steps
    )


def pictures(figures: Mapping[str, Figure], captions: Mapping[str, str]) -> str:
    """Return figures with their captions, side by side where there is room."""
    inner = "".join(
        f"<figure>{to_svg(figure, f'picture: {name}')}<figcaption>{escape(captions[name])}</figcaption></figure>"
        for name, figure in figures.items()
    )
    return f'<div class="pictures">{inner}</div>' if inner else ""


def details(title: str, inner: str) -> str:
    """Return something folded away."""
    return f"<details><summary>{escape(title)}</summary>{inner}</details>" if inner else ""
