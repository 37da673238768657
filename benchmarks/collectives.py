#!/usr/bin/env python3
"""Collectives with compression against the best uncompressed ones of MPI: python3 collectives.py [options]

Writes a table to --output. For each link rate, collective, number of ranks and size: Open MPI's algorithms are tried with a
few calls each; then the fastest of them and homz take turns in one run of homz-mpi-bench, for each kind of data. Before
that, homz-mpi-bench --tune measures the link, as a user would.

The launcher is a command in which {ranks}, {rate}, {mca} and {opt_mca} are replaced, and which runs what follows it:

  --launcher 'mpirun -n {ranks} {mca}'
  --launcher 'netns-mpirun -n {ranks} -r {rate} --eager 4194304 {opt_mca} --'     ({opt_mca}: each word behind -o)

Rates only make sense for launchers that can limit links; they are labels otherwise.
"""
import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

# Ids of coll/tuned in Open MPI 4 and 5; None: its own choice.
ALGORITHMS = {
    "allreduce": {"default": None, "recursive doubling": 3, "ring": 4, "segmented ring": 5, "Rabenseifner": 6},
    "allgather": {"default": None, "Bruck": 2, "recursive doubling": 3, "ring": 4, "neighbour": 5, "two ranks": 6},
    "bcast": {"default": None, "chain": 2, "pipeline": 3, "binary tree": 5, "binomial": 6},
    "reduce_scatter": {"default": None}, "reduce": {"default": None}, "scatter": {"default": None},
    "gather": {"default": None}, "alltoall": {"default": None},
}
HEAD = ["link", "ranks", "collective", "size", "data", "scheme, algorithm", "ms", "spread", "MPI's best, ms", "faster", "ratio",
        "faster / ratio", "MB sent by a rank", "coding, ms", "error / bound", "same bits"]

LEGEND = ("ms: median over calls of the time until the last rank is done; spread: longest less shortest, by the median; MPI's best: "
          "of its fastest algorithm (in brackets), in turns with homz in the same run, or when algorithms were tried, whichever was "
          "faster (over TCP, MPI moves long messages in both directions at once in some runs, and not in others); ratio: bytes "
          "that would have been sent uncompressed over those sent; coding: rank 0's time in codecs; error / bound: largest error "
          "of all ranks' results over what was asked for.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bin/homz-mpi-bench")
    parser.add_argument("--launcher", default="mpirun -n {ranks} {mca}")
    parser.add_argument("--rates", default="1gbit,100mbit")
    parser.add_argument("--cases", default="allreduce:4,allgather:2,bcast:2", help="collective:ranks, ...")
    parser.add_argument("--sizes", default="8MiB,64MiB")
    parser.add_argument("--data", default="smooth,walk")
    parser.add_argument("--rel", default="1e-3", help="bound of the result's error, of its range")
    parser.add_argument("--schemes", default="auto")
    parser.add_argument("--algorithms", default="auto")
    parser.add_argument("--profile", help="of this launcher's links; measured if not given")
    parser.add_argument("--iterations", default="7")
    parser.add_argument("--tries", default="2", help="calls of each of MPI's algorithms; 0: only its own choice")
    parser.add_argument("--note", help="text above the table, such as what the links are")
    parser.add_argument("--output", default="benchmarks/results/collectives.md")
    parser.add_argument("--append", action="store_true", help="to what is in --output")
    return parser.parse_args()


class Launcher:
    def __init__(self, options, rate, ranks):
        self.options, self.rate, self.ranks, self.profile = options, rate, ranks, options.profile

    def run(self, arguments, collective=None, algorithm=None):
        mca = []
        if algorithm is not None:
            mca = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", f"coll_tuned_{collective}_algorithm", str(algorithm)]
        text = self.options.launcher.format(ranks=self.ranks, rate=self.rate, mca=" ".join(mca),
                                            opt_mca=" ".join(f"-o {word}" for word in mca))
        words = shlex.split(text) + [self.options.bench] + arguments
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                return json.loads(line)["results"]  # a broken bound is told in the table
        if done.returncode != 0:
            sys.exit(f"{shlex.join(words)}: no results\n{done.stderr[-2000:]}")
        return []

    def tune(self, folder):
        if self.profile is None:
            self.profile = str(Path(folder) / f"{self.rate}-{self.ranks}.json")
            self.run([f"--tune={self.profile}", "--force"])  # of another collective before; mpirun has a --tune, too

    def measure(self, collective, algorithm, sizes, data, iterations, candidates):
        print(f"{self.rate}, {self.ranks} ranks, {collective}, {sizes}, {data}: MPI's {algorithm}", file=sys.stderr, flush=True)
        return self.run([collective, "--size", sizes, "--data", data, "--rel", self.options.rel, "--profile", self.profile,
                         "-x", "1", "-i", iterations, "--json", "--timeout", "300", *candidates],
                        collective, ALGORITHMS[collective][algorithm])


def best_algorithms(launcher, collective):
    """MPI's fastest algorithm and its seconds, by size."""
    options = launcher.options
    if options.tries == "0":
        return {None: (float("inf"), "default")}
    best = {}
    for name in ALGORITHMS[collective]:
        if name in ("two ranks",) and launcher.ranks != "2":
            continue
        for result in launcher.measure(collective, name, options.sizes, options.data.split(",")[0], options.tries,
                                       ["--only-plain"]):
            seconds, _ = best.get(result["size_bytes"], (float("inf"), None))
            if result["plain_seconds"] < seconds:
                best[result["size_bytes"]] = (result["plain_seconds"], name)
    return best


def size_text(size):
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def how(result):
    return f"{result['scheme'].replace('plain', 'not compressed')}, {result['algorithm']}"


def row(rate, data, tried, algorithm, result):
    plain = min(tried, result["plain_seconds"])
    gain = plain / result["seconds"]
    is_native = result["algorithm"] == "native"
    spread = (result["most_seconds"] - result["least_seconds"]) / result["seconds"]
    return [rate, result["ranks"], result["collective"], size_text(result["size_bytes"]), data, how(result),
            f"{result['seconds'] * 1e3:.4g}", f"{spread * 100:.0f} %", f"{plain * 1e3:.4g} ({algorithm})",
            f"{gain:.2f}", f"{result['ratio']:.2f}", f"{gain / result['ratio']:.2f}",
            "-" if is_native else f"{result['wire_bytes_per_rank'] / 1e6:.4g}",
            f"{sum(result[what + '_seconds'] for what in ('encode', 'combine', 'decode')) * 1e3:.3g}",
            f"{result['max_error'] / result['bound']:.3f}" if result["bound"] else "-", "yes" if result["identical"] else "NO"]


def rows(launcher, collective):
    options = launcher.options
    candidates = ["--scheme", options.schemes, "--algorithm", options.algorithms]
    best = best_algorithms(launcher, collective)
    for data in options.data.split(","):
        found = []
        for name in sorted({name for _, name in best.values()}):
            sizes = ",".join(str(size) for size, (_, of_size) in best.items() if of_size == name and size is not None)
            results = launcher.measure(collective, name, sizes or options.sizes, data, options.iterations, candidates)
            found += [(result, name) for result in results]
        for result, name in sorted(found, key=lambda pair: pair[0]["size_bytes"]):
            tried, _ = best.get(result["size_bytes"], (float("inf"), None))
            yield row(launcher.rate, data, tried, name, result)


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def described_commit():
    """Of this checkout; nothing where there is none."""
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def command(*unsaid):
    """How this program was called, without options that say nothing about its report, and their values."""
    return shlex.join(word for word, before in zip(sys.argv, ["", *sys.argv])
                      if word != "--append" and not {word, before} & set(unsaid))


def head(options, title):
    """What a report begins with: the title, unless it is appended, and how it was made. Before the report is opened, which
    makes the checkout a dirty one."""
    return ("\n" if options.append else f"# {title}\n\n") + (
        f"`{command('--note')}`, commit {described_commit()}, {datetime.date.today()}, {os.cpu_count()} cores shared by all "
        f"ranks, load {os.getloadavg()[0]:.1f} at the start\n\n")


def main():
    options = parse()
    beginning = head(options, "Collectives against the best uncompressed ones of MPI")
    with open(options.output, "a" if options.append else "w", encoding="utf-8") as out:
        out.write(beginning)
        for text in (None if options.append else LEGEND, options.note):
            out.write(textwrap.fill(text, 130) + "\n\n" if text else "")
        out.write(line(HEAD) + line(["---"] * len(HEAD)))
        with tempfile.TemporaryDirectory() as folder:
            for rate in options.rates.split(","):
                for collective, ranks in (case.split(":") for case in options.cases.split(",")):
                    launcher = Launcher(options, rate, ranks)
                    launcher.tune(folder)
                    for cells in rows(launcher, collective):
                        out.write(line(cells))
                        out.flush()


if __name__ == "__main__":
    main()
