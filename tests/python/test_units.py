import math

import pytest

import lopsided as lop
from lopsided.data import catalogue, units
from lopsided.views.sparkline import sparkline


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("2.4M", 2_400_000),
        ("196k", 196_000),
        ("2400 kbit/s", 2_400_000),
        ("1Gbps", 10**9),
        ("9600", 9600),
        ("1.5 Mbit", 1_500_000),
    ],
)
def test_rates_are_parsed(text, bits):
    assert units.parse_rate(text) == bits


@pytest.mark.parametrize("text", ["", "fast", "2.4MB/s", "2.4 MB", "-1M", "0", "1e99", "2.4 M k"])
def test_invalid_rates_are_rejected(text):
    with pytest.raises(lop.UsageError, match="rate"):
        units.parse_rate(text)


@pytest.mark.parametrize(("text", "seconds"), [("200ms", 0.2), ("1.5 s", 1.5), ("2min", 120), ("20us", 20e-6)])
def test_times_are_parsed(text, seconds):
    assert units.parse_time(text) == pytest.approx(seconds)


def test_a_time_needs_its_unit():
    with pytest.raises(lop.UsageError, match="needs its unit"):
        units.parse_time("200")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("50", "50 packets"),
        ("50p", "50 packets"),
        ("17 packets", "17 packets"),
        ("64kB", "64000 B"),
        ("64KiB", "65536 B"),
    ],
)
def test_limits_are_parsed(text, limit):
    assert str(units.parse_limit(text)) == limit


@pytest.mark.parametrize("text", ["0p", "1.5p", "p", "50 buckets"])
def test_invalid_limits_are_rejected(text):
    with pytest.raises(lop.UsageError):
        units.parse_limit(text)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.rate(2_068_000), "2.07 Mbit/s"),
        (units.rate(999_600), "1.00 Mbit/s"),
        (units.rate(196_000), "196 kbit/s"),
        (units.rate(0), "0 bit/s"),
        (units.rate(None), "–"),
        (units.size(999), "999 B"),
        (units.size(16_500), "16.5 kB"),
        (units.millis(0.0425), "42.5 µs"),
        (units.millis(206.2), "206 ms"),
        (units.millis(1531), "1.53 s"),
        (units.millis(0), "0 ms"),
        (units.millis(math.nan), "–"),
        (units.percent(0.934), "93 %"),
        (units.percent(0.0421), "4.2 %"),
        (units.percent(0), "0 %"),
        (units.count(12345), "12,345"),
        (units.seconds(0.1), "100 ms"),
        (units.seconds(240), "240 s"),
        (catalogue.unknown("page_s", numeric=True).text(13.7076), "13.7 s"),
        (catalogue.run_tables()["flows"]["start_s"].text(60.45369), "60.45 s"),
        (units.seconds(14.98765), "14.99 s"),
        (units.seconds(36000), "36000 s"),
        (catalogue.run_tables()["samples"]["time_s"].text(13.7076), "13.7076 s"),
    ],
)
def test_quantities_are_formatted_for_people(shown, expected):
    assert shown == expected


def test_a_sparkline_shows_zero_as_blank_and_the_maximum_as_full():
    assert sparkline([0, 1, 4.5, 8, None]) == " ▂▅█ "
    assert sparkline([1, 2], top=8) == "▂▃"
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""
