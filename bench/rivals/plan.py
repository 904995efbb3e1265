"""The usual way to an optimal plan: vectorised bisection of the price with NumPy and SciPy's lambertw.

Usage: python plan.py RATES.f64 WEIGHTS.f64 BUDGET. Reads raw little-endian doubles, prints seconds and the price.
"""

import sys
import time

import numpy as np
from scipy.special import lambertw

rate = np.fromfile(sys.argv[1])
weight = np.fromfile(sys.argv[2])
budget = float(sys.argv[3])


def frequencies(price):
    y = price * rate / weight
    kept = y < 1
    r = -1 - lambertw(-(1 - y[kept]) / np.e, -1).real
    f = np.zeros_like(rate)
    f[kept] = rate[kept] / r
    return f


start = time.perf_counter()
low, high = 0.0, float((weight / rate).max())
# As exact as ours: until the budget is spent to one part in 1e9.
while True:
    price = (low + high) / 2
    f = frequencies(price)
    spent = f.sum()
    if abs(spent / budget - 1) < 1e-9 or high - low < 1e-16 * high:
        break
    low, high = (price, high) if spent > budget else (low, price)
print(time.perf_counter() - start, price)
