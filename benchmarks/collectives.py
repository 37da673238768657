#!/usr/bin/env python3
"""Collectives with compression against the best uncompressed ones of MPI: python3 collectives.py [options] > table.md

Runs build/bin/homz-mpi-bench under a launcher, once for each of Open MPI's algorithms (and once as it comes), so that the
baseline is the fastest of them; in every run candidate and baseline are interleaved. The launcher is a command in which
{ranks}, {rate} and {mca} are replaced, and which runs what follows it, such as

  --launcher 'mpirun -n {ranks} {mca}'
  --launcher 'netns-mpirun -n {ranks} -r {rate} --eager 4194304 {opt_mca} --'     ({opt_mca}: each word behind -o)

Rates only make sense for launchers that can limit links; they are labels otherwise.
"""
import argparse
import datetime
import json
import shlex
import statistics
import subprocess
import sys

# Ids of coll/tuned in Open MPI 4 and 5.
ALGORITHMS = {
    "allreduce": {"default": None, "recursive doubling": 3, "ring": 4, "segmented ring": 5, "Rabenseifner": 6},
    "allgather": {"default": None, "Bruck": 2, "recursive doubling": 3, "ring": 4, "neighbour": 5},
    "bcast": {"default": None, "chain": 2, "pipeline": 3, "binomial": 6},
    "reduce_scatter": {"default": None},
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bin/homz-mpi-bench")
    parser.add_argument("--launcher", default="mpirun -n {ranks} {mca}")
    parser.add_argument("--rates", default="1gbit,100mbit")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--collectives", default="allreduce")
    parser.add_argument("--sizes", default="8MiB,64MiB")
    parser.add_argument("--data", default="smooth,walk")
    parser.add_argument("--rel", default="1e-3")
    parser.add_argument("--schemes", default="auto")
    parser.add_argument("--algorithms", default="auto")
    parser.add_argument("--profile", default="")
    parser.add_argument("--iterations", default="7")
    return parser.parse_args()


def command(options, rate, ranks, collective, algorithm, data):
    mca = []
    if algorithm is not None:
        mca = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", f"coll_tuned_{collective}_algorithm", str(algorithm)]
    opt_mca = " ".join(f"-o {word}" for word in mca)
    launcher = options.launcher.format(ranks=ranks, rate=rate, mca=" ".join(mca), opt_mca=opt_mca)
    words = shlex.split(launcher) + [options.bench, collective, "--size", options.sizes, "--data", data, "--rel", options.rel,
                                     "--scheme", options.schemes, "--algorithm", options.algorithms,
                                     "-i", options.iterations, "--json", "--timeout", "300"]
    return words + (["--profile", options.profile] if options.profile else [])


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            return json.loads(line)["results"]
    sys.exit(f"{shlex.join(words)}: no results\n{done.stderr[-2000:]}")


def measure(options, rate, ranks, collective, data):
    """Points by (size, number of the combination): medians over the runs, with the fastest baseline of all."""
    points = {}
    for name, algorithm in ALGORITHMS[collective].items():
        print(f"{rate}, {ranks} ranks, {collective}, {data}: MPI's {name}", file=sys.stderr)
        seen = {}
        for result in run(command(options, rate, ranks, collective, algorithm, data)):
            key = (result["size_bytes"], seen.setdefault(result["size_bytes"], 0))
            seen[result["size_bytes"]] += 1
            points.setdefault(key, []).append((result["plain_seconds"], name, result))
    return points


def row(rate, ranks, data, runs):
    plain, name, _ = min(runs, key=lambda r: r[0])
    result = sorted((r[2] for r in runs), key=lambda r: r["seconds"])[len(runs) // 2]
    seconds = statistics.median(r[2]["seconds"] for r in runs)
    ratio = result["ratio"]
    error = max(r[2]["max_error"] / r[2]["bound"] if r[2]["bound"] else 0 for r in runs)
    same = all(r[2]["identical"] for r in runs)
    how = "uncompressed, " + result["algorithm"] if result["scheme"] == "plain" else f"{result['scheme']}, {result['algorithm']}"
    return (f"| {rate} | {ranks} | {result['collective']} | {result['size_bytes'] / 2**20:g} | {data} | {how} | {seconds * 1e3:.1f} | "
            f"{plain * 1e3:.1f} ({name}) | {plain / seconds:.2f} | {ratio:.2f} | {plain / seconds / ratio:.2f} | {error:.3f} | "
            f"{'yes' if same else 'NO'} |")


def main():
    options = parse()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    print(f"Collectives, commit {commit}, {datetime.date.today()}, {options.rel} of the result's range\n")
    print("| link | ranks | collective | MiB | data | scheme, algorithm | ms | MPI's best, ms | faster | ratio | faster / ratio "
          "| error / bound | same bits |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for rate in options.rates.split(","):
        for ranks in options.ranks.split(","):
            for collective in options.collectives.split(","):
                for data in options.data.split(","):
                    for _, runs in sorted(measure(options, rate, ranks, collective, data).items()):
                        print(row(rate, ranks, data, runs), flush=True)


if __name__ == "__main__":
    main()
