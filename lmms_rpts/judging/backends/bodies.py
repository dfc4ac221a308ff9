"""Bounded reading and decompression of HTTP response bodies."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from lmms_rpts.judging.types import RefusedError, TransientError

LONGEST_BODY = 4 * 2**20
"""Maximum bytes of a decompressed reply: a judge's longest reply takes about 100 KB."""

LONGEST_ERROR = 2**18
"""Maximum bytes of an error's body: some servers quote the question."""

ENCODINGS = {"Accept-Encoding": "identity"}
"""Replies are short, so no compression is requested. gzip and deflate are still decoded."""

_PACKED = ("gzip", "x-gzip", "deflate")
_ANY_ZLIB = 32 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a response, or the part that was read; ``fault``: why it is incomplete."""

    content: bytes
    fault: Exception | None = None


async def read_body(response: Any) -> Body:
    """The body of a streamed response of httpx, up to ``LONGEST_BODY`` or ``LONGEST_ERROR``.

    The client's own decompression is not used: some versions of httpx decompress each chunk whole,
    and a chunk of 16 KB that was compressed twice can grow to gigabytes.
    """
    coding = _coding(response.headers)
    if coding and coding not in _PACKED:
        reason = f"the judge's server compresses its replies as {coding!r}, which was not requested"
        return Body(b"", RefusedError(reason))
    packer = zlib.decompressobj(_ANY_ZLIB) if coding else None
    content, taken = bytearray(), 0
    most = LONGEST_BODY if response.status_code < 400 else LONGEST_ERROR
    async for piece in response.aiter_raw():
        taken += len(piece)
        try:
            room = most + 1 - len(content)
            content += packer.decompress(piece, room) if packer else piece[:room]
        except zlib.error:
            return Body(bytes(content), TransientError(f"the judge's {coding} reply is corrupt"))
        # A compressed reply may also be endless and decompress to nothing.
        if max(taken, len(content)) > most:
            # Not retried: the next reply is likely to be as long and to cost as much.
            reason = f"the judge's server sent a reply of more than {most // 2**20} MiB"
            return Body(bytes(content[:most]), RefusedError(reason))
    if packer and not packer.eof:
        return Body(bytes(content), TransientError(f"the judge's {coding} reply was cut off"))
    return Body(bytes(content))


def _coding(headers: Any) -> str:
    """The compression of a body; empty if there is none."""
    codings = headers.get("content-encoding", "").lower().split(",")
    return ", ".join(each.strip() for each in codings if each.strip() not in ("", "identity"))
