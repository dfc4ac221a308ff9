"""``lmms-rpts view``: list the runs below a folder in a browser, and open their reports."""

from __future__ import annotations

import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import fail


def view(
    folder: Annotated[Path, typer.Argument(help="Folder with runs.", exists=True, file_okay=False)],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any that is free.")] = 7576,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write list and reports here, for a web server, and end."
        ),
    ] = None,
) -> None:
    """List all runs below a folder, follow those that are going on, and open their reports.

    The page is for this machine only; from another one, use ssh -L 7576:localhost:7576 HOST. New
    runs appear by themselves. Ctrl-C ends it.
    """
    from lmms_rpts.report.viewing import Viewer, open_server

    if output is not None:
        for fault in Viewer(folder, output).write():
            typer.echo(f"No report: {fault}", err=True)
        typer.echo(f"Written: {output / 'index.html'}")
        return
    with tempfile.TemporaryDirectory(prefix="lmms-rpts-view-") as pages:
        try:
            server = open_server(Viewer(folder, Path(pages)), port)
        except OSError as error:
            fail(f"Cannot use port {port} ({error.strerror}): choose another one with --port")
        with server, suppress(KeyboardInterrupt):
            address = f"http://127.0.0.1:{server.server_port}/"
            typer.echo(f"Runs in {folder}: {address} (Ctrl-C ends it)")
            with suppress(webbrowser.Error):
                # A browser of the terminal would take its place.
                if not no_browser and type(webbrowser.get()) is not webbrowser.GenericBrowser:
                    webbrowser.open(address)
            server.serve_forever()
