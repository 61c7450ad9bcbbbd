"""The corpus of captures that `lopsided analyze` is judged on: lines and traffic with a known answer."""
