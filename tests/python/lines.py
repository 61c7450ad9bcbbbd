"""Scenario texts for tests: an access line, and flows to append."""

DOWNLOAD = '[[flow]]\nname = "download"\ndirection = "down"\n'
UPLOAD = '[[flow]]\nname = "upload"\ndirection = "up"\n'
QUIC = '[[flow]]\nname = "it"\ndirection = "down"\ncc = "cubic"\ntransport = "quic"\n'


def line_of(duration: str, down: str, up: str, *queues: str, rtt: str = "20 ms") -> str:
    """Returns the scenario text of an access line. `queues` contains the downlink's queue and the uplink's queue."""
    of_down, of_up = queues or ("20 packets", "20 packets")
    return (
        f'[scenario]\nduration = "{duration}"\n[link]\nrtt = "{rtt}"\n'
        f'down = {{ rate = "{down}", queue = "{of_down}" }}\nup = {{ rate = "{up}", queue = "{of_up}" }}\n'
    )
