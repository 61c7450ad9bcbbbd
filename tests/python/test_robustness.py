"""Runs a sample of the trials in `robustness.py`: killed commands and full disks."""

import random
import signal

import pytest

import robustness

pytestmark = pytest.mark.slow


def test_a_kill_while_files_are_written_loses_nothing(tmp_path):
    place = robustness.Place(tmp_path, robustness.COMMANDS[0])
    late = random.Random(7).uniform(0, 0.05)
    assert robustness.a_kill_while_writing(place, late, signal.SIGKILL) in ("old", "new")


def test_only_an_interrupt_before_the_entry_point_may_have_a_traceback():
    begun = 'Traceback (most recent call last):\n  File "/x/bin/lopsided", line 3, in <module>\n    import re\n'
    assert robustness.while_starting(begun + "KeyboardInterrupt\n")
    assert not robustness.while_starting(begun + '  File "__main__.py", line 9, in main\nKeyboardInterrupt\n')
    assert not robustness.while_starting(begun + "ValueError: no\n")


def test_lost_data_would_be_reported(tmp_path):
    place = robustness.Place.__new__(robustness.Place)
    place.folder, place.command, place.old = tmp_path, robustness.COMMANDS[0], {}
    (tmp_path / "place").mkdir()
    with pytest.raises(robustness.Broken, match="the user's file is gone"):
        place.check()
    (tmp_path / "place" / "thesis.tex").write_bytes(robustness.MINE)
    (tmp_path / "place" / "manifest.json").write_text('{"files": ["flows.parquet"], "seed": 2}')
    with pytest.raises(robustness.Broken, match="are missing"):
        place.check()
