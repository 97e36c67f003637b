"""Privacy losses of ordered pairs of distributions: exact ones, bounds on others, their sums and samples."""

from ldp_audit.losses.loss import KnownLoss as KnownLoss
from ldp_audit.losses.loss import PairLoss as PairLoss
