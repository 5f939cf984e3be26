"""Measures figures 12 and 13: norms of random matrices and their stability under random delays."""

from levelflow.reproduce import over_seeds
from levelflow.theory.pictures import norms
from levelflow.theory.stability.delay_batches import experiment


def figure12(found):
    stable, two, rows = found.stable, found.norm2, found.norm_inf
    return {
        "count_rho_below_1": len(stable),
        "stable_share": stable.mean(),
        "share_stable_with_norm2_ge_1": (two[stable] >= 1).mean(),
        "share_stable_with_norminf_ge_1": (rows[stable] >= 1).mean(),
        "share_stable_with_both_ge_1": ((two >= 1) & (rows >= 1))[stable].mean(),
        "share_norm2_below_norminf_stable": (two < rows)[stable].mean(),
        "share_norm2_below_norminf_unstable": (two < rows)[~stable].mean(),
        "unstable_with_norm2_below_1": int((two[~stable] < 1).sum()),
        "unstable_with_norminf_below_1": int((rows[~stable] < 1).sum()),
        "norm2_below_rho": int((two < found.radius * (1 - 1e-12)).sum()),
    }


def figure13(found, larger):
    stable, scaled = found.stable, found.norm_s
    return {
        "count_rho_below_1": len(stable),
        "stable_share": stable.mean(),
        "max_norm_s_stable": scaled[stable].max(),
        "min_norm_s_unstable": scaled[~stable].min(),
        "unstable_with_norm_s_below_1": int((scaled[~stable] < 1).sum()),
        "extension_3x3_separates": separates(larger),
    }


def separates(found):
    return bool(found.norm_s[~found.stable].min() > 1 and found.norm_s[found.stable].max() < 1.005)


def measure(figure):
    seeds = figure.seeds(5, quick=1)
    few, many, larger = ([experiment(seed, *size) for seed in seeds] for size in ((3000,), (10_000,), (10_000, 3)))
    figure.shown = few[0], many[0]
    return {"mc-fig12": over_seeds(map(figure12, few)), "mc-fig13": over_seeds(map(figure13, many, larger))}


def plot(figure, canvas):
    canvas.set_size_inches(9, 8)
    upper, lower = canvas.subfigures(2, 1)
    few, many = figure.shown
    norms.scatter(few, "norm2", upper)
    norms.scatter(many, "norm_s", lower)
