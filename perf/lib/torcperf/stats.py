# SPDX-License-Identifier: Apache-2.0
"""Medians, quartiles and ratios of rounds."""

import statistics

# A difference below this is not a finding on a machine whose cores change speed, whatever the spread says.
LEAST_DIFFERENCE = 0.05


def quantile(values, fraction):
    """Linear interpolation between the two nearest of the sorted values."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    if ordered[low] == ordered[high]:
        return ordered[low]
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values):
    return {
        "min": min(values),
        "q1": quantile(values, 0.25),
        "q3": quantile(values, 0.75),
        "max": max(values),
    }


def median(values):
    return statistics.median(values)


def advantage(a, b, better):
    """How many times better `a` is than `b`; above 1 means `a` wins. None when a figure is 0."""
    if better == "higher":
        return a / b if b else None
    return b / a if a else None


# With fewer rounds quartiles say little, and the extremes stand in for them.
LEAST_ROUNDS_FOR_QUARTILES = 5


def _ends(values):
    """The quartiles, or of few values the least and the greatest."""
    if len(values) < LEAST_ROUNDS_FOR_QUARTILES:
        return min(values), max(values)
    return quantile(values, 0.25), quantile(values, 0.75)


def paired(ours, theirs, better):
    """Advantage of every round, taken between neighbours in time: (median, low, high), or None without common rounds;
    low and high are the quartiles, of fewer than 5 rounds the extremes."""
    ratios = [advantage(a, b, better) for a, b in zip(ours, theirs)]
    ratios = [r for r in ratios if r is not None]
    if not ratios:
        return None
    return (median(ratios), *_ends(ratios))


def unpaired(a, b, better):
    """Advantage of run `b` over run `a`, whose rounds were not neighbours in time: the ratio of the medians, and the
    ratios of the quartiles (of few rounds the extremes) that stand furthest apart. None when a figure is 0."""
    middle = advantage(median(b), median(a), better)
    (a_low, a_high), (b_low, b_high) = _ends(a), _ends(b)
    if better == "lower":
        a_low, a_high, b_low, b_high = a_high, a_low, b_high, b_low
    low = advantage(b_low, a_high, better)
    high = advantage(b_high, a_low, better)
    if None in (middle, low, high):
        return None
    return middle, low, high


def is_beyond_noise(ratio, line):
    """Whether (median, low, high) says that there is a difference. `line` is a result line of one side: of a single
    round only bytes tell something, times have shown no spread yet."""
    middle, low, high = ratio
    if len(line["rounds"]) < 2 and not line["unit"].startswith("bytes"):
        return False
    return abs(middle - 1) >= LEAST_DIFFERENCE and not low <= 1 <= high
