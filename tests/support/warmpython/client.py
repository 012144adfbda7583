"""Hands a program to the server, and ends as it ends: `client.py ADDRESS PROGRAM ARGUMENT...`.

It imports only what is compiled into the interpreter, since it starts for each program.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys

FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


def main() -> None:
    """Never returns."""
    address, *arguments = sys.argv[1:]
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(address)
    for number in FORWARDED:
        _signal.signal(number, lambda number, _frame: server.send(bytes([number])))
    request = repr((arguments, os.getcwd(), dict(os.environb))).encode()  # noqa: PTH109 - pathlib is slow to import
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    server.sendmsg([len(request).to_bytes(4)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    while request:
        request = request[server.send(request) :]
    answer = b""
    while len(answer) < 4 and (part := server.recv(4 - len(answer))):
        answer += part
    code = int.from_bytes(answer, signed=True) if answer else 1
    if code < 0:
        if -code in FORWARDED:
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
