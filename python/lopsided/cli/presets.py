"""`lopsided presets`."""

from __future__ import annotations

from lopsided.cli.terminal import out


def presets() -> None:
    """List the access lines that scenarios can name: `preset = "docsis31-1000-35"` in `[link]`.

    For example:

        lopsided presets
        lopsided run line.toml --set link.preset=starlink-200-20
    """
    from lopsided import _native

    console = out()
    for name, title, source, _ in _native.presets():
        console.print(f"[bold]{name}[/bold]  {title}")
        console.print(f"    {source}", style="dim")
