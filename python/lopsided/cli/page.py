"""`lopsided page`."""

from __future__ import annotations

from pathlib import Path

from lopsided.cli.options import Overwrite, Settings, load
from lopsided.cli.terminal import print_path
from lopsided.data.output import check_free, whole_file
from lopsided.errors import UsageError
from lopsided.views import page as pages


def page(
    file: Path | None = None,
    /,
    *,
    out: Path = Path("page.html"),
    settings: Settings = (),
    overwrite: Overwrite = False,
) -> None:
    """Write the laboratory as one HTML file, with sliders for the settings of a line.

    The file contains the simulator and needs no server and no network. Open it from disk, mail it or publish it.

    For example:

        lopsided page
        lopsided page scenarios/adsl.toml --out adsl.html
        lopsided page scenarios/adsl.toml --set "link.up.queue.limit=15 packets"

    Parameters
    ----------
    file
        The scenario that the page shows first; default: a download and an upload on an ADSL line.
    out
        The file to write.
    """
    if settings and file is None:
        raise UsageError("--set changes the scenario of a file: name the file too")
    if out.suffix not in (".html", ".htm"):
        raise UsageError(f"{out}: a page must end in .html")
    check_free(out, overwrite=overwrite)
    html = pages.page(None if file is None else load(file, settings))
    with whole_file(out) as temporary:
        temporary.write_text(html, encoding="utf-8")
    print_path("page", out)
