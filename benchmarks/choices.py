#!/usr/bin/env python3
"""What `auto` chooses, against every combination of algorithm and scheme, and against MPI: python3 choices.py [options]

Writes a table to --output. All combinations that can run, `auto` and MPI's own call take turns in one run of homz-mpi-bench for
each size, so that all see the same machine. Launchers are those of collectives.py.
"""
import argparse
import sys
import tempfile

from collectives import Launcher, head, how, line, size_text

SCHEMES = "plain,ccoll,hzccl,homcomp-step,homcomp-fused"
ALGORITHMS = "native,ring,recursive-doubling,rabenseifner,direct,binomial,bruck"
HEAD = ["link", "ranks", "collective", "size", "data", "auto", "us", "best of all", "us", "auto / best", "MPI's own, us",
        "auto / MPI", "same bits"]
PAIRS = ["link", "ranks", "collective", "size", "data", "algorithm", "ccoll, us", "best homomorphic", "us", "faster"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bin/homz-mpi-bench")
    parser.add_argument("--launcher", default="mpirun -n {ranks} {mca}")
    parser.add_argument("--rates", default="memory", help="labels, or what the launcher takes")
    parser.add_argument("--cases", default="allreduce:2", help="collective:ranks, ...")
    parser.add_argument("--sizes", default="4,64,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB")
    parser.add_argument("--data", default="smooth")
    parser.add_argument("--rel", default="1e-3")
    parser.add_argument("--schemes", default=SCHEMES)
    parser.add_argument("--algorithms", default=ALGORITHMS)
    parser.add_argument("--profile", help="of this launcher's links; measured if not given")
    parser.add_argument("--trust", action="store_true", help="calls of MPI's own are not checked (trusts_ranks)")
    parser.add_argument("--seconds", type=float, default=4, help="spent on a size, about")
    parser.add_argument("--pause", default="0", help="seconds of rest before each call, for links with token buckets")
    parser.add_argument("--note", help="text above the table")
    parser.add_argument("--output", default="benchmarks/results/choices.md")
    parser.add_argument("--append", action="store_true")
    return parser.parse_args()


def measure(launcher, collective, size, data, iterations):
    options = launcher.options
    print(f"{launcher.rate}, {launcher.ranks} ranks, {collective}, {size}, {data}", file=sys.stderr, flush=True)
    return launcher.run([collective, "--size", size, "--data", data, "--rel", options.rel, "--profile", launcher.profile,
                         "-x", "1", "-i", str(iterations), "--json", "--timeout", "300", "--pause", options.pause,
                         "--scheme", "auto," + options.schemes, "--algorithm", "auto," + options.algorithms,
                         *(["--trust"] if options.trust else [])])


def pairs(launcher, collective, size, data, results):
    """Homomorphic schemes against decode, operate, encode, by algorithm."""
    by_algorithm = {}
    for result in results:
        scheme, algorithm = result["asked"].split(", ")
        if result["scheme"] == scheme and algorithm != "auto":
            by_algorithm.setdefault(algorithm, {})[scheme] = result["seconds"]
    for algorithm, seconds in by_algorithm.items():
        others = {scheme: each for scheme, each in seconds.items() if scheme not in ("plain", "ccoll", "cprp2p")}
        if "ccoll" in seconds and others:
            best = min(others, key=others.get)
            yield [launcher.rate, launcher.ranks, collective, size_text(results[0]["size_bytes"]), data, algorithm,
                   f"{seconds['ccoll'] * 1e6:.4g}", best, f"{others[best] * 1e6:.4g}", f"{seconds['ccoll'] / others[best]:.2f}"]


def compare(launcher, collective, size, data):
    """The row, auto over the best and over MPI, and the rows of pairs."""
    tried = measure(launcher, collective, size, data, 1)
    once = sum(result["seconds"] + float(launcher.options.pause) for result in tried) + tried[0]["plain_seconds"]
    iterations = max(3, min(501, int(launcher.options.seconds / once)))
    results = measure(launcher, collective, size, data, iterations)
    auto = next(result for result in results if result["asked"] == "auto, auto")
    best = min(results, key=lambda result: result["seconds"])
    to_best, to_mpi = auto["seconds"] / best["seconds"], auto["seconds"] / auto["plain_seconds"]
    return to_best, to_mpi, [
        launcher.rate, launcher.ranks, collective, size_text(auto["size_bytes"]), data, how(auto), f"{auto['seconds'] * 1e6:.4g}",
        how(best), f"{best['seconds'] * 1e6:.4g}", f"{to_best:.2f}", f"{auto['plain_seconds'] * 1e6:.4g}", f"{to_mpi:.2f}",
        "yes" if all(result["identical"] for result in results) else "NO"], list(pairs(launcher, collective, size, data, results))


def main():
    options = parse()
    beginning = head(options, "What `auto` chooses, and what would have been best")
    with open(options.output, "a" if options.append else "w", encoding="utf-8") as out:
        out.write(beginning + (f"{options.note}\n\n" if options.note else ""))
        out.write(line(HEAD) + line(["---"] * len(HEAD)))
        shares, schemes = [], []
        with tempfile.TemporaryDirectory() as folder:
            for rate in options.rates.split(","):
                for collective, ranks in (case.split(":") for case in options.cases.split(",")):
                    launcher = Launcher(options, rate, ranks)
                    launcher.tune(folder)
                    for data in options.data.split(","):
                        for size in options.sizes.split(","):
                            to_best, to_mpi, cells, of_schemes = compare(launcher, collective, size, data)
                            shares.append((to_best, to_mpi))
                            schemes += of_schemes
                            out.write(line(cells))
                            out.flush()
        near = sum(to_best <= 1.1 for to_best, _ in shares)
        safe = sum(to_mpi <= 1.05 for _, to_mpi in shares)
        out.write(f"\nWithin a tenth of the best combination: {near} of {len(shares)}; at most 1.05 times MPI's own: {safe} of "
                  f"{len(shares)}, {max(to_mpi for _, to_mpi in shares):.2f} times at worst.\n")
        if schemes:
            out.write("\nHomomorphic schemes against decoding, operating and encoding, in the same runs:\n\n" + line(PAIRS)
                      + line(["---"] * len(PAIRS)) + "".join(line(cells) for cells in schemes))


if __name__ == "__main__":
    main()
