"""Selection of test cases that covers every pair of option values."""

import itertools
import random


def all_pairs(factors, allowed=lambda row: True, seed=0, extra=0):
    """Rows (dicts) in which every pair of values of two factors occurs.

    factors maps a name to its values; allowed(row) rejects rows. Pairs that
    occur in no allowed row found by the search are left out. Greedy and
    deterministic: each row starts from an uncovered pair and is the best of a
    few dozen random completions. extra random rows follow.
    """
    rng = random.Random(seed)
    names = list(factors)

    def pairs_of(row):
        return {(a, repr(row[a]), b, repr(row[b]))
                for a, b in itertools.combinations(names, 2)}

    def complete(fixed):
        for _ in range(200):
            row = {n: fixed.get(n, rng.choice(factors[n])) for n in names}
            if allowed(row):
                return row
        return None

    uncovered = {(a, repr(va), b, repr(vb)): {a: va, b: vb}
                 for a, b in itertools.combinations(names, 2)
                 for va in factors[a] for vb in factors[b]}
    rows = []
    while uncovered:
        key = next(iter(uncovered))
        candidates = [complete(uncovered[key]) for _ in range(40)]
        candidates = [row for row in candidates if row]
        if not candidates:
            del uncovered[key]
            continue
        best = max(candidates, key=lambda row: len(pairs_of(row) & uncovered.keys()))
        for pair in pairs_of(best):
            uncovered.pop(pair, None)
        rows.append(best)
    rows.extend(row for row in (complete({}) for _ in range(extra)) if row)
    return rows
