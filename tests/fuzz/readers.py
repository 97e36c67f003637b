"""Every reader of files and texts that are not ours, with valid ones to begin from."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ldp_audit import audit
from ldp_audit.accounting import Budget, Budgets, Pure, from_events
from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.auditing.adapters.target_sampler import TargetSampler
from ldp_audit.auditing.confirm import merge, witness_in
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.record import State, record_in, seed_in
from ldp_audit.auditing.test import Test
from ldp_audit.claims.recheck_report import recheck_claims
from ldp_audit.claims.settled_file import SettledFile
from ldp_audit.claims.settling import settle_claim
from ldp_audit.files import read_json
from ldp_audit.mechanisms import FiniteChannel, target
from ldp_audit.reports import document
from ldp_audit.training import runs
from ldp_audit.training.data import load
from ldp_audit.training.experiment import run_experiment
from ldp_audit.training.runs import Training, Work, spread, train
from ldp_audit.training.sweep import Sweep, jobs_of
from ldp_audit.workers import pool_of
from tests.auditing.scores.examples import EXAMPLES
from tests.example_paper import PAPER
from tests.fuzz.attack import Reader
from tests.training.data.image_files import FORMATS
from tests.training.data.table_files import READERS as TABLES
from tests.training.toy import Toy, points

_TOY = "tests.training.toy:Toy"
_RR = TargetSampler("RandomizedResponse(epsilon=2)")


def _targets(_: Path) -> list[bytes]:
    texts = [
        *("TwoPoint(epsilon=1)", "RandomizedResponse(1, k=4)", "SubsampleRelease(10, 2, replacement=True)"),
        *(
            "Hybrid(epsilon=0.5)",
            "PerturbedEncoding(1, 10, 2)",
            "DuchiVector(1, 3)",
            "Gaussian(sigma=2)",
            "Laplace(1)",
        ),
    ]
    return [text.encode() for text in texts]


def _target(path: Path) -> object:
    """What names a module or a file is left out: that is another reader's, or the user's own program."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    return target.load(text) if "(" in text and not text.endswith((".csv", ".npz")) else None


def _hostile_targets() -> tuple[bytes, ...]:
    return (
        *(f"TwoPoint({sign * count}1)".encode() for sign in "-+~" for count in (90, 900, 9000)),
        *(b"TwoPoint(" + nest * 200 + b"1" + b")" * 200 + b")" for nest in (b"(", b"f(")),
        *(f"TwoPoint({'1+' * n}1)".encode() for n in (10, 1000, 100_000)),
        *(f"{name}(0x{'f' * digits})".encode() for name in target.SHIPPED for digits in (20, 400, 5000)),
        *(f"{name}(1, 99999999999999999999, 10**9)".encode() for name in target.SHIPPED),
        *(f"{name}(epsilon=1, epsilon=2)".encode() for name in target.SHIPPED),
        *(b"__import__('os').system('touch CANARY')(", b"TwoPoint(epsilon=open('CANARY','w'))", b"TwoPoint(*[1])"),
        *(
            b"TwoPoint(**{'epsilon': 1})",
            b"TwoPoint((lambda: 1)())",
            b"TwoPoint(f'{1}')",
            b"TwoPoint(1or 2)",
            b"TwoPoint('\\d')",
        ),
        *(
            b"TwoPoint(\x00)",
            b"TwoPoint(\xff)",
            b"(" * 100_000,
            b"TwoPoint(" + b"1," * 50_000 + b")",
            b"TwoPoint(1e400)",
        ),
    )


def _csvs(_: Path) -> list[bytes]:
    return [b"0.75,0.25\n0.25,0.75\n", b"1/3,1/3,1/3\n0,1/2,1/2\n", b"1,0\n1e-300,1\n"]


def _fractions(count: int) -> bytes:
    return b",".join(f"1/{10**4200 + 2 * k + 1}".encode() for k in range(count))


def _hostile_csvs() -> tuple[bytes, ...]:
    return (
        *(b"1e-99999,1\n1,1e-99999\n", b"1e999999,1\n", b"1E-9_99999999,1\n", b"nan,1\n", b"inf,-inf\n", b"0.5,\x00\n"),
        *(_fractions(300), _fractions(2000), b"1" * 200_000, b"9" * 5000 + b",1\n", b'"' * 5000, b",\n" * 5000),
    )


def _npz(shape: object, descr: object = "<f8", data: bytes = b"", name: str = "matrix.npy", **more: bytes) -> bytes:
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        for other, inner in more.items():
            archive.writestr(f"{other}.npy", inner)
    return packed.getvalue()


def _npzs(_: Path) -> list[bytes]:
    found = []
    for save, arrays in (
        (np.savez, {"matrix": np.array([[0.75, 0.25], [0.25, 0.75]]), "outputs": np.array(["a", "b"])}),
        (np.savez_compressed, {"matrix": np.array([["1/3", "2/3"], ["0", "1"]])}),
    ):
        file = io.BytesIO()
        save(file, **arrays)
        found.append(file.getvalue())
    return found


class _Code:
    def __reduce__(self) -> Any:
        return open, ("CANARY", "w")


def _pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, matrix=np.array([[_Code()]], dtype=object))
    return file.getvalue()


_MATRIX = np.array([[0.5, 0.5]]).tobytes()


def _hostile_npzs() -> tuple[bytes, ...]:
    return (
        *(
            _npz((10**9, 0)),
            _npz((10**6, 10**6), "|V0"),
            _npz((10**6, 10**6), "<U0"),
            _npz((10**6, 10**5)),
            _npz((1, -2)),
        ),
        *(
            _npz((1, 2), data=bytes(300_000_000)),
            _npz((2,), "<U100000000"),
            _npz((1, 2), [("a", "<f8")], _MATRIX),
            _npz(()),
        ),
        *(
            _npz((1, 2), "|O", b"cos\nsystem\n(S'touch CANARY'\ntR."),
            _pickled(),
            _npz((1, 2), data=_MATRIX, name="other.npy"),
        ),
        *(
            _npz((1, 2), data=_MATRIX, outputs=b"\x93NUMPY"),
            _npz("__import__('os').system('touch CANARY')"),
            b"\x93NUMPY\x01\x00",
        ),
        *(
            _npz((10**9,), "|S0", name="outputs.npy"),
            b"PK\x03\x04",
            b"PK\x05\x06" + bytes(18),
            b"cos\nsystem\n(S'touch CANARY'\ntR.",
        ),
    )


_PROTOCOL = b"""name = "two questions"
unit = "client"
rounds = 30
dimensions = 4

[[step]]
name = "answer"
mechanism = "RandomizedResponse(epsilon=0.5, k=4)"
times = ["rounds", 2]
sampling = {kind = "poisson", rate = 0.1}

[[step]]
name = "second"
mechanism = "channel.csv"
times = [3]
"""


def _protocols(folder: Path) -> list[bytes]:
    (folder / "channel.csv").write_bytes(_csvs(folder)[0])
    shipped = Path(load_protocol.__code__.co_filename).parent / "protocols"
    return [_PROTOCOL, *(file.read_bytes() for file in sorted(shipped.glob("*.toml")))]


def _hostile_protocols() -> tuple[bytes, ...]:
    return (
        *(b"a." * n + b"a = 1\n" + _PROTOCOL for n in (90, 5000, 49_000)),
        *(_PROTOCOL + b"[" + b"a." * n + b"a]\n" for n in (90, 5000, 49_000)),
        *(b"a = " + nest * n + b"\n" + _PROTOCOL for nest in (b"[", b"{a=") for n in (100, 30_000)),
        *(
            _PROTOCOL.replace(b"30", value)
            for value in (b"0x" + b"f" * 400, b"1979-05-27", b"nan", b"-1", b"9" * 5000, b"true")
        ),
        *(
            _PROTOCOL.replace(b"[3]", value)
            for value in (b"[[3]]", b"[0x" + b"f" * 5000 + b"]", b"[inf]", b"{a=1}", b"[99999999999]")
        ),
        *(
            _PROTOCOL.replace(b"channel.csv", value)
            for value in (b"\\u0000.csv", b"x" * 5000 + b".csv", b"..", b"os:system", b".csv")
        ),
        *(_PROTOCOL.replace(b"0.1", value) for value in (b"1e400", b"nan", b"-0.0", b"5e-324", b"0x" + b"f" * 400)),
        _PROTOCOL.replace(b"RandomizedResponse(epsilon=0.5, k=4)", b"__import__('os').system('touch CANARY')("),
    )


def _reports(_: Path) -> list[Any]:
    paper = replace(PAPER, claims=PAPER.claims[:5])
    report = document.build([(paper, [settle_claim(claim) for claim in paper.claims])], [])
    claims = json.loads(json.dumps(report["claims"]))
    return [{"schema_version": 1, "claims": [claim]} for claim in claims]


def _settled(folder: Path) -> list[Any]:
    """A file of settled claims."""
    kept = SettledFile(folder / "kept")
    for claim in PAPER.claims[:2]:
        kept.settle(claim, 60.0)
    return [(folder / "kept").read_bytes()]


def _recheck(path: Path) -> object:
    return list(recheck_claims(read_json(path)))


def _audits(folder: Path) -> list[Any]:
    """A result, its unfinished state, and a record for each kind of score."""
    state = folder / "kept.json"
    result = audit(_RR, (0, 1), 1.0, samples=2000, resume=state).to_dict()
    scored = []
    for example in EXAMPLES.values():
        event = Event(((0.5, 1.0),), (), example).to_dict()
        scored.append({**result, "counted": {**result["counted"], "event": event}})
    return [json.loads(json.dumps(one)) for one in (result, json.loads(state.read_text()), *scored)]


def _record(path: Path) -> object:
    found = read_json(path)
    return record_in(found, "file").event.describe(), witness_in(found, "file", (0, 1))


def _merge(path: Path) -> object:
    other = json.loads(json.dumps(read_json(path)))
    for part in record_in(other, "other").parts:
        return merge([("file", read_json(path)), ("other", _with_seed(other, part.seed + 1))]).describe()
    return None


def _with_seed(found: Any, seed: int) -> Any:
    for part in found.get("counted", {}).get("parts", []):
        part["seed"] = seed
    return found


def _states(folder: Path) -> list[Any]:
    return _audits(folder)[1:2]


def _state(path: Path) -> object:
    kept = json.loads((path.parent / "kept.json").read_text())
    seed_in(path)
    state = State(path, kept["arguments"])
    found = state.found
    if found is None:
        return None
    fixed = kept["test"]
    return state.ledger(Test((found.choice.event,), (0, 1), (0, 1), fixed["trials"], fixed["rows"], fixed["stage"]))


def _checkpoints(folder: Path) -> list[bytes]:
    keep = folder / "kept.state"
    train(_TOY, Toy(rounds=2), points(), seed=3, device=torch.device("cpu"), keep=keep)
    return [keep.read_bytes()]


def _insides(folder: Path) -> list[bytes]:
    return [_checkpoints(folder)[0][len(runs.HEAD) + 32 :]]


def _checkpoint(path: Path) -> object:
    return train(_TOY, Toy(rounds=2), points(), seed=3, device=torch.device("cpu"), keep=path)


def _hostile_torch() -> bytes:
    file = io.BytesIO()
    torch.save({"kind": runs.KIND, "state": _Code()}, file)
    return file.getvalue()


_JOBS = [Training(job) for job in jobs_of(Toy, (Sweep({"rounds": 2}),), 0)]


def _work() -> Work:
    return Work.of(_TOY, points(), "cpu", 1)


def _runs(folder: Path) -> list[Any]:
    spread(_work(), _JOBS, pool_of(), folder=folder)
    return [(folder / f"{_JOBS[0].file(_work())}.json").read_bytes()]


def _manifests(folder: Path) -> list[Any]:
    run_experiment(_TOY, (Sweep({"rounds": 2}),), points(), device="cpu", folder=folder / "sweep", workers=1)
    return [json.loads((folder / "sweep" / "sweep.json").read_text())]


def _resumed(path: Path) -> object:
    sweep = (Sweep({"rounds": 2}),)
    return run_experiment(_TOY, sweep, points(), device="cpu", folder=path.parent, resume=True, workers=1)


def _images(kind: str) -> Reader:
    name, file, write, options = FORMATS[kind]

    def seeds(folder: Path) -> list[bytes]:
        write(folder)
        return [(folder / file).read_bytes()]

    return Reader(f"data: {kind}", file, seeds, lambda path: load(name, path.parent, **options), most=20)


def _table(name: str) -> Reader:
    file, options, text = TABLES[name]
    seeds = [text.encode(), gzip.compress(text.encode())]
    texts = (b"\x1f\x8b", b"\x00", *(text.replace(".", word).encode() for word in ("e", "-", "NaN", "\n", ";", '"')))
    return Reader(
        f"data: {name}", file, lambda _: seeds, lambda path: load(name, path.parent, **options), lambda: texts
    )


def _results(folder: Path) -> list[Any]:
    return [one for one in _audits(folder) if one["kind"] == "audit"]


def _budgets(folder: Path) -> list[bytes]:
    found = []
    for place, terms in enumerate(({"epsilon": 1.0}, {"epsilon": 2.0, "delta": 1e-6, "failures": 1e-7})):
        budget = Budget(**terms)
        budget.save(folder / f"seed{place}")
        for item in (Pure(0.1), Pure(0.01)):
            budget.spend(item, 2)
        found.append((folder / f"seed{place}").read_bytes())
    return found


def _columns(folder: Path) -> list[bytes]:
    many = Budgets(3, epsilon=2.0, delta=1e-6, failures=1e-7)
    many.spend(Pure(0.1), [0, 2])
    many.save(folder / "seed")
    return [(folder / "seed").read_bytes()]


def _events(_: Path) -> list[Any]:
    gaussian = {"event": "Gaussian", "noise_multiplier": 3.0}
    batch = {"event": "SampledWithoutReplacement", "source_dataset_size": 100, "sample_size": 10, "of": gaussian}
    response = {"event": "RandomizedResponse", "noise_parameter": 0.5, "num_buckets": 4}
    sampled = {"event": "PoissonSampled", "sampling_probability": 0.1, "of": gaussian}
    tree = {"event": "SingleEpochTreeAggregation", "noise_multiplier": 2.0, "step_counts": [3, 9]}
    discrete = {"event": "DiscreteLaplace", "noise_parameter": 0.5, "sensitivity": 2}
    inner = [sampled, response, tree, discrete, {"event": "ZCDp", "rho": 0.5, "xi": 0.1}]
    claimed = {"epsilon": 1.0, "delta": 1e-5}
    return [
        {"neighbours": "add/remove", "claimed": claimed, "of": {"event": "SelfComposed", "count": 7, "of": inner}},
        {"neighbours": "replace", "of": [batch, response, {"event": "NoOp"}]},
        {"history": [[1.0, 0.1, 5], [2.0, 1.0, 1]], "mechanism": "rdp"},
    ]


READERS: tuple[Reader, ...] = (
    Reader("budget", "survey.budget", _budgets, Budget.load),
    Reader("budgets of users", "users.budgets", _columns, Budgets.load),
    Reader("another accountant's events", "events.json", _events, lambda path: from_events(read_json(path))),
    Reader("TARGET text", "target.txt", _targets, _target, _hostile_targets),
    Reader("channel CSV", "channel.csv", _csvs, FiniteChannel.from_file, _hostile_csvs),
    Reader("channel NPZ", "channel.npz", _npzs, FiniteChannel.from_file, _hostile_npzs),
    Reader("protocol TOML", "protocol.toml", _protocols, load_protocol, _hostile_protocols),
    Reader("report.json, rechecked", "report.json", _reports, _recheck),
    Reader("settled claims, to resume", "kept", _settled, SettledFile),
    Reader("audit JSON, to confirm", "audit.json", _audits, _record),
    Reader("audit JSON, to merge", "audit.json", _results, _merge),
    Reader("audit state, to resume", "state.json", _states, _state),
    Reader(
        "training checkpoint", "run.state", _checkpoints, _checkpoint, lambda: (b"", b"PK\x03\x04", _hostile_torch())
    ),
    Reader("checkpoint, digest right", "run.state", _insides, _checkpoint, lambda: (_hostile_torch(),), runs.sealed),
    Reader(
        "finished run",
        f"{_JOBS[0].file(_work())}.json",
        _runs,
        lambda path: runs.read_record(path, _JOBS[0]),
    ),
    Reader("sweep.json", "sweep/sweep.json", _manifests, _resumed),
    *map(_images, FORMATS),
    *map(_table, TABLES),
)
"""Each is fuzzed by `make fuzz`, and for a moment by every run of the suite."""
