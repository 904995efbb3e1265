"""Computes digits.csv: every closed form of the library at the edges of its domain, with 80 digits.

Run as `python generate.py > digits.csv` with mpmath installed. The formulas here are the textbook ones, on purpose: where
they cancel, eighty digits do not care. Arguments are doubles, taken exactly.
"""

import mpmath as mp

mp.mp.dps = 80


def row(name, args, value):
    args = [repr(float(a)) for a in args] + [""] * (3 - len(args))
    print(",".join([name, *args, mp.nstr(value, 19, strip_zeros=True)]))


def rs():
    grid = [10.0**e for e in range(-8, 7)]
    grid += [3.0 * g for g in grid[:-1]] + [0.5, 0.75, 0.999, 1.001, 1.5, 2.0, 2.99, 3.01, 5.0, 37.0, 700.0]
    return sorted(grid)


def f_fixed(r):
    return (1 - mp.e**-r) / r


def freshness(order, r):
    e1 = f_fixed(r)
    return {"fixed": e1, "random": (1 - e1**2) / r, "purely-random": 1 / (1 + r)}[order]


def age(order, r):
    e1 = f_fixed(r)
    return {
        "fixed": mp.mpf(1) / 2 - 1 / r + e1 / r,
        "random": mp.mpf(1) / 3 + (mp.mpf(1) / 2 - 1 / r) ** 2 - (e1 / r) ** 2,
        "purely-random": r / (1 + r),
    }[order]


def ein(r):
    return mp.log(r) + mp.euler + mp.e1(r)


def ein3(x):
    """The third integral of Ein, from integral of (x-s)^3 (1-e^-s)/s."""
    m1 = mp.gammainc(2, 0, x)
    m2 = mp.gammainc(3, 0, x)
    return (x**3 * ein(x) - 3 * x**2 * (x - 1 + mp.e**-x) + 3 * x * (x**2 / 2 - m1) - (x**3 / 3 - m2)) / 6


def harmonic(order, r):
    if order == "fixed":
        return ein(r) - (r - 1 + mp.e**-r) / r
    if order == "random":
        return (ein3(2 * r) - 2 * ein3(r)) / r**3
    return mp.log(1 + r)


ORDERS = ["fixed", "random", "purely-random"]


def utility(order, objective, r):
    """-d/df of the mean divergence, as a derivative in r: f = lambda/r."""
    if objective == "freshness":
        return -(r**2) * mp.diff(lambda x: freshness(order, x), r, h=r * mp.mpf(10) ** -20)
    if objective == "harmonic":
        return r**2 * mp.diff(lambda x: harmonic(order, x), r, h=r * mp.mpf(10) ** -20)
    return r**2 * mp.diff(lambda x: x * age(order, x), r, h=r * mp.mpf(10) ** -20)


def check_harmonic_random():
    """The closed form of the harmonic penalty under random order against its definition, an integral over the gap."""
    for r in [mp.mpf("0.5"), mp.mpf(3)]:
        survival = lambda s: 1 - s**2 / 2 if s <= 1 else (2 - s) ** 2 / 2
        by_definition = mp.quad(lambda s: ein(r * s) * survival(s), [mp.mpf(10) ** -60, 1, 2])
        assert abs(by_definition - harmonic("random", r)) < mp.mpf(10) ** -30, r


def orders():
    for r in rs():
        x = mp.mpf(r)
        for order in ORDERS:
            row(f"freshness.{order}", [r], freshness(order, x))
            row(f"staleness.{order}", [r], 1 - freshness(order, x))
            row(f"age.{order}", [r], age(order, x))
            row(f"harmonic.{order}", [r], harmonic(order, x))
            for objective in ["freshness", "age", "harmonic"]:
                row(f"utility.{objective}.{order}", [r], utility(order, objective, x))
        row("ein", [r], ein(x))


def inverses():
    ys = [10.0**e for e in range(-16, 0)] + [0.2, 0.35, 0.499, 0.501, 0.7, 0.9, 0.99, 0.999, 0.999999, 1 - 2.0**-40, 1 - 2.0**-52]
    for y in ys:
        v = mp.mpf(y)
        row("g_inverse", [y], -1 - mp.re(mp.lambertw(-(1 - v) / mp.e, -1)))
        guess = mp.sqrt(3 / (1 - v)) if y > 0.9 else mp.sqrt(12 * v / 7)
        u = lambda r: 1 - (lambda e1: 3 * e1**2 - 2 * e1 * mp.e**-r)(f_fixed(r))
        around = (guess * mp.mpf("0.9"), guess * mp.mpf("1.1"))
        found = mp.findroot(lambda r: u(r) / v - 1, around, solver="secant", tol=mp.mpf(10) ** -60, maxsteps=200, verify=False)
        row("random_utility_inverse", [y], found)
    for y in ys + [1.0, 3.0, 10.0, 1e3, 1e6, 1e9, 1e12]:
        v = mp.mpf(y)
        row("k_inverse", [y], 1 + v + mp.re(mp.lambertw(-mp.e ** -(1 + v))))
        start = (3 * v) ** (mp.mpf(1) / 3) if y < 1 else mp.sqrt(2 * (v + 1))
        h = lambda r: r**2 / 2 - 1 + (1 + r) * mp.e**-r
        row("h_inverse", [y], mp.findroot(lambda r: h(r) / v - 1, start, tol=mp.mpf(10) ** -100, maxsteps=200, verify=False))
    for f in [1e-6, 1e-3, 0.1, 0.3, 0.5, 0.6, 0.8, 0.95, 0.999, 1 - 2.0**-30]:
        v = mp.mpf(f)
        row("ratio_for_freshness.fixed", [f], 1 / v + mp.re(mp.lambertw(-mp.e ** (-1 / v) / v)))


def lomax(alpha, x):
    """Divergence, area and utility for beta = 1."""
    d = 1 - (1 + x) ** -alpha
    a = x - mp.log(1 + x) if alpha == 1 else x - (1 - (1 + x) ** (1 - alpha)) / (alpha - 1)
    return d, a, x * d - a


def curves():
    for alpha in [1e-3, 0.3, 0.5, 1 - 1e-9, 1.0, 1 + 1e-12, 1.5, 2.0, 2 + 1e-9, 7.0, 1e3, 1e6]:
        for x in [1e-8, 1e-5, 1e-3, 0.1, 0.9, 1.0, 3.0, 50.0, 1e4, 1e6]:
            d, a, u = lomax(mp.mpf(alpha), mp.mpf(x))
            row("lomax.divergence", [alpha, x], d)
            row("lomax.freshness", [alpha, x], 1 - a / x)
            row("lomax.area", [alpha, x], a)
            row("lomax.utility", [alpha, x], u)
    for k in [0.05, 0.4, 0.7, 1.0, 1.3, 5.0, 50.0]:
        for r in [1e-8, 1e-4, 0.1, 0.7, 1.0, 1.4, 3.0, 40.0, 1e6]:
            kk, x = mp.mpf(k), mp.mpf(r)
            z = x**kk
            u = mp.gammainc(1 + 1 / kk, 0, z)
            row("weibull.freshness", [k, r], mp.gammainc(1 / kk, 0, z) / (kk * x))
            if u > mp.mpf(10) ** -300:  # below it a double has no digits left
                row("weibull.utility", [k, r], u)
                row("weibull.area", [k, r], -x * mp.expm1(-z) - u)
    for items, r in [(5000, 4900.0), (5000, 5000.0), (5000, 5200.0), (100000, 100100.0)]:
        scroll(items, 1.0, r)
    for items in [1, 2, 10, 500]:
        for share in [0.1, 1.0]:
            for r in [1e-8, 1e-3, 0.5, 3.0, 10.0, 480.0, 1e3, 1e6]:
                scroll(items, share, r)


def scroll(items, share, r):
    x, a = mp.mpf(r), mp.mpf(share)
    distance = lambda j: 2 * a * j / (items + a * j)
    # P(J >= j) from the top down: P(J >= j) = P(J >= j+1) + P(J = j).
    tails = [mp.mpf(0)] * (items + 2)
    tails[items + 1] = mp.gammainc(items + 1, 0, x, regularized=True)
    point = mp.e ** (items * mp.log(x) - x - mp.loggamma(items + 1))
    for j in range(items, 0, -1):
        tails[j] = tails[j + 1] + point
        point *= j / x
    steps = [(j, distance(j) - distance(j - 1)) for j in range(1, items + 1)]
    row("scroll.divergence", [items, share, r], mp.fsum(s * tails[j] for j, s in steps))
    row("scroll.area", [items, share, r], mp.fsum(s * (x * tails[j] - j * tails[j + 1]) for j, s in steps))
    row("scroll.utility", [items, share, r], mp.fsum(s * j * tails[j + 1] for j, s in steps))


def gamma_model():
    half = 0.5**0.5
    for delta in [0.0, 1e-8, 1e-3, 0.1, 0.5, half, half * (1 + 1e-9), 0.9, 1.0, 1.0 + 1e-10, 2.0, 10.0]:
        for r in [1e-8, 1e-3, 0.1, 1.0, 5.0, 100.0, 1e6]:
            d2, x = mp.mpf(delta) ** 2, mp.mpf(r)
            if delta == 0.0:
                row("gamma.freshness", [delta, r], freshness("fixed", x))
                row("gamma.age", [delta, r], age("fixed", x))
                continue
            if d2 == 1:
                d2 += mp.mpf(10) ** -40  # the removable singularity, approached
            f = (1 - (1 + x * d2) ** (1 - 1 / d2)) / (x * (1 - d2))
            a = ((1 - d2) / 2 - 1 / x + (1 - (1 + x * d2) ** (2 - 1 / d2)) / (x**2 * (1 - 2 * d2))) / (1 - d2)
            row("gamma.freshness", [delta, r], f)
            row("gamma.age", [delta, r], a)


check_harmonic_random()
print("function,a,b,c,value")
orders()
inverses()
curves()
gamma_model()
