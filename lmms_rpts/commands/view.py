"""``lmms-rpts view``: list the runs below a folder in a browser, and open their reports."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import fail, read_validities


def view(
    folder: Annotated[
        Path, typer.Argument(help="Folder with runs at any depth.", exists=True, file_okay=False)
    ],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0: any that is free.")
    ] = 7576,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the list and all reports to this folder, for a web server, and end.",
        ),
    ] = None,
) -> None:
    """List all runs below a folder, follow those that are going on, and open their reports.

    The page is for this machine only; from another one, use ssh -L 7576:localhost:7576 HOST. New
    runs appear by themselves. Ctrl-C ends it.

      lmms-rpts view results

      lmms-rpts view results --output site
    """
    from lmms_rpts.report.viewing import Viewer, open_server

    validity = read_validities(None)
    if output is not None:
        for fault in Viewer(folder, output, validity).write():
            typer.echo(f"No report: {fault}", err=True)
        typer.echo(f"Written: {output / 'index.html'}")
        return
    with tempfile.TemporaryDirectory(prefix="lmms-rpts-view-") as pages:
        try:
            server = open_server(Viewer(folder, Path(pages), validity), port)
        except OSError as error:
            fail(f"Cannot use port {port} ({error.strerror}): choose another one with --port")
        with server:
            address = f"http://127.0.0.1:{server.server_port}/"
            typer.echo(f"Runs in {folder}: {address} (Ctrl-C ends it)")
            if not no_browser:
                webbrowser.open(address)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                typer.echo("")
