"""Measures what the guide's chapter "Python" says about speed. Times are minima of many repeats; the runs of a ratio
alternate.

    python3 bench.py [overhead] [import] [andrews]"""
import math
import subprocess
import sys
import time

import numpy as np

import cpodes


def overhead() -> None:
    """The cost of one callback with n = 14, in addition to the function itself."""
    n, value = 14, np.zeros(14)
    f = lambda t, y: value
    y = np.zeros(n)
    run = alone = np.inf
    for _ in range(200):
        begin = time.perf_counter()
        for _ in range(1000):
            f(0.0, y)
        alone = min(alone, (time.perf_counter() - begin) / 1000)
        system = cpodes._solve.Ode(f, 0.0, y, float, None, None, None, (), 1e-3, 1e-6)
        raw, ode = cpodes._solve.lib.glue_rhs, system.ode
        a, b = system.scratch_vectors
        empty = time.perf_counter()
        for _ in range(1000):
            raw(0.0, a, b, ode)
        run = min(run, (time.perf_counter() - empty) / 1000)
    print(f"a callback, n = 14: {1e6 * (run - alone):.2f} microseconds beyond the function (which takes {1e6 * alone:.2f})")


def importing() -> None:
    program = "import numpy, time; t = time.perf_counter(); import cpodes; print(time.perf_counter() - t)"
    times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout) for _ in range(15)]
    print(f"import cpodes after numpy: {1e3 * min(times):.0f} ms")


class Andrews:
    """Andrews' squeezing mechanism (Test Set for Initial Value Problem Solvers) as an index-reduced ODE in numpy: y = (q,
    u), one state [14] or several [14, k]. M, A and everything else that depends on q are linear in e = (1, cos, sin) of
    ten angles: those of the seven bars, and q_1, q_3, q_5. Forces and b, except for the spring's force, are linear in
    products of e and squared rates of the bars."""

    m = dict(zip(range(1, 8), (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)))
    inertia = dict(zip(range(1, 8), (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)))
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    d, da, e, ea, rr, ra, ss, sa, sb, sc, sd = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
    ta, tb, u, ua, ub, zf, zt, fa, c0, l0, mom = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421, 4530, 0.07785, 0.033
    # the bars: their loops, angles, and vector at angle 0
    bars = [((0, 1, 2), (0,), (rr, 0)), ((0, 1, 2), (0, 1), (-d, 0)), ((0,), (2,), (0, ss)), ((1,), (3, 4), (0, e)), ((1,), (4,), (-zt, 0)),
            ((2,), (5, 6), (-zf, 0)), ((2,), (6,), (0, u))]

    def __init__(self):
        m, I, one, cos, sin = self.m, self.inertia, np.eye(21)[0], np.eye(21)[1:11], np.eye(21)[11:]
        S, L = np.zeros((7, 7)), np.zeros((6, 14)) # S: angles of the bars from q; L: loops (x, y in turn) from bars (x, y)
        for k, (loops, angles, _) in enumerate(self.bars):
            S[k, list(angles)] = 1
            for loop in loops:
                L[2 * loop, k] = L[2 * loop + 1, k + 7] = 1
        self.S, self.L = S, L
        self.angles = np.vstack([S, np.eye(7)[[1, 3, 5]]])
        vx, vy = np.array([v for _, _, v in self.bars]).T[:, :, None]
        x, y = vx * cos[:7] - vy * sin[:7], vx * sin[:7] + vy * cos[:7] # components of the bars
        A = np.einsum("rb,bi,be->rie", L, np.vstack([S, S]), np.vstack([-y, x]))

        M, h, k = np.zeros((7, 7, 21)), self.e - self.ea, self.zf - self.fa
        M[0, 0] = (m[1] * self.ra ** 2 + m[2] * (self.rr ** 2 + self.da ** 2) + I[1] + I[2]) * one - 2 * m[2] * self.da * self.rr * cos[7]
        M[0, 1] = M[1, 0] = (m[2] * self.da ** 2 + I[2]) * one - m[2] * self.da * self.rr * cos[7]
        M[1, 1] = (m[2] * self.da ** 2 + I[2]) * one
        M[2, 2] = (m[3] * (self.sa ** 2 + self.sb ** 2) + I[3]) * one
        M[3, 3] = (m[4] * h * h + I[4]) * one
        M[3, 4] = M[4, 3] = (m[4] * h * h + I[4]) * one + m[4] * self.zt * h * sin[8]
        M[4, 4] = (m[4] * (self.zt ** 2 + h * h) + m[5] * (self.ta ** 2 + self.tb ** 2) + I[4] + I[5]) * one + 2 * m[4] * self.zt * h * sin[8]
        M[5, 5] = (m[6] * k * k + I[6]) * one
        M[5, 6] = M[6, 5] = (m[6] * k * k + I[6]) * one - m[6] * k * self.u * sin[9]
        M[6, 6] = (m[6] * (k * k + self.u ** 2) + m[7] * (self.ua ** 2 + self.ub ** 2) + I[6] + I[7]) * one - 2 * m[6] * k * self.u * sin[9]

        # the spring: the square of its length, and c0 times its lever arm
        X, Z = self.xb - self.xc, self.yb - self.yc
        rx, rz = self.sd * cos[2] + self.sc * sin[2], self.sd * sin[2] - self.sc * cos[2]
        spring = [(self.sd ** 2 + self.sc ** 2 + X * X + Z * Z) * one + 2 * (X * rx + Z * rz), self.c0 * (Z * rx - X * rz)]
        # The terms of (f, b) are products of a factor from e and one from squared rates w^2 of bars; w_1^2 - w_0^2 = u_1
        # (u_1 + 2 u_0), and so on.
        w = np.eye(7)
        arm, fork, rod = m[2] * self.da * self.rr * sin[7], m[4] * self.zt * h * cos[8], m[6] * self.u * k * cos[9]
        terms = [(0, -arm, w[1] - w[0]), (1, arm, w[0]), (3, fork, w[4]), (4, -fork, w[3] - w[4]), (5, -rod, w[6]), (6, rod, w[5] - w[6])]
        first = np.array([term for _, term, _ in terms] + list(x) + list(y))
        self.squares = np.array([square for _, _, square in terms] + list(w) + list(w))
        self.sums = np.zeros((13, 20))
        for column, (row, _, _) in enumerate(terms):
            self.sums[row, column] = 1
        self.sums[7:, 6:] = L
        K = np.zeros((13, 13, 21))
        K[:7, :7], K[7:, :7], K[:7, 7:] = M, A, A.transpose(1, 0, 2)
        self.position = L @ np.vstack([x, y]) - np.outer([self.xb, self.yb, self.xa, self.ya, self.xa, self.ya], one)
        self.of_A = A.reshape(42, 21)
        self.of_mechanism = np.vstack([M.reshape(49, 21), self.of_A, first, spring, self.position])
        self.of_rhs = np.vstack([K.reshape(169, 21), first, spring])
        self.of_c, self.of_G = np.vstack([self.position, -y, x]), np.vstack([self.of_A, x, y])

    def trigonometry(self, q):
        a, e = self.angles @ q, np.empty((21,) + q.shape[1:])
        e[0] = 1
        np.cos(a, out=e[1:11])
        np.sin(a, out=e[11:])
        return e

    def loads(self, X, v):
        """(f, b) from X, which holds the factors of their terms and the two quantities of the spring."""
        w = self.S @ v
        r = self.sums @ (X[:20] * (self.squares @ (w * w)))
        r[0] += self.mom
        r[2] += (self.l0 / np.sqrt(X[20]) - 1) * X[21]
        return r

    def f(self, t, y):
        X, v = self.of_rhs @ self.trigonometry(y[:7]), y[7:]
        K, r = X[:169], self.loads(X[169:], v)
        if y.ndim == 1:
            udot = np.linalg.solve(K.reshape(13, 13), r)[:7]
        else:
            udot = np.linalg.solve(K.T.reshape(-1, 13, 13), r.T[:, :, None])[:, :7, 0].T
        return np.concatenate([v, udot])

    def mechanism(self):
        """The functions share what they compute for a state, since M, f, A and b are requested at the same one."""
        def newest(function):
            key = value = None

            def kept(*arrays):
                nonlocal key, value
                now = [a.tobytes() for a in arrays]
                if now != key:
                    key, value = now, function(*arrays)
                return value
            return kept
        X = newest(lambda q: self.of_mechanism @ self.trigonometry(q))
        loads = newest(lambda q, u: self.loads(X(q)[91:113], u))
        return cpodes.Mechanism(lambda t, q: X(q)[:49].reshape(7, 7), lambda t, q, u: loads(q, u)[:7],
                                lambda t, q: X(q)[49:91].reshape(6, 7), lambda t, q: X(q)[113:],
                                lambda t, q, u: X(q)[49:91].reshape(6, 7) @ u, lambda t, q, u: loads(q, u)[7:])

    def c(self, t, y):
        X, w = self.of_c @ self.trigonometry(y[:7]), self.S @ y[7:]
        return np.concatenate([X[:6], self.L @ (X[6:] * np.concatenate([w, w]))])

    def G(self, t, y):
        X, w, G = self.of_G @ self.trigonometry(y[:7]), self.S @ y[7:], np.zeros((12, 14))
        G[:6, :7] = G[6:, 7:] = X[:42].reshape(6, 7)
        G[6:, :7] = -(self.L * (X[42:] * np.concatenate([w, w]))) @ np.vstack([self.S, self.S])
        return G


def andrews() -> None:
    """CPU time of Andrews' mechanism for an error of 1e-8 [rad] in the angles at the end. It comes from a ladder of
    tolerances, by a line through the logarithms of errors and times from 1e-6 to 1e-10. All programs use the same
    function; scipy's implicit methods are also given the vectorized one, and the better time counts."""
    from scipy.integrate import solve_ivp
    a, model = Andrews(), cpodes.model("andrews")
    y0, end = model.y0, model.t_end
    exact = model.solve(rtol=1e-13, atol=1e-13).y[:7, -1]
    mechanism, calls = a.mechanism(), 0

    def f(t, y):
        nonlocal calls
        calls += 1
        return a.f(t, y)

    def scipy(name, vectorized=False):
        return lambda tol: solve_ivp(f, (0, end), y0, name, rtol=tol, atol=tol, vectorized=vectorized)

    def solve(name, vectorized=False):
        return lambda tol: cpodes.solve(f, (0, end), y0, name, constraints=a.c, jac=a.G, rtol=tol, atol=tol, vectorized=vectorized)
    programs = {f"scipy {name}": scipy(name) for name in ("RK45", "DOP853", "LSODA")}
    programs["cpodes, DOP853"], programs["cpodes, RADAU"] = solve("DOP853"), solve("RADAU")
    programs["cpodes, RADAU, t"], programs["cpodes, RADAU13, t"] = solve("RADAU", "t"), solve("RADAU13", "t")
    programs["cpodes, Mechanism"] = lambda tol: mechanism.solve((0, end), y0, "DOP853", rtol=tol, atol=tol)
    programs["cpodes, compiled"] = lambda tol: model.solve(method="DOP853", rtol=tol, atol=tol)
    slow = {f"scipy {name}{', vectorized' * v}": scipy(name, v) for name in ("BDF", "Radau") for v in (False, True)}
    tolerances = 10.0 ** -np.arange(5.5, 11.6, 0.25)
    ladder = {name: [] for name in [*programs, *slow]} # (error, evaluations, calls, seconds)
    for i, tol in enumerate(tolerances):
        for name, program in (programs | slow if i % 3 == 0 and i <= 18 else programs).items():
            best = np.inf
            for _ in range(1 if name in slow else 3): # alternating, so that the load of the machine affects all programs
                calls, begin = 0, time.thread_time()
                sol = program(tol)
                best = min(best, time.thread_time() - begin)
            ladder[name].append((abs(sol.y[:7, -1] - exact).max(), sol.nfev, calls or sol.nfev, best))
    at = {}
    for name, rows in ladder.items():
        errors, *columns = (np.log(column) for column in np.array([r for r in rows if 1e-10 <= r[0] <= 1e-6]).T)
        at[name] = [np.exp(np.polyval(np.polyfit(errors, column, 1), math.log(1e-8))) for column in columns] + [len(errors)]
    best = min(value[2] for name, value in at.items() if name.startswith("scipy"))
    for name, (evaluations, calls, seconds, n) in at.items():
        print(f"{name:>23}: {evaluations:6.0f} evaluations, {calls:6.0f} calls, {1e3 * seconds:7.1f} ms, {best / seconds:6.2f} times as fast "
              f"as the best of scipy's ({n} tolerances)")


if __name__ == "__main__":
    parts = {"overhead": overhead, "import": importing, "andrews": andrews}
    for name in sys.argv[1:] or parts:
        parts[name]()
