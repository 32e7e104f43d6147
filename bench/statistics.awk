# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Statistics for the programs of bench/: awk -f bench/statistics.awk -f PROGRAM. Pure functions; names that begin with `_`
# are their locals.

# Student's t for a two-sided interval of 90 %, N - 1 degrees of freedom; beyond 30 by the expansion of Cornish and Fisher.
function t90(n,    _t, _v, _z) {
    if (n < 2)
        return 0
    if (n <= 31) {
        split("6.3138 2.9200 2.3534 2.1318 2.0150 1.9432 1.8946 1.8595 1.8331 1.8125 1.7959 1.7823 1.7709 1.7613 1.7531 " \
            "1.7459 1.7396 1.7341 1.7291 1.7247 1.7207 1.7171 1.7139 1.7109 1.7081 1.7056 1.7033 1.7011 1.6991 1.6973", _t, " ")
        return _t[n - 1]
    }
    _z = 1.644854
    _v = n - 1
    return _z + (_z ^ 3 + _z) / (4 * _v) + (5 * _z ^ 5 + 16 * _z ^ 3 + 3 * _z) / (96 * _v ^ 2)
}

# Of x[1..n]: the mean; mean_half is half the width of its interval of 90 %, 0 where n < 2.
function mean(x, n,    _i, _sum) {
    for (_i = 1; _i <= n; _i++)
        _sum += x[_i]
    return n ? _sum / n : 0
}

function mean_half(x, n,    _i, _m, _squares) {
    if (n < 2)
        return 0
    _m = mean(x, n)
    for (_i = 1; _i <= n; _i++)
        _squares += (x[_i] - _m) ^ 2
    return t90(n) * sqrt(_squares / (n - 1) / n)
}

# Sorts x[1..n], smallest first.
function sort(x, n,    _i, _j, _gap, _v) {
    for (_gap = int(n / 2); _gap > 0; _gap = int(_gap / 2))
        for (_i = _gap + 1; _i <= n; _i++) {
            _v = x[_i]
            for (_j = _i; _j > _gap && x[_j - _gap] > _v; _j -= _gap)
                x[_j] = x[_j - _gap]
            x[_j] = _v
        }
}

# Of x[1..n], which is sorted, the value at share q of the way from the first to the last, interpolated.
function quantile(x, n, q,    _at, _low) {
    _at = 1 + (n - 1) * q
    _low = int(_at)
    return _low >= n ? x[n] : x[_low] + (_at - _low) * (x[_low + 1] - x[_low])
}

# The sign, -1 or 1, of effect E (0 is the mean, else a set of factors, bit 0 the first one) in experiment I of a 2^k
# design: bit f of I is 1 where factor f is at its high level.
function effect_sign(e, i,    _sign) {
    _sign = 1
    while (e > 0) {
        if (e % 2 == 1 && i % 2 == 0)
            _sign = -_sign
        e = int(e / 2)
        i = int(i / 2)
    }
    return _sign
}

# The allocation of variation of a 2^k r factorial design (Jain 1991, chapters 17 and 18): y[i, j], experiment i from 0 to
# 2^k - 1, repetition j from 1 to r. Sets effect[e] for each set e of factors (0: the mean), share[e] to what it explains of
# the variation, percent, and share["error"] to what is left; returns the variation (SST).
function factorial(k, r, y, effect, share,    _n, _e, _i, _j, _m, _total) {
    _n = 2 ^ k
    for (_e = 0; _e < _n; _e++) {
        effect[_e] = share[_e] = 0
        for (_i = 0; _i < _n; _i++) {
            _m = 0
            for (_j = 1; _j <= r; _j++)
                _m += y[_i, _j] / r
            effect[_e] += effect_sign(_e, _i) * _m / _n
        }
    }
    for (_i = 0; _i < _n; _i++)
        for (_j = 1; _j <= r; _j++)
            _total += (y[_i, _j] - effect[0]) ^ 2
    share["error"] = 100
    for (_e = 1; _e < _n; _e++) {
        share[_e] = _total > 0 ? 100 * _n * r * effect[_e] ^ 2 / _total : 0
        share["error"] -= share[_e]
    }
    if (_total <= 0 || share["error"] < 0)
        share["error"] = 0
    return _total + 0
}
