"""What the simulator is held to; not part of the installed package."""
