"""How long tests wait for real things: as many times the usual as CAPSTAN_PATIENCE says, 1 without it.

A wait that fails takes longer then; one that succeeds does not. A promise about time is never held by a wait: that is a
figure of `make bench`.
"""
import os

FACTOR = float(os.environ.get("CAPSTAN_PATIENCE") or 1)


def patient(seconds):
    return seconds * FACTOR
