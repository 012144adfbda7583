"""What no agent can do without: so many bytes in and out over loopback, without a look at them. Prints CPU
seconds per round as JSON.

    python loopback.py HOST PORT BYTES ROUNDS

It grows with whatever else the machine does, as the agent's own figure does.
"""

import json
import socket
import sys
import time

CHUNK = 256 * 1024


def one(host: str, port: int, size: int) -> None:
    with socket.create_connection((host, port)) as peer:
        peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        body, got = bytearray(size), 0
        while got < size:
            got += peer.recv_into(memoryview(body)[got:], min(CHUNK, size - got))
        peer.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        peer.sendall(body)
        peer.recv(1)


def main() -> None:
    host, (port, size, rounds) = sys.argv[1], map(int, sys.argv[2:])
    spent = []
    for _ in range(rounds):
        time.sleep(1)
        start = time.process_time()
        one(host, port, size)
        spent.append(time.process_time() - start)
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
