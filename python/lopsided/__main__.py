"""The entry point of the command `lopsided` and of `python -m lopsided`."""

from __future__ import annotations

from lopsided import interrupts


def main() -> None:
    """Runs the command line and exits."""
    interrupts.take_over()
    from lopsided import cli

    cli.main()


if __name__ == "__main__":
    main()
