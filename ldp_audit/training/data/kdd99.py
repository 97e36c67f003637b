"""KDD99 (KDD Cup 1999 intrusions): 41 fields, 114 columns; label -1 is a normal connection, +1 any attack.

FedSel states the width 114 and 70,000 records, but neither which records nor their coding. RECIPE is a reading that
gives 114; it is inferred, not confirmed by the authors: the three categories of the 10% file (3, 66 and 11 values)
without their first value's column, 77, and the 38 numbers without `num_outbound_cmds`, which is always 0. Another
reading is equally plausible: all columns of the categories (118 in all) of a sample that lacks four rare values.

`is_host_login` is always 0 in the 10% file too; it is kept, since the width needs it. The full file has four more
services, with a handful of records; they are coded as "other". Duplicates, which are most of the file, are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ldp_audit.training.data.files import find_file, split_line, text_lines
from ldp_audit.training.data.recipe import Column, LeftOut, OneHot, Recipe, Scaled, Target
from ldp_audit.training.datasets import Table
from ldp_audit.training.pipeline import check_choice
from ldp_audit.training.streams import Streams

WIDTH = 114
RECORDS = 70_000
FILES = {
    "10-percent": ("kddcup.data_10_percent", "kddcup.data_10_percent.gz"),
    "full": ("kddcup.data", "kddcup.data.gz"),
}

_SERVICES = (
    "X11 Z39_50 auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs exec finger ftp "
    "ftp_data gopher hostnames http http_443 imap4 iso_tsap klogin kshell ldap link login mtp name netbios_dgm "
    "netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje "
    "shell smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet whois"
)
_FULL_ONLY = tuple((service, "other") for service in ("aol", "harvest", "http_2784", "http_8001"))
_ATTACKS = (
    "back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune nmap perl phf pod "
    "portsweep rootkit satan smurf spy teardrop warezclient warezmaster"
)


def _rates(names: str) -> tuple[Column, ...]:
    return tuple(Scaled(name, 0, 1, "ratio") for name in names.split())


def _counts(names: str, most: float) -> tuple[Column, ...]:
    return tuple(Scaled(name, 0, most, "log") for name in names.split())


RECIPE = Recipe(
    name="kdd99",
    source="Our recipe from the KDD Cup's files; FedSel's own is not known, its width is.",
    columns=(
        *_counts("duration", 100_000),
        OneHot.of("protocol_type", "tcp udp", without="icmp"),
        OneHot.of("service", _SERVICES, without="IRC", merged=_FULL_ONLY),
        OneHot.of("flag", "REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH", without="OTH"),
        *_counts("src_bytes dst_bytes", 2**32),
        *_rates("land"),
        *_counts("wrong_fragment urgent hot num_failed_logins", 1000),
        *_rates("logged_in"),
        *_counts("num_compromised", 10_000),
        *_rates("root_shell"),
        *_counts("su_attempted", 10),
        *_counts("num_root", 10_000),
        *_counts("num_file_creations num_shells num_access_files", 1000),
        LeftOut("num_outbound_cmds", "it is always 0"),
        *_rates("is_host_login is_guest_login"),
        *_counts("count srv_count", 511),
        *_rates("serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate"),
        *_rates("srv_diff_host_rate"),
        *_counts("dst_host_count dst_host_srv_count", 255),
        *_rates("dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate"),
        *_rates("dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate"),
        *_rates("dst_host_srv_rerror_rate"),
    ),
    target=Target("label", ("normal",), tuple(_ATTACKS.split())),
    width=WIDTH,
)


def load(folder: Path, *, file: str = "10-percent", records: int | None = RECORDS, seed: int = 0) -> Table:
    """KDD99 from `kddcup.data_10_percent` or `kddcup.data`, gzipped or not.

    file: "10-percent" or "full".   records: size of a uniform sample, in the file's order. None takes all: 494,021 of
        the 10% file are 0.5 GB, twice that while they are read.   seed: of the sample.
    Raises ValueError for a missing or unexpected file, naming the line (lines outside the sample are only counted), and
    for a file with fewer records.
    """
    check_choice("file", file, tuple(FILES))
    if records is not None and (not isinstance(records, int) or isinstance(records, bool) or records < 1):
        raise ValueError(f"records must be a whole number >= 1, or None for all, got {records!r}")
    streams = Streams(seed)  # checks the seed
    path = find_file(folder, FILES[file])
    chosen = None if records is None else _draw(path, records, streams.numpy("kdd99 records"))
    return RECIPE.table(_records(path, chosen))


def _draw(path: Path, records: int, rng: np.random.Generator) -> frozenset[int]:
    there = sum(1 for _ in text_lines(path))
    if records > there:
        raise ValueError(f"records must be at most the {there} of {path.name}, or None for all, got {records}")
    return frozenset(rng.choice(there, size=records, replace=False).tolist())


def _records(path: Path, chosen: frozenset[int] | None) -> Iterator[tuple[str, list[str]]]:
    for place, (where, line) in enumerate(text_lines(path)):
        if chosen is None or place in chosen:
            fields = split_line(where, line, RECIPE.fields, ",")
            fields[-1] = fields[-1].removesuffix(".")
            yield where, fields
