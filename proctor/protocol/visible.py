"""The visible part of a text: the part that a person sees in a chat window or a mail client.

The following parts are hidden:

* comments of HTML and of Markdown (``[//]: # (…)``)
* characters without a glyph
* elements that aren't displayed, such as ``display: none``, font size 0, white on white, ``hidden`` or ``script``
* everything after a gap of ``GAP`` lines without a letter or digit

Styles are read as CSS 2.2 defines them, from attributes and classes. The work is proportional to the text's length.
"""

import unicodedata
from collections import Counter
from html import unescape

from proctor.language.patterns import compiled

READ_AT_MOST = 100_000
"""The number of characters that are examined; the rest of a text is ignored."""

GAP = 20
"""Lines without a letter or digit after which a person stops looking for more text."""

_NO_GLYPH = r"[\p{Cf}\x{115F}\x{1160}\x{2800}\x{3164}\x{FFA0}\x{00AD}]"
_MARKUP = r"<!--.*?(?:-->|\z)|</?[a-z][a-z0-9-]*(?:\s[^<>]*|/)?>"
_MARKDOWN_COMMENT = r"(?:\A|\n)[ \t]{0,3}\[(?://|comment|#)\]:[^\n]*"
_NAME = r"\A</?([a-z][a-z0-9-]*)"
_ATTRIBUTE = r"""\s([a-z-]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?"""
_CLASS_RULE = r"\.([a-z_][\w-]*)[^{}]*\{([^{}]*)\}"
_DECLARATION = r"([a-z-]+)\s*:\s*([^;]+)"

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_NEVER_SHOWN = frozenset(["head", "script", "style", "template", "title", "noscript", "noembed"])
_LINES = frozenset(
    (
        *("address", "br", "blockquote", "div", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol"),
        *("p", "pre", "section", "table", "td", "th", "tr", "ul"),
    )
)
_ZERO = r"\A[+-]?0*(?:\.0+)?(?:px|pt|em|rem|%|ex|vh|vw)?\z"
_TINY = r"\A(?:0*[01](?:\.\d+)?(?:px|pt)|0*\.[0-2]\d*(?:em|rem))\z"
_FAR_OFF = r"\A-\s*\d{3,}"
_WHITE = (
    r"\A(?:white|snow|ghostwhite|whitesmoke|ivory|floralwhite|#[ef]{3,4}|#(?:[f][0-9a-f]){3,4}|"
    r"rgba?\(\s*(?:2[45]\d[\s,]+){2}2[45]\d\b.*|hsla?\(.*\b(?:100|9[5-9])%.*)\z"
)
_SEE_THROUGH = r"\A(?:transparent|rgba\(.*,\s*0?\.?0+\s*\)|#[0-9a-f]{6}00|#[0-9a-f]{3}0)\z"


def visible(text: str) -> str:
    """Return the part of a text that its reader sees, without markup.

    The text may be plain, Markdown or HTML. Characters are returned in their usual form (Unicode's NFKC).
    """
    seen = text[:READ_AT_MOST]
    if not seen.isascii():
        seen = compiled(_NO_GLYPH).sub("", unicodedata.normalize("NFKC", seen))
    if "[" in seen:
        seen = compiled(_MARKDOWN_COMMENT).sub("", seen)
    if "<" in seen:
        seen = _extract_shown(seen)
    return _before_gap(unescape(seen) if "&" in seen else seen)


def _extract_shown(html: str) -> str:
    """Return the text of the displayed elements; elements that begin a line get a line end."""
    hidden_classes = _hidden_classes(html) if "<style" in html.lower() else frozenset()
    shown: list[str] = []
    open_tags: list[tuple[str, bool]] = []
    counts, hidden, end = Counter[str](), 0, 0
    for markup in compiled(_MARKUP).finditer(html):
        if not hidden:
            shown.append(html[end : markup.start()])
        end, tag = markup.end(), markup.group()
        if tag.startswith("<!--"):
            continue
        name = compiled(_NAME).search(tag).group(1).lower()
        if name in _LINES and not hidden:
            shown.append("\n")
        if tag.startswith("</"):
            while counts[name]:
                last, was_hidden = open_tags.pop()
                counts[last] -= 1
                hidden -= was_hidden
                if last == name:
                    break
        elif name not in _VOID and not tag.endswith("/>"):
            is_hidden = name in _NEVER_SHOWN or _is_hidden(tag, hidden_classes)
            open_tags.append((name, is_hidden))
            counts[name] += 1
            hidden += is_hidden
    if not hidden:
        shown.append(html[end:])
    return "".join(shown)


def _hidden_classes(html: str) -> frozenset[str]:
    rules = compiled(_CLASS_RULE).finditer(html)
    return frozenset(rule.group(1).lower() for rule in rules if _hides(_declarations(rule.group(2))))


def _is_hidden(tag: str, hidden_classes: frozenset[str]) -> bool:
    values = {
        match.group(1).lower(): (match.group(2) or "").strip("\"'").lower()
        for match in compiled(_ATTRIBUTE).finditer(tag)
    }
    styles = _declarations(values.get("style", ""))
    for attribute, name in (("color", "color"), ("bgcolor", "background"), ("size", "font-size")):
        if attribute in values:
            styles.setdefault(name, values[attribute])
    return "hidden" in values or not hidden_classes.isdisjoint(values.get("class", "").split()) or _hides(styles)


def _declarations(style: str) -> dict[str, str]:
    declarations = compiled(_DECLARATION).finditer(style)
    return {
        declaration.group(1).lower(): declaration.group(2).lower().replace("!important", "").strip()
        for declaration in declarations
    }


def _hides(styles: dict[str, str]) -> bool:
    def is_like(name: str, *patterns: str) -> bool:
        return name in styles and any(compiled(pattern).search(styles[name]) for pattern in patterns)

    color = styles.get("color", "")
    background = styles.get("background-color") or styles.get("background") or "white"
    return (
        styles.get("display") == "none"
        or styles.get("visibility") in ("hidden", "collapse")
        or is_like("font-size", _ZERO, _TINY)
        or any(
            is_like(name, _ZERO) for name in ("opacity", "line-height", "height", "max-height", "width", "max-width")
        )
        or any(is_like(name, _FAR_OFF) for name in ("text-indent", "left", "top", "margin-left", "margin-top"))
        or is_like("color", _SEE_THROUGH)
        or (is_like("color", _WHITE) and compiled(_WHITE).search(background) is not None)
        or (bool(color) and color == background)
    )


def _before_gap(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= GAP:
        return text
    empty = 0
    for number, line in enumerate(lines):
        empty = 0 if any(map(str.isalnum, line)) else empty + 1
        if empty == GAP:
            return "\n".join(lines[: number + 1 - GAP])
    return text
