"""Checks that the native module does not replace functions of the C library."""

import ctypes
import sys

import pytest

from lopsided import _native


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's symbol lookup")
@pytest.mark.parametrize("name", ["open", "close", "read", "write", "advance"])
def test_the_module_does_not_override_c_symbols(name):
    # dlsym also searches the libraries that the module depends on, and must find the C library's function.
    own, program = ctypes.CDLL(_native.__file__), ctypes.CDLL(None)
    if not hasattr(program, name):
        assert not hasattr(own, name)
        return
    address = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for library in (own, program)]
    assert address[0] == address[1]
