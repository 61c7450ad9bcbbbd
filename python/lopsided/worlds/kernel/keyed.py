"""The simulator's keyed random numbers, so that both worlds start a flow at the same instant: compared "paired by
phase".

The same streams as `lopsided_core::Rng` (FNV-1a and SplitMix64 seed a 128-bit multiplicative congruential generator,
PCG's XSL-RR output).
"""

from __future__ import annotations

_MASK64 = (1 << 64) - 1
_MASK128 = (1 << 128) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def below(seed: int, role: str, bound: int) -> int:
    """The first draw of a role's stream, uniform in 0..bound."""
    return (_first(seed, role) * bound) >> 64


def _first(seed: int, role: str) -> int:
    digest = 0xCBF29CE484222325
    for byte in role.encode():
        digest = ((digest ^ byte) * 0x00000100000001B3) & _MASK64
    high = _split_mix(digest ^ _split_mix(seed))
    low = _split_mix(high ^ _rotate_left(seed, 32))
    state = (((high << 64) | low | 1) * _MULTIPLIER) & _MASK128
    return _rotate_left((state >> 64) ^ (state & _MASK64), 64 - (state >> 122))


def _split_mix(value: int) -> int:
    z = (value + 0x9E3779B97F4A7C15) & _MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK64
    return z ^ (z >> 31)


def _rotate_left(value: int, places: int) -> int:
    places %= 64
    return ((value << places) | (value >> (64 - places))) & _MASK64
