"""optax 0.2.8: the noisy aggregation of gradients."""

from finding import Library, gaussian_epsilon, sampler

LIBRARY = Library("optax", "0.2.8", ("optax==0.2.8", "jax==0.10.2"), "optax.contrib")
PLACE = "optax/contrib/_privacy.py: differentially_private_aggregate"


@sampler(
    title="aggregation with a fresh, secret key",
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
    condition="differentially_private_aggregate holds with a fresh, secret key (optax states no epsilon; clipping norm 1 and noise multiplier 1 are Gaussian "
    "noise of sigma 1). Without one, 0.2.8 warns 'Specifying a key will be required in optax 0.2.7.' and uses jax.random.key(0): the noise is the same in "
    "each program. The warning does not say that privacy is lost.",
)
def with_key():
    from jax import jit, numpy, random, vmap
    from optax.contrib import differentially_private_aggregate

    def one(key, x):
        aggregate = differentially_private_aggregate(l2_norm_clip=1.0, noise_multiplier=1.0, key=key)
        return aggregate.update(numpy.array([[x]]), aggregate.init(None))[0][0]

    many = jit(vmap(one, (0, None)))
    return lambda x, n, rng: numpy.asarray(many(random.split(random.key(rng.integers(2**31)), n), x)).__array__()
