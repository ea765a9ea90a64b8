"""Mechanisms with contacts: motions against closed forms, events and phases, and refused arguments."""
import ctypes

import numpy as np
import pytest

import cpodes

G = 9.81
FIRST, REST = 0.451523640986, 8.578949178729 # sqrt(2 h / g), and (1 + e) / (1 - e) times that, for h = 1, e = 0.9


def ball(e=0.9, **options):
    """A mass that falls on a floor."""
    floor = cpodes.Contact(lambda t, q: q[0], [1.0], restitution=e, name="floor", **options)
    return cpodes.Mechanism(mass=[[1.0]], forces=lambda t, q, u: np.array([-G]), contacts=floor)


def sphere(mu=0.2, restitution=0.0):
    """A sphere of mass 1 and radius 1 on a floor, q = (x, z, angle), and the point that touches it."""
    floor = cpodes.Contact(lambda t, q: q[1] - 1, [0.0, 1.0, 0.0], [1.0, 0.0, 1.0], mu=mu, restitution=restitution)
    return cpodes.Mechanism(mass=np.diag([1.0, 1.0, 0.4]), forces=lambda t, q, u: np.array([0, -G, 0]), contacts=[floor])


@pytest.mark.parametrize("method", ["BDF", "DOP853"])
def test_a_ball_bounces_and_comes_to_rest_where_its_series_ends(method):
    sol = ball().solve((0, 9), [1.0, 0.0], method, rtol=1e-11, atol=1e-11)
    near = 3e-10 if method == "BDF" else 1e-10 # BDF's errors are three times as large at the same tolerance
    impacts = [e for e in sol.contact_events if e.kind in ("impact", "accumulation")]
    assert impacts[0].t == pytest.approx(FIRST, abs=1e-10) and impacts[0].contact == "floor"
    assert impacts[-1].kind == "accumulation" and impacts[-1].t_closed == pytest.approx(REST, abs=near)
    assert impacts[0].velocity[:, 0] == pytest.approx([-G * FIRST, 0.9 * G * FIRST], abs=1e-9)
    assert impacts[0].impulse[0] == pytest.approx(1.9 * G * FIRST, abs=1e-9)
    assert sol.t[-1] == 9 and np.abs(sol.y[:, -1]).max() < 1e-10
    assert [p.contacts for p in sol.phases] == [("open",), ("closed",)]


def test_a_contact_without_friction_that_is_closed_at_the_start_closes():
    block = cpodes.Bodies(dimension=2, gravity=(0, -G))
    block.add_body("block", mass=1, inertia=0.1)
    block.contact(None, "block", axis=(0, 1), name="floor")
    sol = block.solve((0, 1))
    assert [(e.kind, e.before, e.after) for e in sol.contact_events] == [("closes", "open", "closed")]
    assert [p.contacts for p in sol.phases] == [("closed",)]


@pytest.mark.parametrize("method", ["BDF", "DOP853", "RADAU"])
def test_a_slipping_ball_begins_to_roll(method):
    v0, mu = 1.0, 0.2
    begin, speed = 2 * v0 / (7 * mu * G), 5 / 7 * v0 # of Coriolis' billiard ball
    sol = sphere(mu).solve((0, 1), [0, 1, 0, v0, 0, 0], method, rtol=1e-11, atol=1e-11)
    assert [p.contacts for p in sol.phases] == [("sliding",), ("sticking",)]
    assert sol.phases[1].begin == pytest.approx(begin, abs=1e-10) and sol.phases[1].end == 1
    assert [e.kind for e in sol.contact_events][-1] == "sticks"
    way = 12 * v0 ** 2 / (49 * mu * G) + speed * (1 - begin)
    assert sol.y[[0, 3, 5], -1] == pytest.approx([way, speed, -speed], abs=1e-10)
    assert sol.violation.max() < 1e-10


def test_dense_output_has_both_sides_of_an_impact():
    sol = ball().solve((0, 1), [1.0, 0.0], "DOP853", rtol=1e-10, atol=1e-10, dense_output=True)
    t = np.array([0.1, FIRST + 0.1])
    falls, rises = 1 - G * t[0] ** 2 / 2, 0.9 * G * FIRST * 0.1 - G * 0.1 ** 2 / 2
    assert sol.sol(t)[0] == pytest.approx([falls, rises], abs=1e-9)
    twice = np.flatnonzero(np.diff(sol.t) == 0)
    assert len(twice) == 1 and sol.y[1, twice[0]] < 0 < sol.y[1, twice[0] + 1]
    eval_ = ball().solve((0, 1), [1.0, 0.0], "DOP853", t_eval=t, rtol=1e-10, atol=1e-10)
    assert eval_.y[0] == pytest.approx([falls, rises], abs=1e-9)


def test_events_and_changes_of_the_users_go_with_contacts():
    def top(t, y):
        return y[1]
    top.direction, top.terminal = -1, 2
    sol = ball().solve((0, 9), [1.0, -1.0], "DOP853", rtol=1e-10, atol=1e-10, events=top)
    first = (np.sqrt(1 + 2 * G) - 1) / G
    up = 0.9 * np.sqrt(1 + 2 * G)
    assert sol.status == 1 and sol.t_events[0] == pytest.approx([first + up / G, first + (2 + 0.9) * up / G], abs=1e-8)

    def high(t, y):
        return y[0] - 0.2
    high.change = lambda t, y: np.array([y[0], -2.0])
    high.direction, high.terminal = 1, 3
    sol = ball(0.5).solve((0, 9), [1.0, 0.0], "BDF", rtol=1e-8, atol=1e-8, events=high)
    down = np.sqrt(4 + 2 * G * 0.2)
    assert sol.t_events[0][0] > FIRST
    speeds = [e.velocity[0, 0] for e in sol.contact_events if e.kind == "impact"]
    assert speeds[1] == pytest.approx(-down, abs=1e-6)


def test_a_change_at_rest_is_no_event_of_the_contacts():
    def later(t, y):
        return t - 0.1
    later.change = lambda t, y: y
    m = sphere()
    sol = m.solve((0, 0.2), [0, 1, 0, 0, 0, 0], events=later)
    assert len(sol.t_events[0]) == 1 and [(e.t, e.kind) for e in sol.contact_events] == [(0, "sticks")]
    assert [p.contacts for p in sol.phases] == [("sticking",)]


def test_contacts_that_are_closed_strike_at_the_start():
    sol = ball().solve((0, 0.1), [0.0, -1.0])
    assert sol.y[1, :2] == pytest.approx([-1.0, 0.9], abs=1e-15) and sol.t[1] == 0 and sol.contact_events[0].kind == "impact"


def test_rows_of_contacts_stand_between_those_of_joints():
    """A bead on a rod, q = (x, z) with x = z, that falls on a floor like a ball under half the gravity."""
    floor = cpodes.Contact(lambda t, q: q[1], lambda t, q: [0.0, 1.0], restitution=0.9)
    m = cpodes.Mechanism(mass=np.eye(2), forces=lambda t, q, u: np.array([0, -2 * G]), constraints=[[1.0, -1.0]],
                         position=lambda t, q: np.array([q[0] - q[1]]), contacts=[floor])
    sol = m.solve((0, 1), m.start([1, 1]), rtol=1e-10, atol=1e-10)
    assert sol.contact_events[0].t == pytest.approx(FIRST, abs=1e-9) and sol.contact_events[0].contact == "contact0"
    assert sol.violation.max() < 1e-9


def test_functions_of_contacts_may_be_compiled():
    """The bead and the slipping ball, by addresses of C functions."""
    D = ctypes.POINTER(ctypes.c_double)
    one, two = (ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[D] * n, ctypes.c_void_p) for n in (2, 3))

    def compiled(kind, f):
        def run(t, *rest):
            for k, value in enumerate(f(*rest[:-2])):
                rest[-2][k] = value
            return 0
        return kind(run)
    floor = cpodes.Contact(compiled(one, lambda q: [q[1]]), compiled(one, lambda q: [0, 1]), restitution=0.9,
                           bias=compiled(two, lambda q, u: [0]))
    m = cpodes.Mechanism(mass=np.eye(2), forces=lambda t, q, u: np.array([0, -2 * G]), constraints=compiled(one, lambda q: [1, -1]),
                         position=compiled(one, lambda q: [q[0] - q[1]]), contacts=floor, rows=(1, 1, 1))
    sol = m.solve((0, 1), m.start([1, 1]), rtol=1e-10, atol=1e-10)
    assert sol.contact_events[0].t == pytest.approx(FIRST, abs=1e-9)
    ground = cpodes.Contact(compiled(one, lambda q: [q[1] - 1]), [0.0, 1.0, 0.0], (compiled(one, lambda q: [1, 0, 1]), 1), mu=0.2)
    m = cpodes.Mechanism(np.diag([1.0, 1.0, 0.4]), lambda t, q, u: np.array([0, -G, 0]), contacts=ground)
    sol = m.solve((0, 1), [0, 1, 0, 1, 0, 0], "DOP853", rtol=1e-10, atol=1e-10)
    assert sol.y[3, -1] == pytest.approx(5 / 7, abs=1e-9)
    with pytest.raises(TypeError, match="function, number of rows"):
        cpodes.Mechanism(np.eye(2), contacts=cpodes.Contact(lambda t, q: q[1], [0.0, 1.0], compiled(one, lambda q: [1, 0])))
    with pytest.raises(ValueError, match="rows="):
        cpodes.Mechanism(np.eye(2), contacts=floor, position=compiled(one, lambda q: [q[0]]), constraints=[[1.0, 0.0]]).start([1, 1])
    broken = cpodes.Mechanism([[1.0]], contacts=cpodes.Contact(one(lambda t, q, out, data: -1), [1.0]))
    with pytest.raises(RuntimeError, match="gap of contact0, a compiled function, returned -1"):
        broken.solve((0, 1), [1.0, 0.0])


def test_rows_of_contacts_may_be_sparse():
    """The bead, and other beads that fall freely, with sparse matrices."""
    sparse = pytest.importorskip("scipy.sparse")
    n = 6
    floor = cpodes.Contact(lambda t, q: q[1], lambda t, q: sparse.csr_matrix(([1.0], ([0], [1])), (1, n)), np.eye(n)[2], mu=0.5,
                           restitution=0.9)
    slab = cpodes.Contact(lambda t, q: q[5], np.eye(n)[5], restitution=0.5, name="slab")
    m = cpodes.Mechanism(mass=sparse.eye(n, format="csc"), forces=lambda t, q, u: np.array([0, -2 * G, 0, 0, -G, -G]),
                         constraints=sparse.csc_matrix(([1.0, -1.0], ([0, 0], [0, 1])), (1, n)),
                         position=lambda t, q: np.array([q[0] - q[1]]), contacts=[floor, slab])
    sol = m.solve((0, 1), np.concatenate([np.ones(n), np.zeros(n)]), rtol=1e-10, atol=1e-10)
    assert [e.contact for e in sol.contact_events][:2] == ["contact0", "slab"]
    assert [e.t for e in sol.contact_events][:2] == pytest.approx([FIRST] * 2, abs=1e-9) and sol.violation.max() < 1e-9
    assert sol.y[4, -1] == pytest.approx(1 - G / 2, abs=1e-9)
    wrong = cpodes.Contact(lambda t, q: q[1], lambda t, q: sparse.csr_matrix((1, 2)))
    m = cpodes.Mechanism(mass=sparse.eye(n, format="csc"), contacts=wrong)
    with pytest.raises(ValueError, match=r"normal of contact0 has to have the shape \(1, 6\), and has \(1, 2\)"):
        m.solve((0, 1), np.ones(2 * n))


@pytest.mark.parametrize("method", ["DOP853", "BDF"])
def test_time_stepping_goes_through_events_that_are_too_many(method):
    """A ball whose flights become short: time stepping starts when ten of them last less than the duration, and continues
    until it rests."""
    with pytest.warns(cpodes.CpodesWarning, match="time stepping"):
        sol = ball().solve((0, 9), [1.0, 0.0], method, rtol=1e-8, atol=1e-8, time_stepping=(10, 0.5), dense_output=True,
                           t_eval=[1.0, 8.0, 8.99])
    names = [p.contacts[0] for p in sol.phases]
    assert names == ["open", "stepping", "closed"]
    stepped = sol.phases[1]
    step, calm = 0.5 / 40, 0.5 / 10 # flights shorter than a step count as rest; the rest of the series then lasts step / (1 - e)
    assert stepped.begin < REST and stepped.end == pytest.approx(REST, abs=step / 0.1 + calm)
    assert np.abs(sol.y[0, -1]) < 1e-6 and sol.y[0, 0] > 0.1
    t = np.linspace(stepped.begin, stepped.end, 50)
    assert -1e-3 < sol.sol(t)[0].min() and sol.sol(t)[0].max() < 0.05
    for wrong in ((1, 0.5), (10, -1.0)):
        with pytest.raises(cpodes.Error, match="CP_ILL_INPUT"):
            ball().solve((0, 1), [1.0, 0.0], time_stepping=wrong)
    with pytest.raises(TypeError, match="number of events, duration"):
        ball().solve((0, 1), [1.0, 0.0], time_stepping=5)


def test_a_curved_contact_needs_no_bias():
    """A mass slides without friction on the inside of a circle, which holds it like the rod of a pendulum; it never leaves
    the circle."""
    ring = cpodes.Contact(lambda t, q: (1 - q @ q) / 2, lambda t, q: -q)
    m = cpodes.Mechanism(mass=np.eye(2), forces=lambda t, q, u: np.array([0, -G]), contacts=ring)
    sol = m.solve((0, 2), [np.sin(0.5), -np.cos(0.5), 0, 0], "DOP853", rtol=1e-9, atol=1e-9)
    energy = (sol.y[2:] ** 2).sum(axis=0) / 2 + G * sol.y[1]
    assert np.ptp(energy) < 1e-7 and sol.violation.max() < 1e-8
    assert [p.contacts for p in sol.phases] == [("closed",)]


@pytest.mark.parametrize("options, message", [
    (dict(mu=-0.1, tangents=[0, 1]), "floor's mu has to be at least 0, and is -0.1"),
    (dict(restitution=1.1), "floor's restitution has to be from 0 to 1, and is 1.1"),
    (dict(restitution=np.nan), "floor's restitution has to be from 0 to 1"),
    (dict(mu=0.1), "friction needs tangents"),
    (dict(law="Hooke"), "newton, poisson"),
    (dict(law="poisson", tangential_restitution=0.5), "has to be 0 with Poisson"),
])
def test_bad_constants_are_refused_when_the_contact_is_made(options, message):
    with pytest.raises(ValueError, match=message):
        cpodes.Contact(lambda t, q: q[0], [1.0], name="floor", **options)


def test_wrong_types_are_refused():
    for gap, normal, options in ((1.0, [1.0], {}), (len, None, {}), (len, [1.0], dict(mu="0.1"))):
        with pytest.raises(TypeError, match="has to be"):
            cpodes.Contact(gap, normal, **options)
    with pytest.raises(TypeError, match="cpodes.Contact"):
        cpodes.Mechanism([[1.0]], contacts=[1.0])


@pytest.mark.parametrize("gap, normal, tangents, message", [
    (lambda t, q: q, [1.0, 0.0], None, r"gap of contact0 .* shape \(1,\)"),
    (lambda t, q: q[0], [1.0], None, r"normal of contact0 .* shape \(2,\)"),
    (lambda t, q: q[0], [1.0, 0.0], np.eye(3), r"tangents of contact0 .* \(2,\) or \(2, 2\), and has \(3, 3\)"),
])
def test_wrong_shapes_say_what_was_expected(gap, normal, tangents, message):
    m = cpodes.Mechanism(mass=np.eye(2), contacts=cpodes.Contact(gap, normal, tangents))
    with pytest.raises(ValueError, match=message):
        m.solve((0, 1), [1, 1, 0, 0])


def test_errors_of_runs_are_exceptions():
    with pytest.raises(cpodes.Error, match="CP_CONTACT_PENETRATION.*floor"):
        ball().solve((0, 1), [-0.1, 0.0])
    with pytest.raises(ValueError, match="backwards"):
        ball().solve((1, 0), [1.0, 0.0])
    with pytest.raises(ValueError, match="atol has to be a number"):
        ball().solve((0, 1), [1.0, 0.0], atol=[1e-6, 1e-6])
    with pytest.raises(ValueError, match="set_active"):
        ball().set_active([1])

    def broken(t, q):
        if t > 0.3:
            raise KeyError("broken")
        return q[0]
    m = cpodes.Mechanism([[1.0]], lambda t, q, u: np.array([-G]), contacts=cpodes.Contact(broken, [1.0]))
    with pytest.raises(KeyError, match="broken"):
        m.solve((0, 1), [1.0, 0.0])


def test_functions_of_contacts_get_parameters():
    floor = cpodes.Contact(lambda t, q, p: q[0] - p["floor"], lambda t, q, p: [1.0], restitution=0.9)
    m = cpodes.Mechanism([[1.0]], lambda t, q, u, p: np.array([-G]), contacts=floor, params={"floor": 0.5})
    sol = m.solve((0, 0.5), [1.5, 0.0], rtol=1e-9, atol=1e-9)
    assert sol.contact_events[0].t == pytest.approx(FIRST, abs=1e-8)
    _, grad = m.gradient(cpodes.Objective(end=lambda t, y, p: y[0]), t_span=(0, 0.6), start=np.array([1.5, 0.0]))

    def height(floor):  # after the first impact
        fall = np.sqrt(2 * (1.5 - floor) / G)
        return floor + 0.9 * G * fall * (0.6 - fall) - G * (0.6 - fall)**2 / 2
    assert grad["floor"] == pytest.approx((8 * (height(0.5001) - height(0.4999)) - height(0.5002) + height(0.4998)) / 12e-4, rel=1e-7)


# ---- models ----


def test_the_catalogues_ball_follows_its_closed_form():
    m = cpodes.model("bouncing_ball", h=1, e=0.9)
    sol = m.solve(rtol=1e-11, atol=1e-11, dense_output=True)
    assert max(m.error(t, sol.sol(t)) for t in (0.4, 0.9, 3.0, 8.0)) < 1e-9
    assert sol.contact_events[-1].t_closed == pytest.approx(REST, abs=1e-10)
    assert m.points(0, m.y0)[0].shape == (6, 3) # the drawing


@pytest.mark.parametrize("method", ["DOP853", "BDF"])
def test_the_woodpecker_pecks(method):
    """Distance of the first two pecks: test/unit/contact/woodpecker.py, by exponentials of matrices."""
    sol = cpodes.model("woodpecker").solve((0, 0.25), method=method, rtol=1e-9, atol=1e-9)
    pecks = [e.t for e in sol.contact_events if e.contact == "beak" and e.kind == "impact"]
    assert np.diff(pecks) == pytest.approx([0.145852689], abs=1e-7)
    assert sol.violation.max() < 1e-12


def test_gradients_of_models_with_contacts_are_refused():
    with pytest.raises(ValueError, match="gradients go through none"):
        cpodes.model("bouncing_ball").gradient(cpodes.Objective(end=lambda t, y, p: y[0]), {"e": 0.5})
