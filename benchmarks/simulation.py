#!/usr/bin/env python3
"""Allreduce on clusters that are not there, simulated: python3 simulation.py [options]

Writes a table to --output and a plot beside it. For each machine (a profile of --machines: one core, or one GPU, a rank),
link, number of ranks and size, homz-mpi-sim runs the library's own algorithms and schemes under SimGrid, and SMPI's
uncompressed ones. The links of a profile are replaced by those of the options.
"""
import argparse
import datetime
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from collectives import command, described_commit

ALGORITHMS = ["ring", "two-level", "recursive-doubling", "rabenseifner", "direct"]
SCHEMES = ["plain", "ccoll", "hzccl", "homcomp-fused"]
BASELINES = ["lr", "rab", "rdb", "ompi_ring_segmented", "smp_rsag_lr"]  # never SMPI's default, which is slow
MOST_RANKS = {"direct": 32, "hzccl": 128, "ompi_ring_segmented": 128, "rdb": 128, "rabenseifner": 128,
              "recursive-doubling": 128, "ccoll": 128, "smp_rsag_lr": 128}  # more take long, and are close to others or never the best
LAZY_FROM = 128  # ranks; homz-mpi-sim --lazy
COLOURS = {"plain": "#777777", "ccoll": "#c8553d", "hzccl": "#2a7f9e", "homcomp-fused": "#2e8b57"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", default="build/bin/homz-mpi-sim")
    parser.add_argument("--machines", default="benchmarks/simulation/core.json:10:100,benchmarks/simulation/gpu.json:100:200",
                        help="profile:Gbit/s:Gbit/s..., ...")
    parser.add_argument("--latency", type=float, default=5, help="between nodes, in us")
    parser.add_argument("--cases", default="8,32:1,16,64;128,512:16",
                        help="ranks:sizes of a rank's vector in MiB; ... (512 ranks take most of the time)")
    parser.add_argument("--per-node", default="4")
    parser.add_argument("--ratio", default="8")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for one run; what takes longer is left out")
    parser.add_argument("--keep", help="folder for results, from which a run that was cut off goes on; of one version of --sim")
    parser.add_argument("--measured", default="benchmarks/results/collectives.md",
                        help="table of collectives.py whose 4-rank allreduces are simulated, too; '': none")
    parser.add_argument("--output", default="benchmarks/results/simulation.md")
    return parser.parse_args()


class Case:
    """A machine, a link and a number of ranks."""

    def __init__(self, options, folder, machine, gbits, ranks, sizes):
        self.options, self.machine, self.gbits, self.ranks = options, Path(machine).stem, gbits, int(ranks)
        profile = json.loads(Path(machine).read_text(encoding="utf-8"))
        profile["between"].update(latency=options.latency * 1e-6, seconds_per_byte=8e-9 / float(gbits))
        self.profile = Path(folder) / f"{self.machine}-{gbits}.json"
        self.profile.write_text(json.dumps(profile), encoding="utf-8")
        self.sizes, self.per_node, self.ratio = sizes.split(","), options.per_node, options.ratio
        self.results = []  # of the library
        self.baselines = []  # (name, result)

    def command(self, size, more):
        return [self.options.sim, "--profile", str(self.profile), "--ranks", str(self.ranks), "--per-node",
                self.per_node, "--ratio", self.ratio, "--size", f"{size}MiB", "--json", *more]

    def run(self, size, more):
        words = self.command(size, more)
        profile = self.profile.read_text(encoding="utf-8")
        name = hashlib.sha256(json.dumps([profile, [word for word in words[1:] if word != str(self.profile)]]).encode())
        kept = Path(self.options.keep or self.profile.parent) / f"{name.hexdigest()[:24]}.json"
        if not kept.is_file():
            kept.write_text(json.dumps(self.run_now(words)), encoding="utf-8")
        return json.loads(kept.read_text(encoding="utf-8"))

    def run_now(self, words):
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            print(f"too long: {shlex.join(words)}", file=sys.stderr)
            return []
        if done.returncode != 0:
            print(f"failed: {shlex.join(words)}\n{done.stderr[:300]}", file=sys.stderr)
            return []
        return json.loads(done.stdout)["results"]

    def run_own(self, size, algorithm, scheme):
        lazy = ["--lazy"] if self.ranks >= LAZY_FROM else []
        self.results += self.run(size, ["--algorithm", algorithm, "--scheme", scheme, *lazy])

    def run_baseline(self, size, name):
        self.baselines += [(name, result) for result in self.run(size, ["--mpi", name])]

    def possible(self, names):
        return [name for name in names if self.ranks <= MOST_RANKS.get(name, self.ranks)]

    def start(self, pool):
        started = []
        for size in self.sizes:
            started += [pool.submit(self.run_baseline, size, name) for name in self.possible(BASELINES)]
            started += [pool.submit(self.run_own, size, algorithm, scheme) for algorithm in self.possible(ALGORITHMS)
                        for scheme in self.possible(SCHEMES)]
        return started

    def best(self, size, schemes):
        found = [r for r in self.results if r["size_bytes"] == int(size) * 2**20 and r["scheme"] in schemes]
        return min(found, key=lambda r: r["simulated_seconds"], default=None)

    def uncompressed(self, size):
        """Seconds of the best uncompressed algorithm, and its name."""
        found = [(r["simulated_seconds"], f"SMPI's {name}") for name, r in self.baselines
                 if r["size_bytes"] == int(size) * 2**20]
        own = self.best(size, ["plain"])
        if own is not None:
            found.append((own["simulated_seconds"], own["algorithm"]))
        return min(found, default=(float("nan"), "-"))


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def ms(seconds):
    return f"{seconds * 1e3:.4g}"


def summary(cases):
    """Who wins, a row a case."""
    yield ["machine", "link, Gbit/s", "ranks", "MiB", "best uncompressed, ms", "best compressed, ms", "faster",
           "simulated / expected", "MB sent by a rank", "wins"]
    for case in cases:
        for size in case.sizes:
            plain, name = case.uncompressed(size)
            best = case.best(size, SCHEMES[1:])
            if best is None:
                continue
            gain = plain / best["simulated_seconds"]
            yield [case.machine, case.gbits, case.ranks, size, f"{ms(plain)} ({name})",
                   f"{ms(best['simulated_seconds'])} ({best['scheme']}, {best['algorithm']})", f"{gain:.2f}",
                   f"{best['simulated_seconds'] / best['expected_seconds']:.2f}", f"{best['wire_bytes_per_rank'] / 1e6:.4g}",
                   best["scheme"] if gain > 1 else "uncompressed"]


def details(cases, scheme):
    """Milliseconds of one scheme by all algorithms; or SMPI's."""
    is_mpi = scheme is None
    names = BASELINES if is_mpi else ALGORITHMS
    yield ["machine", "link, Gbit/s", "ranks", "MiB", *names]
    for case in cases:
        for size in case.sizes:
            found = {name: r for name, r in case.baselines if r["size_bytes"] == int(size) * 2**20} if is_mpi else {
                r["algorithm"]: r for r in case.results if r["size_bytes"] == int(size) * 2**20 and r["scheme"] == scheme}
            cells = []
            for name in names:
                seconds = found[name]["simulated_seconds"] if name in found else None
                cells.append("-" if seconds is None else ms(seconds))
            yield [case.machine, case.gbits, case.ranks, size, *cells]


def ratio_to_model(cases):
    """Of simulated to expected seconds, by algorithm: median and extremes."""
    yield ["algorithm", "runs", "least", "median", "most"]
    for algorithm in ALGORITHMS:
        ratios = sorted(r["simulated_seconds"] / r["expected_seconds"] for case in cases for r in case.results
                        if r["algorithm"] == algorithm)
        if ratios:
            yield [algorithm, len(ratios), f"{ratios[0]:.2f}", f"{ratios[len(ratios) // 2]:.2f}", f"{ratios[-1]:.2f}"]


def plot(cases, sizes, path):
    """Gain over the best uncompressed algorithm by ranks, a panel a machine, link and size; both axes logarithmic."""
    from math import log2
    kinds = list(dict.fromkeys((case.machine, case.gbits) for case in cases))
    ranks = sorted({case.ranks for case in cases})
    width, height, left, top = 230, 170, 60, 60
    low, high = -4.0, 4.0  # log2 of the gain

    def place(column, row, count, gain):
        span = max(log2(ranks[-1] / ranks[0]), 1)
        x = left + column * (width + 30) + width * log2(count / ranks[0]) / span
        y = top + row * (height + 50) + height * (1 - (min(max(log2(gain), low), high) - low) / (high - low))
        return x, y

    out = []
    for column, (machine, gbits) in enumerate(kinds):
        for row, size in enumerate(sizes):
            x0, y0 = left + column * (width + 30), top + row * (height + 50)
            out.append(f'<rect x="{x0}" y="{y0}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>')
            out.append(f'<text x="{x0}" y="{y0 - 6}">{machine} a rank, {gbits} Gbit/s, {size} MiB</text>')
            for exponent in range(int(low), int(high) + 1, 2):
                _, y = place(column, row, ranks[0], 2.0**exponent)
                stroke = "#333" if exponent == 0 else "#e5e5e5"
                out.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + width}" y2="{y:.1f}" stroke="{stroke}"/>')
                if column == 0:
                    out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{2.0**exponent:g}x</text>')
            for count in ranks:
                x, _ = place(column, row, count, 1)
                out.append(f'<text x="{x:.1f}" y="{y0 + height + 14}" text-anchor="middle">{count}</text>')
            for scheme in SCHEMES:
                points = []
                for case in cases:
                    if (case.machine, case.gbits) != (machine, gbits) or size not in case.sizes:
                        continue
                    best = case.best(size, [scheme])
                    if best is not None:
                        points.append(place(column, row, case.ranks, case.uncompressed(size)[0] / best["simulated_seconds"]))
                text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
                out.append(f'<polyline points="{text}" fill="none" stroke="{COLOURS[scheme]}" stroke-width="2"/>')
                out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[scheme]}"/>' for x, y in points]
    for number, scheme in enumerate(SCHEMES):
        x = left + 150 * number
        out.append(f'<line x1="{x}" y1="14" x2="{x + 24}" y2="14" stroke="{COLOURS[scheme]}" stroke-width="3"/>')
        out.append(f'<text x="{x + 30}" y="18">{scheme}, its best algorithm</text>' if number == 0 else
                   f'<text x="{x + 30}" y="18">{scheme}</text>')
    out.append(f'<text x="{left}" y="34">simulated; times faster than the best uncompressed algorithm, by ranks (4 a node)</text>')
    whole = (left + len(kinds) * (width + 30), top + len(sizes) * (height + 50))
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole[0]}" height="{whole[1]}" '
                    'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>\n' +
                    "\n".join(out) + "\n</svg>\n", encoding="utf-8")


def measured_rows(path):
    """Link, MiB, data, ms, MPI's best ms and MB sent of measured allreduces of 4 ranks on nodes of their own."""
    for text in Path(path).read_text(encoding="utf-8").splitlines() if path else []:
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if len(cells) == 15 and cells[1:3] == ["4", "allreduce"] and cells[5] == "homcomp-fused, direct":
            yield cells[0], int(cells[3].split()[0]), cells[4], float(cells[6]), float(cells[8].split()[0]), float(cells[12])


def against_measured(options, folder):
    """The rig's rows, simulated: links of TCP over Ethernet, whose frames carry 94 % of the rate; the ratio from the bytes
    sent, of which half are sums of all four ranks, with 2 bits a value more."""
    yield ["link", "MiB", "data", "homz measured, ms", "simulated", "simulated / measured", "expected", "MPI's best measured, ms",
           "SMPI's best simulated", "simulated / measured"]
    for link, size, data, own, mpi, sent in measured_rows(options.measured):
        gbits = {"1gbit": 1.0, "100mbit": 0.1}[link]
        rig = Case(options, folder, options.machines.split(":")[0], gbits * 0.94, 4, str(size))
        rig.per_node = "1"
        rig.ratio = str(32 / (32 * sent * 1e6 / (1.5 * size * 2**20) - 1))
        found = rig.run(size, ["--algorithm", "direct", "--scheme", "homcomp-fused"])
        for name in BASELINES:
            rig.run_baseline(size, name)
        seconds, expected = found[0]["simulated_seconds"], found[0]["expected_seconds"]
        best = min(result["simulated_seconds"] for _, result in rig.baselines)
        yield [link, size, data, own, ms(seconds), f"{seconds * 1e3 / own:.2f}", ms(expected), mpi, ms(best), f"{best * 1e3 / mpi:.2f}"]


def lazy_and_not(cases):
    """How far --lazy is off, where both can be simulated."""
    yield ["machine", "link, Gbit/s", "ranks", "MiB", "scheme", "algorithm", "ms", "lazy, ms", "lazy / not"]
    for case in cases:
        if not LAZY_FROM / 4 <= case.ranks < LAZY_FROM:
            continue
        size = case.sizes[len(case.sizes) // 2]
        for algorithm in case.possible(ALGORITHMS[:4]):
            for scheme in ("plain", "homcomp-fused"):
                own = [r for r in case.results if r["size_bytes"] == int(size) * 2**20 and r["scheme"] == scheme and
                       r["algorithm"] == algorithm]
                lazy = case.run(size, ["--algorithm", algorithm, "--scheme", scheme, "--lazy"])
                if own and lazy:
                    both = own[0]["simulated_seconds"], lazy[0]["simulated_seconds"]
                    yield [case.machine, case.gbits, case.ranks, size, scheme, algorithm, ms(both[0]), ms(both[1]),
                           f"{both[1] / both[0]:.3f}"]


def table(rows):
    head, *body = rows
    return line(head) + line(["---"] * len(head)) + "".join(line(row) for row in body)


def write(options, cases, more):
    commit = described_commit()  # before the report is opened, which makes the checkout dirty
    path = Path(options.output)
    picture = path.with_suffix(".svg")
    plot(cases, list(dict.fromkeys(size for case in cases for size in case.sizes)), picture)
    profiles = [entry.split(":")[0] for entry in options.machines.split(",")]
    text = ["# Allreduce at scale, simulated\n\n**All numbers here are simulated.** No cluster has run them.\n\n"
            f"`{command('--keep')}`, commit {commit}, {datetime.date.today()}, SimGrid under homz-mpi-sim\n\n"]
    told = [f"Vectors of f32 on every rank, {options.per_node} ranks a node, nodes with one link each at a switch that never is the "
            f"bottleneck, {options.latency:g} us between nodes. One rank's data are {options.ratio} times smaller when encoded with its "
            "share of the bound; sums of k ranks take log2 k bits a value more. The bound is relative to the sum, so shares do not "
            "shrink with the number of ranks."]
    told += [f"`{Path(name).stem}`: {json.loads(Path(name).read_text(encoding='utf-8'))['machine']} ({name})" for name in profiles]
    told += ["Uncompressed: the fastest of homz's own algorithms and of SMPI's (" + ", ".join(BASELINES) + "), whose reductions are "
             "charged alike. Compressed: the fastest scheme and algorithm. Expected: by the cost model that chooses (`homz plan`). "
             "A dash is what was not simulated: " +
             ", ".join(f"{name} above {most} ranks" for name, most in MOST_RANKS.items()) + "."]
    text += [textwrap.fill(paragraph, 130) + "\n\n" for paragraph in told]
    text += [f"![times faster than uncompressed]({picture.name})\n\n## Who wins\n\n", table(summary(cases)),
             "\n## Simulated over expected seconds\n\n", table(ratio_to_model(cases))]
    text += more
    for scheme in SCHEMES:
        text += [f"\n## Milliseconds: {scheme}\n\n", table(details(cases, scheme))]
    text += ["\n## Milliseconds: SMPI's own, uncompressed\n\n", table(details(cases, None))]
    path.write_text("".join(text), encoding="utf-8")


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        cases = [Case(options, folder, machine, gbits, count, sizes)
                 for machine, *links in (entry.split(":") for entry in options.machines.split(","))
                 for gbits in links for ranks, sizes in (entry.split(":") for entry in options.cases.split(";"))
                 for count in ranks.split(",")]
        more = []
        if options.measured:
            more += [f"\n## Against the emulated links of {options.measured}\n\nFour ranks on nodes of their own, allreduce, direct "
                     "and homcomp-fused.\n\n", table(against_measured(options, folder))]
        started = [case.start(pool) for case in sorted(cases, key=lambda case: case.ranks)]
        for number, runs in enumerate(started, 1):
            for each in runs:
                each.result()
            print(f"{number} of {len(cases)} cases done", file=sys.stderr, flush=True)
            write(options, cases, more)  # what there is so far
        more += [f"\n## What --lazy changes, with which {LAZY_FROM} ranks and more are simulated\n\n", table(lazy_and_not(cases))]
        write(options, cases, more)


if __name__ == "__main__":
    main()
