"""HTML that is escaped by construction: a plain string becomes text, only `Markup` stays as it is."""

import html


class Markup(str):
    """A string that is already HTML."""

    __slots__ = ()


_VOID = frozenset({"br", "hr", "img", "meta"})


def text(content: str) -> Markup:
    """`content` as HTML text."""
    return content if isinstance(content, Markup) else Markup(html.escape(content))


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """One element; an attribute named like a Python word ends in an underscore (`class_`), `-` is written `_`."""
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    opened = f"<{tag}" + "".join(f' {name}="{html.escape(value)}"' for name, value in names.items()) + ">"
    return Markup(opened if tag in _VOID else f"{opened}{''.join(map(text, children))}</{tag}>")
