"""optax 0.2.8: the noisy aggregation of gradients."""

from finding import Library, gaussian_epsilon, sampler

LIBRARY = Library("optax", "0.2.8", ("optax==0.2.8", "jax==0.10.2"), "optax.contrib")
PLACE = "optax/contrib/_privacy.py: differentially_private_aggregate"


@sampler(
    title="aggregation without a key",
    claim="clipping norm 1, noise multiplier 1: one example's gradient has epsilon 1 at delta 0.13",
    place=PLACE,
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.13,
    samples=2_000,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="the sum is shifted by the same number in each process",
    proof="Without a key the function warns and takes jax.random.key(0): the first aggregation of every program adds the same number, so that "
    "whoever knows the library subtracts it. The warning says that a key will be required.",
    fix="Require the key, as the warning announces.",
)
def without_key():
    from jax.numpy import array
    from optax.contrib import differentially_private_aggregate

    def first(x):
        one = differentially_private_aggregate(l2_norm_clip=1.0, noise_multiplier=1.0)
        return float(one.update(array([[x]]), one.init(None))[0][0])

    return first


@sampler(
    title="aggregation with a key",
    claim="clipping norm 1, noise multiplier 1: one example's gradient has epsilon 1 at delta 0.13",
    place=PLACE,
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.13,
    numeric=True,
    expected="consistent",
    exact=lambda: gaussian_epsilon(1.0, 0.13),
    exact_by="Gaussian noise of sigma 1 on a sum that changes by 1",
    proof="The clipped sum changes by at most 1, and the noise has the standard deviation 1: delta(1) = 0.1269.",
)
def with_key():
    from jax import jit, numpy, random, vmap
    from optax.contrib import differentially_private_aggregate

    def one(key, x):
        aggregate = differentially_private_aggregate(l2_norm_clip=1.0, noise_multiplier=1.0, key=key)
        return aggregate.update(numpy.array([[x]]), aggregate.init(None))[0][0]

    many = jit(vmap(one, (0, None)))
    return lambda x, n, rng: numpy.asarray(many(random.split(random.key(rng.integers(2**31)), n), x)).__array__()
