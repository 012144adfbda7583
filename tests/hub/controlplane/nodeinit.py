"""The first process of a node's namespaces: it waits, and its orphans leave no zombies."""

import signal


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
