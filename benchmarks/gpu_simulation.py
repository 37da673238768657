#!/usr/bin/env python3
"""Allreduce on clusters of GPUs that are not there, simulated: python3 gpu_simulation.py [options]

Takes what two GPUs were measured to do (--measured, a profile of homz-gpu-bench --tune), puts them into nodes with one link each,
and has homz-mpi-sim run the library's own algorithms and schemes there, and SMPI's uncompressed ones. As GPU calls do, messages
travel whole, and pieces are as large as pays: of --pieces the best is taken. Writes tables to --output.
"""
import argparse
import datetime
import json
import sys
import tempfile
import textwrap
from pathlib import Path

from collectives import command, described_commit
from simulation import Case, ms, table

ALGORITHMS = ["ring", "two-level", "rabenseifner", "recursive-doubling", "direct"]
SCHEMES = ["ccoll", "hzccl", "homcomp-fused"]
BASELINES = ["lr", "rab", "ompi_ring_segmented"]  # of SMPI
MOST_RANKS = {"direct": 32, "rabenseifner": 128, "recursive-doubling": 128, "ccoll": 128, "hzccl": 128, "rab": 128,
              "ompi_ring_segmented": 128}  # more take long, and are never the best here, or close to others
LAZY_FROM = 128  # ranks; homz-mpi-sim --lazy
MOST_PIECES = {"direct": 8}  # of a part, as each is simulated; else 32, and with more than 128 ranks 8, or in a ring 1
MOST_MEMORY = 12 * 2**30  # that SMPI's own algorithms may take for their buffers
SEGMENT = 2**27  # bytes; above any message
PUBLISHED = (
    "The figure to set beside it, as this project's task has it: an allreduce of 2 GB on 128 GPUs, about 3 times faster than over "
    "MPI. Its paper could not be read here, so its GPUs, link, data, bound and MPI are not known to us, and this table neither "
    "confirms nor beats it. What could be read are abstracts: gZCCL (arXiv 2308.05199; GPUs, decodes and encodes in each step) claims "
    "up to 4.5 times over NCCL for an allreduce on up to 512 A100; hZCCL (SC'24; CPUs, homomorphic) up to 2.12 times over MPI with "
    "one thread and 6.77 with many, on up to 512 nodes. These are measured, best cases, and against what MPI or NCCL reached there. "
    "Ours are simulated, against an uncompressed ring that keeps its link busy all the time. An MPI that does less would make the "
    "same compressed call look better.")
BESIDE = (
    "Uncompressed, the model is close to NCCL for long vectors. Compressed, it is too slow: the pass for the largest magnitude is "
    "charged like a copy (the GPU only reads), a rank's own sum is decoded apart from the adding (the GPU writes both at once), "
    "pieces end at 64 MiB (homz takes larger ones, and kernels follow each other without a gap), and nothing goes on side by side but "
    "the wire. So expect the gains above to be on the low side where kernels weigh as much as the link, as with 8 GPUs.")
LEFT_OUT = (
    "NCCL's pipelining: its kernels drive the link without the host. Here each uncompressed message costs the host's time, too, which is "
    "most of a short vector's time. Compare with the link alone.",
    "What a GPU does side by side: here kernels, and the host that starts messages, take turns; only the wire is busy meanwhile. And what "
    "kernels and copies take from each other.",
    "The path from the GPU's memory to the link: taken to be as fast as the link.",
    "Congestion, routes, late ranks, several links a node, switches that add.",
    "The sample: calls are told their scheme. For one that chooses, a look at the data and an agreement come on top.",
    "Ratios that differ from rank to rank. Sums that grow by less than log2 k bits, as those of independent data do.",
    "Sums of more than two streams at once are taken to cost 0.6 of one by one, as on CPUs.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", default="build/bin/homz-mpi-sim")
    parser.add_argument("--measured", default="benchmarks/results/gpu_profile.json")
    parser.add_argument("--gbits", type=float, default=200, help="of a node's link")
    parser.add_argument("--latency", type=float, default=3, help="between nodes, in us, beyond what a message inside takes")
    parser.add_argument("--cases", default="8,32,128:16,256,2048;512:2048", help="ranks:sizes of a rank's vector in MiB; ...")
    parser.add_argument("--per-node", default="4")
    parser.add_argument("--ratios", default="10.3,5")
    parser.add_argument("--pieces", default="1,4,16,64", help="MiB")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one run; what takes longer is left out")
    parser.add_argument("--keep", help="folder for results, from which a run that was cut off goes on; of one version of --sim")
    parser.add_argument("--beside", default="benchmarks/results/gpu_collectives.md",
                        help="table of gpu_collectives.py whose compressed allreduces of two GPUs are simulated, too; '': none")
    parser.add_argument("--output", default="benchmarks/results/gpu_simulation.md")
    return parser.parse_args()


def cluster(options, folder):
    """A profile whose host does what the measured GPU does, as homz-mpi-sim simulates calls on hosts."""
    gpu = json.loads(Path(options.measured).read_text(encoding="utf-8"))["gpu"]
    link = dict(gpu["inside"], segment_bytes=SEGMENT)
    options.latency += link["latency"] * 1e6
    profile = {"format": 1, "machine": "", **gpu, "inside": link, "between": link, "natives": []}
    path = Path(folder) / "gpu.json"
    path.write_text(json.dumps(profile), encoding="utf-8")
    return path


class GpuCase(Case):
    """A number of ranks: the results of the library by size and ratio, and SMPI's by size."""

    def __init__(self, options, folder, machine, ranks, sizes):
        options.ratio = options.ratios.split(",")[0]
        super().__init__(options, folder, machine, options.gbits, ranks, sizes)
        self.found = {}  # (size, ratio, scheme, algorithm): the best piece's result
        self.tried = []  # (size, ratio, result), all pieces

    def run_now(self, words):
        """SMPI's algorithms touch their buffers: those that need too much memory fail."""
        return super().run_now(["prlimit", f"--as={MOST_MEMORY}", *words] if "--mpi" in words else words)

    def pieces(self, size, algorithm):
        """MiB that make a difference, and few enough pieces."""
        part = int(size) / {"recursive-doubling": 1, "rabenseifner": 2, "two-level": int(self.per_node)}.get(algorithm, self.ranks)
        all_pieces = sorted(float(piece) for piece in self.options.pieces.split(","))
        most = MOST_PIECES.get(algorithm, 32) if self.ranks <= 128 else 1 if algorithm == "ring" else 8
        inside = [piece for piece in all_pieces if piece < part and part / piece <= most]
        return inside + [piece for piece in all_pieces if piece >= part][:1]

    def run_own(self, size, algorithm, scheme):
        lazy = ["--lazy"] if self.ranks >= LAZY_FROM else []
        for piece in self.pieces(size, algorithm):
            values = str(int(piece * 2**20 / 4))
            for each in self.run(size, ["--algorithm", algorithm, "--scheme", scheme, "--piece", values, *lazy]):
                key = size, self.ratio, each["scheme"], algorithm
                each["piece_mib"] = piece
                self.tried.append((size, self.ratio, each))
                if key not in self.found or each["simulated_seconds"] < self.found[key]["simulated_seconds"]:
                    self.found[key] = each

    def possible(self, names):
        return [name for name in names if self.ranks <= MOST_RANKS.get(name, self.ranks)]

    def run_all(self):
        ratios = self.options.ratios.split(",")
        for size in self.sizes:
            self.ratio = ratios[0]
            for name in self.possible(BASELINES):
                self.run_baseline(size, name)
            for algorithm in self.possible(ALGORITHMS):
                self.ratio = ratios[0]
                self.run_own(size, algorithm, "plain")
                for self.ratio in ratios:
                    self.run_own(size, algorithm, ",".join(self.possible(SCHEMES)))

    def fastest(self, size, ratio, schemes):
        found = [result for (of_size, of_ratio, scheme, _), result in self.found.items()
                 if (of_size, of_ratio) == (size, ratio) and scheme in schemes]
        return min(found, key=lambda result: result["simulated_seconds"], default=None)

    def expected(self, size, ratio):
        """The compressed one that the cost model has for the fastest."""
        return min((result for of_size, of_ratio, result in self.tried if (of_size, of_ratio) == (size, ratio) and
                    result["scheme"] != "plain"), key=lambda result: result["expected_seconds"])

    def exact(self, size):
        """Seconds of the best uncompressed algorithm and its name; SMPI's best and its name."""
        smpi = min(((result["simulated_seconds"], f"SMPI's {name}") for name, result in self.baselines
                    if result["size_bytes"] == int(size) * 2**20), default=(float("inf"), "-"))
        own = self.fastest(size, self.options.ratios.split(",")[0], ["plain"])
        return min([smpi] + ([(own["simulated_seconds"], own["algorithm"])] if own else [])), smpi

    def link_bound(self, size):
        """Seconds that a node's link is busy at least, whatever exact algorithm the GPUs run."""
        nodes = self.ranks // int(self.per_node)
        return 2 * (nodes - 1) / nodes * int(size) * 2**20 * 8e-9 / self.gbits


def summary(cases, ratios):
    yield ["GPUs", "MiB", "ratio", "link alone, ms", "best uncompressed, ms", "SMPI's best, ms", "best compressed, ms",
           "faster than uncompressed", "than the link alone", "pieces, MiB", "simulated / expected", "the model's choice, ms"]
    for case in cases:
        for size in case.sizes:
            (exact, name), (smpi, smpi_name) = case.exact(size)
            for ratio in ratios:
                best = case.fastest(size, ratio, SCHEMES)
                if best is None or exact == float("inf"):
                    continue
                seconds, chosen = best["simulated_seconds"], case.expected(size, ratio)
                yield [case.ranks, size, ratio, ms(case.link_bound(size)), f"{ms(exact)} ({name})",
                       "-" if smpi == float("inf") else f"{ms(smpi)} ({smpi_name.split()[-1]})",
                       f"{ms(seconds)} ({best['scheme']}, {best['algorithm']})", f"{exact / seconds:.2f}",
                       f"{case.link_bound(size) / seconds:.2f}", f"{best['piece_mib']:g}", f"{seconds / best['expected_seconds']:.2f}",
                       f"{ms(chosen['simulated_seconds'])} ({chosen['scheme']}, {chosen['algorithm']})"]


def details(cases, ratio, schemes):
    """Milliseconds by algorithm, simulated and expected."""
    yield ["GPUs", "MiB", "scheme", *ALGORITHMS]
    for case in cases:
        for size in case.sizes:
            for scheme in schemes:
                found = [case.found.get((size, ratio, scheme, algorithm)) for algorithm in ALGORITHMS]
                yield [case.ranks, size, scheme, *("-" if each is None else
                                                   f"{ms(each['simulated_seconds'])}, {ms(each['expected_seconds'])}" for each in found)]


def smpi_rows(cases):
    yield ["GPUs", "MiB", *BASELINES]
    for case in cases:
        for size in case.sizes:
            found = {name: result for name, result in case.baselines if result["size_bytes"] == int(size) * 2**20}
            yield [case.ranks, size, *(ms(found[name]["simulated_seconds"]) if name in found else "-" for name in BASELINES)]


def against_published(cases, ratios):
    """The row of 128 GPUs and 2 GiB beside what others have published."""
    case = next((case for case in cases if case.ranks == 128 and "2048" in case.sizes), None)
    if case is None or not all(case.fastest("2048", ratio, SCHEMES) for ratio in ratios):
        return []
    (exact, name), (smpi, smpi_name) = case.exact("2048")
    told = [f"128 GPUs, 2 GiB: the best uncompressed takes {ms(exact)} ms ({name}), the best of SMPI's {ms(smpi)} "
            f"({smpi_name.split()[-1]}), the link alone {ms(case.link_bound('2048'))}."]
    for ratio in ratios:
        best = case.fastest("2048", ratio, SCHEMES)
        seconds = best["simulated_seconds"]
        told.append(f"At a ratio of {ratio}, {best['scheme']} by {best['algorithm']} takes {ms(seconds)}: {exact / seconds:.1f} times "
                    f"faster than the best uncompressed, {smpi / seconds:.1f} than SMPI's, {case.link_bound('2048') / seconds:.1f} than "
                    f"the link alone. The model's choice takes {ms(case.expected('2048', ratio)['simulated_seconds'])}.")
    return ["\n## 128 GPUs and 2 GiB, beside what is published\n\n", paragraph(" ".join(told)), paragraph(PUBLISHED),
            "## What the simulation leaves out\n\n", *(f"- {each}\n" for each in LEFT_OUT)]


def paragraph(text):
    return textwrap.fill(text, 130, break_long_words=False, break_on_hyphens=False) + "\n\n"


def measured_rows(path):
    """MiB, ms, NCCL's ms and ratio of measured allreduces of two GPUs on NVLink, smooth data, as homz chose."""
    sizes = set()
    for row in Path(path).read_text(encoding="utf-8").splitlines() if path else []:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if (cells[:3], cells[4:6]) == (["NVLink", "peer", "allreduce"], ["smooth", "homcomp-fused, ring"]) and cells[3] not in sizes:
            sizes.add(cells[3])
            yield cells[3].split()[0], float(cells[6]), float(cells[8]), cells[10]


def against_measured(options, folder, machine):
    yield ["MiB", "ratio", "homz measured, ms", "simulated", "simulated / measured", "NCCL measured, ms", "uncompressed ring simulated",
           "simulated / measured"]
    for size, own, nccl, ratio in sorted(measured_rows(options.beside), key=lambda row: int(row[0])):
        pair = GpuCase(options, folder, machine, 2, size)
        pair.per_node, pair.ratio = "2", ratio
        for scheme in ("homcomp-fused", "plain"):
            pair.run_own(size, "ring", scheme)
        seconds = [pair.found[size, ratio, scheme, "ring"]["simulated_seconds"] for scheme in ("homcomp-fused", "plain")]
        yield [size, ratio, own, ms(seconds[0]), f"{seconds[0] * 1e3 / own:.2f}", nccl, ms(seconds[1]), f"{seconds[1] * 1e3 / nccl:.2f}"]


def write(options, cases, beside):
    commit = described_commit()  # before the report is opened, which makes the checkout dirty
    measured = json.loads(Path(options.measured).read_text(encoding="utf-8"))
    longest = measured["gpu"]["codecs"][0]["encode"][-1][0] / 2**20
    ratios = options.ratios.split(",")
    text = ["# Allreduce on many GPUs, SIMULATED\n\n**All times here are simulated.** No cluster has run them. Two GPUs were measured; "
            "the rest is a model.\n\n"
            f"`{command('--keep')}`, commit {commit}, {datetime.date.today()}, SimGrid under homz-mpi-sim\n\n"]
    told = [f"Input: [{Path(options.measured).name}]({Path(options.measured).name}), {measured['machine']}. From it: the codec's kernels, "
            "copies, sums, the time of a call and of a message (the host starts each, and waits), and the link inside a node. Assumed: "
            f"{options.per_node} GPUs a node, one link of {options.gbits:g} Gbit/s for all of them, {options.latency:.3g} us between nodes "
            "(what a message inside takes, and the wire's), a switch that never is the bottleneck.",
            f"Kernels were measured to {longest:g} MiB; pieces here are of {options.pieces.replace(',', ', ')} MiB. " +
            ("So none is extrapolated. " if max(map(float, options.pieces.split(","))) <= longest else "Beyond that is extrapolated. ") +
            "Of each algorithm the best of these pieces counts. homz cannot know it: it chooses scheme, algorithm and pieces by its cost "
            "model; the last column is what that choice takes, simulated (where it compresses).",
            "Vectors of f32. One rank's data are by `ratio` smaller, when encoded with its share of the bound; sums of k ranks take log2 k "
            "bits a value more, which is the worst case. 10.3 is what two GPUs sent of smooth data at 1e-3 of the range of the result, own "
            "data and sums of two together. That the ratio holds for any number of ranks takes sums whose range grows with the ranks.",
            "Link alone: a node's link busy with 2 (n - 1) / n vectors each way, n nodes, and nothing else: no uncompressed allreduce "
            "of the GPUs beats that, NCCL's included, unless the switches add. Best uncompressed: of homz's own and SMPI's, which pay "
            "for each message as homz's do. Expected: by homz's cost model, for the same pieces. "
            f"From {LAZY_FROM} GPUs on with `--lazy`. A dash: not simulated (" +
            ", ".join(f"{name} above {most} GPUs" for name, most in MOST_RANKS.items()) + f"; SMPI's where it needs more than "
            f"{MOST_MEMORY // 2**30} GiB; what took longer than {options.timeout:g} s)."]
    text += [paragraph(each) for each in told]
    text += ["## Best against best\n\n", table(summary(cases, ratios)), *against_published(cases, ratios), beside]
    text += ["\n## Milliseconds, uncompressed: simulated, expected\n\n", table(details(cases, ratios[0], ["plain"]))]
    for ratio in ratios:
        text += [f"\n## Milliseconds, ratio {ratio}: simulated, expected\n\n", table(details(cases, ratio, SCHEMES))]
    text += ["\n## Milliseconds: SMPI's own, uncompressed\n\n", table(smpi_rows(cases))]
    Path(options.output).write_text("".join(text), encoding="utf-8")


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        machine = cluster(options, folder)
        beside = ""
        if options.beside:
            beside = ("\n## Beside two GPUs that were measured\n\n" +
                      paragraph(f"Allreduce of smooth data by homcomp-fused, ring, over NVLink: measured in {options.beside}. " + BESIDE) +
                      table(against_measured(options, folder, machine)))
        cases = [GpuCase(options, folder, machine, ranks, sizes)
                 for counts, sizes in (entry.split(":") for entry in options.cases.split(";")) for ranks in counts.split(",")]
        for number, case in enumerate(cases, 1):
            case.run_all()
            print(f"{number} of {len(cases)} cases done", file=sys.stderr, flush=True)
            write(options, cases, beside)  # what there is so far


if __name__ == "__main__":
    main()
