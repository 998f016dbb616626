"""`go run ./bench tune` beside scikit-learn on 60 sets that it makes from a seed.

    python3 bench/peers/desk.py                  from the top of the module; -h lists the flags

Twelve kinds of data, five seeds each: rare classes, wide, correlated, few rows, regressions. All have 2,000 test rows. Rivals: the constant,
and what cross-validates its penalty: l2 (of ten weights, and of 25), l1, elastic net, on standardised features; for regressions ARD, Bayesian ridge.
"Behind" is a mean loss on the test rows that is higher by more than two standard errors of the difference. Bayes' rule knows how the
sets with normal coefficients were made. Debian: python3-sklearn. With -only mixed: ten sets of years, indicators and counts.
"""

import argparse
import collections
import hashlib
import inspect
import itertools
import json
import os
import pathlib
import resource
import subprocess
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import sklearn
from sklearn.linear_model import ARDRegression, BayesianRidge, ElasticNetCV, LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.preprocessing import StandardScaler

TEST = 2000

# name: training rows, features, their kind, coefficients (their deviation, or how many are not 0 and the deviation of these),
# intercept, noise (0: classes)
KINDS = {
    "rare": (500, 50, "", 0.1, -3, 0),
    "rare, sparse": (800, 20, "", (4, 1), -2.5, 0),
    "wide classes": (100, 200, "", (5, 2), 0, 0),
    "wide, dense": (120, 150, "", 0.2, 0.5, 0),
    "correlated": (250, 40, "ar", (8, 1), 0, 0),
    "few rows": (60, 10, "", 0.7, 0, 0),
    "decay": (300, 30, "", "decay", -1, 0),
    "correlated regression": (150, 60, "factors", 0.2, 5, 2),
    "few rows, regression": (40, 8, "", 1.0, -2, 2),
    "sparse regression": (150, 40, "", (5, 1), 3, 2),
    "dense regression": (200, 50, "", 0.3, 0, 2),
    "wide regression": (80, 120, "", (6, 1), 1, 1),
    "mixed classes": (300, 12, "mixed", 0.7, 0, 0),
    "mixed regression": (200, 12, "mixed", 1.0, 0, 1),
}


def coefficients(rule, d, r):
    if rule == "decay":
        return 2 / np.arange(1, d + 1) * r.choice([-1, 1], d)
    if isinstance(rule, float):
        return rule * r.standard_normal(d)
    c, (k, size) = np.zeros(d), rule
    c[r.permutation(d)[:k]] = size * r.standard_normal(k)
    return c


def features(kind, n, d, r):
    a = r.standard_normal((n, d))
    if kind == "ar":  # neighbours correlate by 0.9
        for j in range(1, d):
            a[:, j] = 0.9 * a[:, j - 1] + np.sqrt(1 - 0.81) * a[:, j]
    if kind == "mixed":
        a[:, 1::3], a[:, 2::3] = a[:, 1::3] > 0.5, np.floor(np.exp(a[:, 2::3]))
    if kind == "factors":  # five factors carry most of the variance
        a = 0.5 * a + r.standard_normal((n, 5)) @ r.standard_normal((5, d))
    return a


def make(name, seed):
    """Returns training rows, labels, test rows and labels."""
    n, d, kind, rule, intercept, noise = KINDS[name]
    r = np.random.RandomState(1000 * seed + list(KINDS).index(name))  # its stream does not change
    c = coefficients(rule, d, r)
    a = features(kind, n + TEST, d, r)
    score = a @ c + intercept
    b = score + noise * r.standard_normal(len(score)) if noise else (r.random_sample(len(score)) < 1 / (1 + np.exp(-score))) * 1.0
    a[:, ::3] = 2000 + 7 * a[:, ::3] if kind == "mixed" else a[:, ::3]
    return a[:n], b[:n], a[n:], b[n:]


def informed(name, a, b, test):
    """Returns scores of the test rows by Bayes' rule with the normal prior and the noise that the set was made with (classes: Laplace's
    approximation). No rule that sees the training rows alone has a lower loss in the mean over sets."""
    deviation, noise = KINDS[name][3], KINDS[name][5]
    x, z = (np.c_[v, np.ones(len(v))] for v in (a, test))
    prior = np.diag(np.r_[np.full(a.shape[1], deviation**-2.0), 1e-4])
    if noise:
        return z @ np.linalg.solve(x.T @ x / noise**2 + prior, x.T @ b / noise**2)
    w = np.zeros(len(prior))
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        hess = (x.T * (p * (1 - p))) @ x + prior
        step = np.linalg.solve(hess, x.T @ (b - p) - prior @ w)
        w += step / max(1, np.abs(step).max())
    return z @ w / np.sqrt(1 + np.pi / 8 * np.einsum("ij,ji->i", z, np.linalg.solve(hess, z.T)))


def losses(score, b, classes):
    return np.logaddexp(0, -(2 * b - 1) * score) if classes else 0.5 * (score - b) ** 2


def rivals(b, classes):
    if not classes:
        return {"l2": RidgeCV(alphas=np.logspace(-2, 4, 25), cv=5), "l1": LassoCV(cv=5),
                "elastic net": ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], cv=5), "ARD": ARDRegression(), "Bayesian ridge": BayesianRidge()}
    cv = dict(cv=min(5, int(min(b.sum(), len(b) - b.sum()))), Cs=10, scoring="neg_log_loss", max_iter=1000)
    saga = dict(solver="saga", tol=1e-3, **cv)
    return {"l2": LogisticRegressionCV(**cv), "l2, 25 weights": LogisticRegressionCV(**{**cv, "Cs": np.logspace(-4, 2, 25)}), "l1": LogisticRegressionCV(penalty="l1", **saga),
            "elastic net": LogisticRegressionCV(penalty="elasticnet", l1_ratios=[0.2, 0.5, 0.8], **saga)}


def fit(a, b, test, classes):
    """Returns scores of the test rows by each rival, and the CPU seconds of l2."""
    mean = b.mean()
    scores = {"constant": [np.log(mean / (1 - mean)) if classes else mean] * len(test)}
    scale = StandardScaler().fit(a)
    for name, model in rivals(b, classes).items():
        start = time.process_time()
        model.fit(scale.transform(a), b)
        if name == "l2":
            took = time.process_time() - start
        scores[name] = (model.decision_function if classes else model.predict)(scale.transform(test)).tolist()
    return scores, took


def version():
    """Names what rivals' predictions come from: the sets, the rivals and scikit-learn."""
    parts = [str(TEST), str(KINDS), sklearn.__version__, np.__version__]
    parts += [inspect.getsource(f) for f in (coefficients, features, make, rivals, fit)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def tune(a, b, test, b_test, classes, folder):
    """Returns scores of the test rows, and CPU seconds."""
    for name, x, y in (("train", a, b), ("test", test, b_test)):
        labels = np.where(y > 0, "yes", "no") if classes else y
        head = ",".join(f"v{j}" for j in range(x.shape[1])) + ",y"
        lines = [head] + [",".join(map(repr, row.tolist())) + f",{label}" for row, label in zip(x, labels)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([folder / "bench", "tune", folder / "train.csv", folder / "test.csv", "-out", folder / "model",
                          "-loss", "logistic" if classes else "squared"], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"tune: {run.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    model = json.loads((folder / "model" / "model.json").read_text())
    score = np.full(len(test), model["intercept"])
    for f in model["features"]:
        score += f["coefficient"] * (test[:, f["index"] - 1] - f["centre"])
    return score, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder, kinds, seeds):
    behind, slow, known, lost, logs = [], [], [], collections.defaultdict(list), collections.defaultdict(list)
    print(f"{'set':26}{'tune':>9}{'best rival':>22}{'ratio':>8}{'errors':>8}{'CPU':>7}{'l2 CPU':>8}")
    for kind, seed in itertools.product(kinds, seeds):
        a, b, test, b_test = make(kind, seed)
        classes = KINDS[kind][5] == 0
        kept = folder / f"{kind}-{seed}-{version()}.json"
        if not kept.exists():
            kept.write_text(json.dumps(fit(a, b, test, classes)))
        scores, cpu_l2 = json.loads(kept.read_text())
        theirs = {k: losses(np.array(s), b_test, classes) for k, s in scores.items()}
        best = min(theirs, key=lambda k: theirs[k].mean())

        def errors(loss):  # by which the best rival is ahead, in standard errors of the difference
            d = loss - theirs[best]
            return d.mean() / (d.std() / np.sqrt(len(d)) + 1e-300)

        score, cpu = tune(a, b, test, b_test, classes, folder)
        ours = losses(score, b_test, classes)
        for k, v in theirs.items():
            lost[k].append(errors(v) > 2)
            logs[k].append(np.log(ours.mean() / v.mean()))
        logs["the best"].append(np.log(ours.mean() / theirs[best].mean()))
        if isinstance(KINDS[kind][3], float):
            known.append((errors(losses(informed(kind, a, b, test), b_test, classes)) > 2, errors(ours) > 2))
        if errors(ours) > 2:
            behind.append(f"{kind} {seed}: {best}")
        if cpu > 2 * cpu_l2 + 1:
            slow.append(f"{kind} {seed}")
        print(f"{kind + ' ' + str(seed):26}{ours.mean():9.4f}{best:>13}{theirs[best].mean():9.4f}{ours.mean() / theirs[best].mean():8.3f}"
              f"{errors(ours):8.1f}{cpu:7.2f}{cpu_l2:8.2f}", flush=True)
    print("\nloss over the rival's, geometric mean: " + ", ".join(f"{k} {np.exp(np.mean(v)):.3f}" for k, v in logs.items()))
    print(f"behind the best by two standard errors: {len(behind)} of {len(logs['the best'])}: {'; '.join(behind)}")
    print("of these with normal coefficients: {1} of {2}; Bayes' rule, which knows their prior and the noise: {0}".format(
        *np.array(known, int).reshape(-1, 2).sum(axis=0), len(known)))
    print("rivals behind the best rival: " + ", ".join(f"{k} {sum(v)} of {len(v)}" for k, v in lost.items()))
    print(f"CPU above 2 × l2's + 1 s: {len(slow)}: {'; '.join(slow)}")


flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
flags.add_argument("-first", type=int, default=11, help="first seed (default 11; the rules were chosen on 101 to 107)")
flags.add_argument("-seeds", type=int, default=5, help="seeds of each kind (default 5)")
flags.add_argument("-only", default="", help="kinds whose name contains this")
flags.add_argument("-out", type=pathlib.Path, default="out/desk", help="folder that keeps what rivals predict (default out/desk)")
options = flags.parse_args()
warnings.filterwarnings("ignore")
kinds = [k for k in KINDS if options.only in k and ("mixed" in k) == ("mixed" in options.only)]
if not kinds or not 0 <= options.first < 4_000_000:
    flags.error("-only is part of a kind's name, -first a seed from 0 to 4,000,000")
options.out.mkdir(parents=True, exist_ok=True)
subprocess.run(["go", "build", "-o", options.out, "./bench"], check=True)
measure(options.out, kinds, range(options.first, options.first + options.seeds))
