"""A service on the loopback as a program under audit, and services that answer otherwise than they should."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import as_sampler
from ldp_audit.auditing.adapters.sampler import ProgramError
from tests.together import together

SPELLED = {
    "/number": ("1", "1.0"),
    "/zero": ("0.0", "-0.0"),
    "/row": ("[1, 2]", "[1.0, 2]"),
    "/text": ('"A"', '"\\u0041"'),
    "/keys": ('{"a":2}', '{"a":1,"a":2}'),
}
"""One value in two ways, by the input."""


class Service(BaseHTTPRequestHandler):
    """Warner's answer at epsilon 1 under /sound and 2.2 under /broken; under other paths, faults and two spellings."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        x, n, seeded = request["x"], request["n"], random.Random(request["seed"])
        p = 0.7310585 if self.path == "/sound" else 0.9
        body: Any = [x if seeded.random() < p else 1 - x for _ in range(n)]
        changed = {"/short": body[1:], "/object": {"outputs": body}, "/null": None}
        text = json.dumps(changed.get(self.path, body)).encode()
        status = {"/failing": 500, "/moved": 302}.get(self.path, 200)
        self.send_response(status)
        if self.path == "/moved":
            self.send_header("Location", "/sound")
        text = {"/words": b"yes", "/failing": b"out of order"}.get(self.path, text)
        if self.path in SPELLED:
            text = (" [ " + " ,\n".join([SPELLED[self.path][x]] * n) + "]").encode()
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        text = text[:-1] if self.path == "/cut" else text
        if self.path == "/slow":
            for place in range(len(text)):
                self.wfile.write(text[place : place + 1])
                time.sleep(0.2)
        self.wfile.write(text)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Silence."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_sound_service_is_consistent_and_a_broken_one_violated(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fails once in 1e6 seeds; at epsilon 2.2 the bound is below 1.5 with probability below 1e-9."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nobody listens there: a proxy would be an error
    for path, verdict in (("/sound", "consistent"), ("/broken", "violated")):
        sampler = as_sampler(url=service + path)
        assert sampler(1, 20, np.random.default_rng(0)) == sampler(1, 20, np.random.default_rng(0))
        assert audit(sampler, (0, 1), 1.0, samples=5_000, confidence=1 - 1e-6, stateless=True).verdict == verdict


def test_a_service_that_may_remember_is_not_accused(service: str) -> None:
    """Would catch "violated" of a client that keeps its answers, which no request shows: 12 of 20 were accused."""
    result = audit(as_sampler(url=service + "/broken"), (0, 1), 1.0, samples=5_000)
    assert (result.verdict, result.epsilon_lower) == ("inconclusive", 0)
    assert "--stateless" in result.notes[0]


@together(
    ("path", "complaint"),
    [
        ("/short", "the answer has 2 outputs, 3 were asked for"),
        ("/object", "the answer is no array"),
        ("/null", "the answer is no array"),
        ("/words", "the answer is no JSON"),
        ("/failing", "the answer is HTTPError: HTTP Error 500: .* it answered 'out of order'"),
        ("/moved", "the answer is HTTPError: HTTP Error 302"),
        ("/cut", "the answer is no JSON"),
        ("/slow", "the answer is TimeoutError: it took longer than 0.5 s"),
    ],
)
def test_a_service_that_does_not_answer_is_one_error_with_the_request(path: str, complaint: str, service: str) -> None:
    with pytest.raises(ProgramError, match=rf"{path}: {complaint}") as caught:
        as_sampler(url=service + path, timeout=0.5)(1, 3, np.random.default_rng(0))
    assert 'it was asked {"x": 1, "n": 3, "seed": ' in str(caught.value)


@together("path", SPELLED)
def test_a_value_that_is_sent_in_two_ways_is_refused(path: str, service: str) -> None:
    """Would catch a service whose spelling is its input, and which is called consistent. One way alone is taken."""
    sampler, rng = as_sampler(url=service + path), np.random.default_rng(0)
    assert len(sampler(0, 3, rng)) == 3
    with pytest.raises(ProgramError, match=r"it printed one value as .* print each value in one way"):
        sampler(1, 3, rng)


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(ProgramError, match=r"http://localhost:9/: the answer is URLError: .*refused"):
        as_sampler(url="http://localhost:9/")(1, 3, np.random.default_rng(0))


@together(
    ("url", "complaint"),
    [
        ("http://example.com/", "url must be on this machine .*, got the host 'example.com': .*inputs would leave"),
        ("http://127.0.0.1@example.com/", "got the host 'example.com'"),
        ("http://127.0.0.1.example.com/", "got the host '127.0.0.1.example.com'"),
        ("http://0.0.0.0/", "got the host '0.0.0.0'"),
        ("http://192.168.0.1/", "got the host '192.168.0.1'"),
        ("file:///etc/passwd", "url must be http://HOST:PORT/PATH"),
        ("ftp://127.0.0.1/", "url must be http://HOST:PORT/PATH"),
        ("127.0.0.1:8000", "url must be http://HOST:PORT/PATH"),
    ],
)
def test_other_hosts_and_other_protocols_are_refused(url: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        as_sampler(url=url)


def test_other_hosts_are_taken_when_they_are_allowed_and_all_of_the_loopback_always() -> None:
    assert as_sampler(url="https://example.com/x", allow_remote=True)
    for host in ("localhost", "127.0.0.2", "[::1]"):
        assert as_sampler(url=f"http://{host}:80/")
