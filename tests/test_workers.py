"""Workers end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.together import together

SCRIPT = """
import os, sys, time
from itertools import count
from pathlib import Path
from ldp_audit.workers import Processes, Worker

def writes(shared, task, say):
    for number in count():
        Path(shared).write_text(f"{os.getpid()} {number}")
        time.sleep(0.01)

if __name__ == "__main__":
    for _ in Processes(1).run(writes, sys.argv[1], lambda *_: "for ever", print):
        pass
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="it looks for processes in /proc")
@together("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_ends_with_its_parent_in_the_middle_of_a_task(number: signal.Signals, tmp_path: Path) -> None:
    """Would catch one that goes on writing beside the run that resumes its work."""
    (tmp_path / "script.py").write_text(SCRIPT)
    file, environment = tmp_path / str(number), {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    parent = subprocess.Popen([sys.executable, "script.py", str(file)], cwd=tmp_path, env=environment)
    deadline, written = time.monotonic() + 60, ""
    while not written and time.monotonic() < deadline:
        assert parent.poll() is None
        written = file.read_text() if file.exists() else ""
        time.sleep(0.01)
    worker = Path("/proc") / written.split()[0]
    assert worker.exists()
    os.kill(parent.pid, number)
    assert parent.wait() == -number
    deadline = time.monotonic() + 5
    while worker.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not worker.exists()
