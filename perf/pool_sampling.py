# Copyright 2025 Individual Contributor: the genenv_verl authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""How a pool of a million records behaves: time to open, time to sample one task, memory of the process.

Usage: ``python perf/pool_sampling.py [--records 1000000] [--record-bytes 1000] [--directory DIR]``

Expected (SPEC section 4): less than 1 GiB for the process, less than 1 ms a sampled task, seconds to open.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from genenv_verl.pools.mixture import Mixture
from genenv_verl.pools.pool import Pool

BATCH = 10_000
SAMPLES = 20_000


def resident_mib() -> float:
    """Resident memory of this process in MiB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def fill(directory: Path, records: int, record_bytes: int) -> None:
    pool = Pool(directory, "perf")
    goal = "g" * record_bytes
    started = time.perf_counter()
    for first in range(0, records, BATCH):
        batch = [
            {"id": f"seed-{i % 544}/epoch-{first}/{i}", "goal": goal} for i in range(first, min(first + BATCH, records))
        ]
        pool.append(batch, step=first // BATCH)
    seconds = time.perf_counter() - started
    print(f"append    {1e6 * seconds / records:8.1f} µs a record, in batches of {BATCH}")


def measure(directory: Path) -> None:
    before = resident_mib()
    started = time.perf_counter()
    pool = Pool(directory, "perf")
    print(f"open      {time.perf_counter() - started:8.2f} s for {len(pool)} records")
    mixture = Mixture({"base": 0.4, "pool": 0.3, "fresh": 0.3}, seed=0)
    started = time.perf_counter()
    for index in mixture.draw_pool(len(pool), min(SAMPLES, len(pool))):
        pool[index]
    seconds = time.perf_counter() - started
    print(f"sample    {1e6 * seconds / min(SAMPLES, len(pool)):8.1f} µs a record, JSON decoded")
    print(f"memory    {resident_mib():8.0f} MiB resident, {before:.0f} MiB before opening")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--record-bytes", type=int, default=1000)
    parser.add_argument("--directory", type=Path, help="a filled pool to measure; without it one is made and removed")
    arguments = parser.parse_args()
    if arguments.directory:
        measure(arguments.directory)
        return
    with tempfile.TemporaryDirectory() as directory:
        fill(Path(directory), arguments.records, arguments.record_bytes)
        # A process of its own, so that filling the pool does not count as memory of reading it.
        subprocess.run([sys.executable, __file__, "--directory", directory], check=True)


if __name__ == "__main__":
    main()
