"""The entry point of `lopsided` and `python -m lopsided`."""

from __future__ import annotations

from lopsided import interrupts


def main() -> None:
    interrupts.take_over()
    from lopsided import cli

    cli.main()


if __name__ == "__main__":
    main()
