"""`make fuzz`: every reader, and the checker of proofs, for so many seconds; prints what each has read and refused."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.attack import attack
from tests.fuzz.forging import forge
from tests.fuzz.readers import READERS

_FORGED = "forged proofs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="all in all; 300 by default")
    parser.add_argument("--seed", type=int, default=0, help="of the first round; the next rounds' follow")
    parser.add_argument("--only", default="", help="readers whose name holds this")
    options = parser.parse_args()
    end, seed = time.monotonic() + options.seconds, options.seed
    counts: dict[str, Counter[str]] = {reader.name: Counter() for reader in READERS if options.only in reader.name}
    forged: Counter[str] = Counter()
    while time.monotonic() < end:
        if options.only in _FORGED:
            found, false = forge(200, seed)
            assert not false, false
            forged += found
        for reader in READERS:
            if reader.name in counts and time.monotonic() < end:
                with tempfile.TemporaryDirectory() as folder:
                    counts[reader.name] += attack(reader, Path(folder).resolve(), 200, seed)
        seed += 1
    say = sys.stdout.write
    for name, found in counts.items():
        say(f"{name:<28} {found['read']:8d} read {found['refused']:8d} refused\n")
    if forged:
        say(f"{_FORGED:<28} {forged['accepted']:8d} true {forged['refused']:8d} refused\n")
    whole = sum(counts.values(), Counter())
    say(f"{'all':<28} {whole['read']:8d} read {whole['refused']:8d} refused; seeds {options.seed} .. {seed - 1}\n")


if __name__ == "__main__":
    main()
