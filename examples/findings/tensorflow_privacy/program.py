"""tensorflow-privacy 0.9.0: the noise of its sums."""

from finding import Library, gaussian_epsilon, sampler

LIBRARY = Library(
    "tensorflow-privacy",
    "0.9.0",
    ("tensorflow-privacy==0.9.0", "tensorflow==2.15.1"),
    "tensorflow_privacy",
    apart=True,
)


@sampler(
    title="GaussianSumQuery",
    claim="clipping norm 1, standard deviation 1: one record has epsilon 1 at delta 0.13",
    place="tensorflow_privacy/privacy/dp_query/gaussian_query.py: GaussianSumQuery",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.13,
    samples=10_000,
    numeric=True,
    expected="consistent",
    exact=lambda: gaussian_epsilon(1.0, 0.13),
    exact_by="Gaussian noise of sigma 1 on a sum that changes by 1",
    proof="The clipped sum changes by at most 1, and the noise has the standard deviation 1: delta(1) = 0.1269.",
)
def gaussian_sum():
    from tensorflow import constant
    from tensorflow_privacy import GaussianSumQuery

    query = GaussianSumQuery(l2_norm_clip=1.0, stddev=1.0)
    state, zero = query.initial_global_state(), query.initial_sample_state(constant([0.0]))
    parameters = query.derive_sample_params(state)

    def noisy(x):
        total = query.accumulate_preprocessed_record(zero, query.preprocess_record(parameters, constant([x])))
        return float(query.get_noised_result(total, state)[0][0])

    return noisy
