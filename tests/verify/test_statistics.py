"""The tests hold what they promise, by simulation with fixed seeds."""

import math

import numpy as np
import pytest

from reproseed.verify.statistics import (
    brown_forsythe,
    equivalence,
    holm,
    mean_interval,
    permutation,
    probability_of_improvement,
    sd_interval,
    sd_ratio,
)

TIMES = 1500
# Three standard errors of a rate that is counted over so many simulations.
SLACK = 3 * math.sqrt(0.25 / TIMES)


def rate(outcomes):
    outcomes = list(outcomes)
    return sum(outcomes) / len(outcomes)


@pytest.mark.parametrize(
    ("n", "ratio", "power"),
    [(4, 3, 0.31), (4, 10, 0.58), (6, 3, 0.47), (6, 10, 0.87), (8, 3, 0.66), (8, 10, 0.98)],
)
def test_power_of_the_variance_test(n, ratio, power):
    rng = np.random.default_rng(n * ratio)
    found = rate(brown_forsythe(rng.normal(size=n), rng.normal(0, ratio, n)).p < 0.05 for _ in range(TIMES))
    assert found == pytest.approx(power, abs=SLACK)


@pytest.mark.parametrize("draw", ["normal", "heavy tails"])
@pytest.mark.parametrize("n", [4, 6, 8, 20])
def test_false_alarms_of_the_variance_test(n, draw):
    rng = np.random.default_rng(n)
    sample = rng.normal if draw == "normal" else lambda size: rng.standard_t(3, size)
    found = rate(brown_forsythe(sample(size=n), sample(size=n)).p < 0.05 for _ in range(TIMES))
    assert found < 0.08


def test_an_f_test_would_not_hold_its_level_with_heavy_tails():
    """Why the test is about the median: the check above could fail."""
    from scipy import stats

    rng = np.random.default_rng(1)
    pairs = [(rng.standard_t(3, 8), rng.standard_t(3, 8)) for _ in range(TIMES)]
    found = rate(stats.f.sf(b.var(ddof=1) / a.var(ddof=1), 7, 7) < 0.05 for a, b in pairs)
    assert found > 0.1


@pytest.mark.parametrize("test", [brown_forsythe, permutation], ids=["variance", "means"])
def test_with_three_runs_nothing_is_tested(test):
    outcome = test([1.0, 2.0, 3.0], [10.0, 20.0, 30.0, 40.0])
    assert (outcome.applicable, outcome.p) == (False, None)
    assert outcome.reason == "3 runs; at least 4 are needed a side"


def test_runs_that_do_not_vary_or_are_not_finite_are_not_tested():
    assert not brown_forsythe([1.0] * 4, [2.0] * 4).applicable
    assert not permutation([1.0] * 4, [math.nan] * 4).applicable
    assert not equivalence([1.0] * 4, [1.0] * 4, [2.0] * 4).applicable


def test_false_alarms_and_power_of_the_permutation_test():
    rng = np.random.default_rng(2)
    same = rate(permutation(rng.normal(size=4), rng.normal(size=4)).p < 0.05 for _ in range(600))
    apart = rate(permutation(rng.normal(size=8), rng.normal(2, 1, 8)).p < 0.05 for _ in range(100))
    assert same < 0.08
    assert apart > 0.9


def test_the_permutation_test_is_exact_for_eight_runs():
    a, b = [float(i) for i in range(8)], [float(i + 8) for i in range(8)]
    assert permutation(a, b).p == pytest.approx(2 / math.comb(16, 8))


@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_runs_that_are_not_equivalent_are_seldom_called_so(shift):
    rng = np.random.default_rng(3)
    spread = rng.normal(size=100_000)
    found = rate(equivalence(rng.normal(0, 0.3, 8), rng.normal(shift, 0.3, 8), spread).p < 0.05 for _ in range(TIMES))
    assert found < 0.05 + SLACK / 2


def test_equal_runs_with_little_noise_are_called_equivalent():
    rng = np.random.default_rng(4)
    outcomes = [equivalence(rng.normal(0, 0.1, 8), rng.normal(0, 0.1, 8), rng.normal(size=8)) for _ in range(300)]
    assert rate(o.p < 0.05 for o in outcomes) > 0.95
    assert all((o.p < 0.05) == (o.interval[0] > -0.5 and o.interval[1] < 0.5) for o in outcomes)


def test_equivalence_without_any_spread_is_decided_by_the_means():
    assert equivalence([1.0] * 4, [1.0] * 4, [0.0, 1.0, 2.0, 3.0]).p == 0
    assert equivalence([1.0] * 4, [9.0] * 4, [0.0, 1.0, 2.0, 3.0]).p == 1


@pytest.mark.parametrize("n", [4, 8, 16])
def test_the_interval_of_an_sd_covers_the_truth(n):
    rng = np.random.default_rng(n)
    intervals = [sd_interval(rng.normal(0, 2, n)) for _ in range(TIMES)]
    assert rate(low <= 2 <= high for _, low, high in intervals) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("n", [4, 10])
def test_the_interval_of_a_mean_covers_the_truth(n):
    rng = np.random.default_rng(n)
    intervals = [mean_interval(rng.normal(1, 2, n)) for _ in range(TIMES)]
    assert rate(low <= 1 <= high for _, low, high in intervals) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("p", [0.5, 0.75])
def test_the_interval_of_the_probability_of_improvement_covers_the_truth(p):
    from scipy import stats

    rng = np.random.default_rng(6)
    shift = stats.norm.ppf(p) * math.sqrt(2)
    covered = []
    for _ in range(300):
        a, b = rng.normal(size=20), rng.normal(size=20) - shift
        _, low, high = probability_of_improvement(a, b)
        covered.append(low <= p <= high)
    assert rate(covered) > 0.92


def test_improvement_counts_ties_half_and_knows_the_direction():
    a, b = [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 3.0, 5.0]
    assert probability_of_improvement(a, b)[0] == 0.625
    assert probability_of_improvement(a, b, better="higher")[0] == 0.375


def test_six_pairs_that_agree_show_an_improvement_and_three_do_not():
    assert probability_of_improvement([1.0] * 6, [0.0] * 6)[1] > 0.5
    assert probability_of_improvement([1.0] * 3, [0.0] * 3)[1] < 0.5


def test_the_ratio_of_two_sds_has_an_interval_around_it():
    rng = np.random.default_rng(7)
    ratio, low, high = sd_ratio(rng.normal(size=20), rng.normal(0, 4, 20))
    assert low < ratio < high
    assert low < 0.25 < high
    assert sd_ratio([1.0] * 4, [1.0, 2.0, 3.0, 4.0]) == (0.0, 0.0, 0.0)
    assert math.isnan(sd_ratio([1.0, 2.0, 3.0, 4.0], [1.0] * 4)[0])


def test_holm_keeps_the_order_and_the_family_wise_level():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    rng = np.random.default_rng(8)
    assert rate(min(holm(rng.uniform(size=10).tolist())) < 0.05 for _ in range(TIMES)) < 0.07


def test_steps_taken_for_replicates_would_not_cover_the_truth():
    """Why the unit is a run: an interval over autocorrelated steps is far too narrow."""
    rng = np.random.default_rng(9)
    covered = []
    for _ in range(500):
        noise = rng.normal(size=50)
        for i in range(1, 50):
            noise[i] = 0.9 * noise[i - 1] + math.sqrt(1 - 0.81) * noise[i]
        _, low, high = mean_interval(noise)
        covered.append(low <= 0 <= high)
    assert rate(covered) < 0.5
