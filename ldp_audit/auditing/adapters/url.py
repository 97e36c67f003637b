"""A service on this machine, as a sampler: each request is a POST of JSON, each answer an array of outputs.

The body is {"x": INPUT, "n": COUNT, "seed": SEED}, as of a command that is fed; the answer is a JSON array of COUNT
outputs, with status 200. As of a command, a value that recurs in another spelling is refused, such as 1 and 1.0.
A running service cannot be asked afresh, so that whether it remembers earlier requests is not looked at: it is accused
of nothing unless the caller states that each answer is drawn anew.
Hosts other than the loopback are refused unless they are allowed: an audit sends millions of outputs' worth of
requests, and its inputs leave the machine. No redirect is followed, and no proxy is used.
"""

from __future__ import annotations

import ipaddress
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import flattened
from ldp_audit.auditing.adapters.command import (
    MOST_BYTES,
    checked_timeout,
    json_of,
    refuse_other_spellings,
    requests,
    shortened,
)
from ldp_audit.auditing.adapters.sampler import NamedSampler, ProgramError
from ldp_audit.numerics import instance

_BETWEEN = re.compile(r"[\s,]*")  # two elements of an array


_SHARED = (
    "whether the service remembers earlier requests cannot be looked at, since it is asked while it runs: --stateless, "
    "or stateless=True, states that it does not; or let --command start its program, which is then asked afresh"
)


def from_url(url: str, *, timeout: float = 60.0, allow_remote: bool = False) -> UrlSampler:
    """A sampler that asks a service for its outputs; the module's documentation has the protocol.

        as_sampler(url="http://127.0.0.1:8000/privatize")

    timeout: seconds that one request may take.   allow_remote: whether the host may be another than localhost,
       127.0.0.0/8 and ::1.   Raises ValueError for any other url; what goes wrong later is a ProgramError.
    """
    instance(url, str, "url", "http://HOST:PORT/PATH")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must be http://HOST:PORT/PATH, got {url!r:.200}")
    if not allow_remote and not _is_loopback(parts.hostname):
        raise ValueError(
            f"url must be on this machine (localhost, 127.0.0.1, ::1), got the host {parts.hostname!r:.200}: an audit "
            "sends very many requests, and its inputs would leave the machine; --allow-remote, or allow_remote=True, "
            "if you may do that"
        )
    return UrlSampler(url, checked_timeout(timeout))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class UrlSampler(NamedSampler):
    """See `from_url`."""

    url: str
    timeout: float = 60.0
    _spelled: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """n outputs on input x."""
        opener = build_opener(ProxyHandler({}), _NoRedirect())
        return [flattened(one) for request in requests(x, n, rng) for one in self._answered(opener, request)]

    @property
    def name(self) -> str:
        """See `NamedSampler`."""
        return f"url: {self.url}"

    @property
    def source(self) -> None:
        """See `NamedSampler`: the service's program is not known."""

    @property
    def repeatable(self) -> bool:
        """See `NamedSampler`; a service is trusted to use the seed of its requests."""
        return True

    @property
    def shared(self) -> str:
        """See `DeclaredSampler`."""
        return _SHARED

    def prepare(self) -> None:
        """See `NamedSampler`."""

    def _answered(self, opener: OpenerDirector, request: dict[str, Any]) -> list[Any]:
        question, body, text = json_of(request), b"", ""
        try:
            body = self._body(opener, question.encode())
            text = body.decode(json.detect_encoding(body), "surrogatepass")
            found = json.loads(text)
            fault = None if isinstance(found, list) else "is no array"
            if fault is None and len(found) != request["n"]:
                fault = f"has {len(found)} outputs, {request['n']} were asked for"
        except (OSError, HTTPException) as error:
            found, fault = [], f"is {type(error).__name__}: {error}"
            body = error.read(1000) if isinstance(error, HTTPError) else body
        except (ValueError, RecursionError) as error:
            found, fault = [], f"is no JSON ({error})"
        if fault is not None:
            got = f"; it answered {shortened(repr(body.decode(errors='backslashreplace')))}" if body else ""
            raise ProgramError(f"{self.url:.200}: the answer {fault}; it was asked {shortened(question)}{got}")
        refuse_other_spellings(self._spelled, _elements(text, len(found)), self.url)
        return found

    def _body(self, opener: OpenerDirector, question: bytes) -> bytes:
        """The answer's body. The timeout is of every wait for data, and of the whole."""
        deadline = time.monotonic() + self.timeout
        request = Request(self.url, question, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
        body = bytearray()
        with opener.open(request, timeout=self.timeout) as answer:
            while chunk := answer.read1(2**16):
                body += chunk
                if time.monotonic() > deadline:
                    raise TimeoutError(f"it took longer than {self.timeout:g} s")
                if len(body) > MOST_BYTES:
                    raise OSError(f"it has more than {MOST_BYTES} bytes")
        return bytes(body)


def _elements(array: str, n: int) -> Iterator[tuple[Any, str]]:
    """The n elements of an array in JSON, each with its text."""
    end, decoder = array.index("[") + 1, json.JSONDecoder()
    for _ in range(n):
        start = _BETWEEN.match(array, end).end()  # type: ignore[union-attr]
        value, end = decoder.raw_decode(array, start)
        yield value, array[start:end]


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        """None: the redirect is an error."""
