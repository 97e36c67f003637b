"""Data sets by name: from installed packages, synthetic, or read from a user's folder.

A loader is a function `(folder, **options) -> Images | Table` in a file of its own. Nothing is downloaded but by
`packages`, and nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ldp_audit.mechanisms.named_object import named_object
from ldp_audit.numerics import meant
from ldp_audit.training.data import adult, bank, cifar, digits, idx, kdd99, leaf, pairs, sparse_synthetic
from ldp_audit.training.datasets import Images, Table

__all__ = ["DATASETS", "DataSource", "Images", "Table", "data_for", "load"]


class DataSource(NamedTuple):
    """The source of a data set.

    loader: a function of the folder, if one is needed, and of options.   kind: "images" or "table".
    files: what the user's folder must hold, in words; "" if no folder is needed.
    """

    loader: Callable[..., Images | Table]
    kind: str
    files: str = ""


DATASETS: dict[str, DataSource] = {
    "digits": DataSource(digits.digits, "images"),
    "synthetic": DataSource(sparse_synthetic.load, "table"),
    "syn-l": DataSource(sparse_synthetic.load_syn_l, "table"),
    "syn-h": DataSource(sparse_synthetic.load_syn_h, "table"),
    "adult": DataSource(adult.load, "table", "UCI's adult.data and adult.test"),
    "bank": DataSource(bank.load, "table", "UCI's bank-full.csv"),
    "kdd99": DataSource(kdd99.load, "table", "kddcup.data_10_percent[.gz], or kddcup.data[.gz] with file=full"),
    "mnist": DataSource(idx.mnist, "images", "MNIST's four files, train-images-idx3-ubyte[.gz] and so on"),
    "fashion-mnist": DataSource(
        idx.fashion_mnist, "images", "Fashion-MNIST's four files, train-images-idx3-ubyte[.gz] and so on"
    ),
    "emnist": DataSource(
        idx.emnist, "images", "four files of an EMNIST split, emnist-letters-train-images-idx3-ubyte[.gz] and so on"
    ),
    "femnist": DataSource(leaf.femnist, "images", "LEAF's JSON files for FEMNIST, in train and test or in all_data"),
    "cifar-10": DataSource(
        cifar.cifar_10, "images", "CIFAR-10's binary version, data_batch_1.bin to data_batch_5.bin and test_batch.bin"
    ),
    "cifar-100": DataSource(cifar.cifar_100, "images", "CIFAR-100's binary version, train.bin and test.bin"),
    "mnist-emnist": DataSource(pairs.mnist_emnist, "images", "MNIST's four files and those of EMNIST's letters"),
    "mnist-femnist": DataSource(pairs.mnist_femnist, "images", "MNIST's four files and LEAF's for FEMNIST"),
    "cifar-10-100": DataSource(pairs.cifar_10_100, "images", "cifar-10-batches-bin and cifar-100-binary"),
    "cifar-10-100-coarse": DataSource(pairs.cifar_10_100_coarse, "images", "cifar-10-batches-bin and cifar-100-binary"),
}


def load(name: str, folder: str | Path | None = None, **options: Any) -> Images | Table:
    """The data set with this name.

    folder: where its files are; None for data sets without files.   options: the loader's own, such as a seed.
    Raises ValueError for an unknown name, for a missing or needless folder, and for unexpected files.
    """
    source = DATASETS.get(name) if isinstance(name, str) else None
    if source is None:
        raise ValueError(
            f"data must be one of {', '.join(DATASETS)}, or package.module:function, a loader of your own "
            f"(the guide to training has them for CSV, NPZ and torch), got {name!r}{meant(str(name), DATASETS)}"
        )
    if source.files and folder is None:
        raise ValueError(f"data {name!r} needs a folder that holds {source.files}, got none")
    if folder is not None and not source.files:
        raise ValueError(f"data {name!r} needs no folder, got {str(folder)!r}")
    if folder is not None and not Path(folder).is_dir():
        raise ValueError(f"folder must be a folder that holds {source.files}, got {str(folder)!r}")
    return source.loader(Path(folder), **options) if folder is not None else source.loader(**options)


def data_for(embedded: str | None, name: str | None, folder: Path | None, texts: Mapping[str, str]) -> Images | Table:
    """The data set with this name, or "module:function" for a user's loader; the pipeline's embedded one for None.

    texts: the loader's options, as given on the command line.
    Raises ValueError for unknown names and options, and for unexpected files.
    """
    chosen = name or embedded
    if not chosen:
        raise ValueError("data must be named: this pipeline has no data of its own")
    options = {key: _value(text) for key, text in texts.items()}
    try:
        if ":" in chosen:
            function = named_object(chosen, f"data {chosen!r}")
            found = function(folder, **options) if folder is not None else function(**options)
        else:
            found = load(chosen, folder, **options)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise ValueError(f"data {chosen!r} has no such option: {error}") from None
        if "positional argument" in str(error):
            raise ValueError(f"data {chosen!r} does not go with these options: {error}") from None
        raise
    if not isinstance(found, Images | Table):
        raise ValueError(f"data {chosen!r} must give Images or a Table, got {found!r:.80}")
    return found


def _value(text: str) -> Any:
    """The text as a number or a boolean if it reads as one, else the text."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
