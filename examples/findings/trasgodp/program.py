"""trasgodp 2.1.0: its mechanisms for columns."""

from math import e

from finding import Library, epsilon_of, sampler

LIBRARY = Library("trasgodp", "2.1.0", ("trasgodp==2.1.0",), "trasgodp", apart=True)
CATEGORICAL = "trasgodp/categorical"
NUMERICAL = "trasgodp/numerical"
PUBLIC = "the column's categories are public and do not depend on one row."


@sampler(
    title="randomised response, binary column",
    claim="epsilon 1 for one row",
    place=f"{CATEGORICAL}/_randomized_response.py: dp_randomized_response_binary_array",
    inputs=("a", "b"),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e, 1], [1, e]]),
    exact_by="the value with probability e/(e + 1)",
    proof="Each row's value is kept with probability e/(e + 1). (The column has an a and a b besides, so that both categories are in it.)",
    condition=PUBLIC,
)
def binary_response():
    from trasgodp.categorical import dp_randomized_response_binary_array

    return lambda x: str(dp_randomized_response_binary_array(["a", "b", x], 1.0)[2])


@sampler(
    title="randomised response, column of three categories",
    claim="epsilon 1 for one row",
    place=f"{CATEGORICAL}/_randomized_response.py: dp_randomized_response_kary_array",
    inputs=("a", "b"),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(3)] for x in range(2)]),
    exact_by="drawn anew with probability 3/(e + 2), from all three categories",
    proof="Drawn anew with probability k/(e + k - 1): the value has e/(e + k - 1), each other one 1/(e + k - 1).",
    condition=PUBLIC,
)
def response():
    from trasgodp.categorical import dp_randomized_response_kary_array

    return lambda x: str(dp_randomized_response_kary_array(["a", "b", "c", x], 1.0)[3])


@sampler(
    title="categories taken from the column (dp_exponential_array; the randomised responses too)",
    claim='"epsilon: privacy budget", and the README\'s "local approach": epsilon 1 for one row of a column',
    place=f"{CATEGORICAL}/_exponential.py: dp_exponential_array",
    inputs=("b", "c"),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([[e**0.5, 1, 0], [e**0.5, 0, 1]]),
    exact_by="the first row's report: a, b or c; the other category of the column is that of the second row",
    proof="The categories are those that occur in the column. With a second row of b the first row's report is a or b; with a second row of c it is a or c. "
    "A report of c excludes the column without c: epsilon is infinite for a row whose category is its own. For a row whose category also occurs "
    "elsewhere, and with fixed categories, the mechanism has epsilon/2.",
    fix="Take the categories as an argument, so that they do not depend on the data.",
    status="2.1.0 is the newest release.",
)
def categories():
    from trasgodp.categorical import dp_exponential_array

    return lambda x: str(dp_exponential_array(["a", x], 1.0)[0])


@sampler(
    title="exponential mechanism, column of three categories",
    claim="epsilon 1 for one row",
    place=f"{CATEGORICAL}/_exponential.py: dp_exponential_array",
    inputs=("a", "b"),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e**0.5 if x == y else 1 for y in range(3)] for x in range(2)]),
    exact_by="the value with e^0.5 times the weight of each other category",
    proof="The value has e^0.5/(e^0.5 + k - 1), each other one 1/(e^0.5 + k - 1): the ratio is e^(epsilon/2), below the claim.",
    condition=PUBLIC,
)
def exponential():
    from trasgodp.categorical import dp_exponential_array

    return lambda x: str(dp_exponential_array(["a", "b", "c", x], 1.0)[3])


@sampler(
    title="clipped Laplace noise",
    claim="epsilon 1 for numbers in [0, 1]",
    place=f"{NUMERICAL}/_laplace.py: dp_clip_laplace_array",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=50_000,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1, clipped to [0, 1]",
    proof="Laplace noise of scale (upper - lower)/epsilon; clipping the sum is post-processing.",
)
def laplace():
    from trasgodp.numerical import dp_clip_laplace_array

    return lambda x: float(dp_clip_laplace_array([x], 1.0, 0.0, 1.0)[0])
