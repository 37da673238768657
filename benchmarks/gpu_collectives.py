#!/usr/bin/env python3
"""Collectives with compression between GPUs, against NCCL's own: python3 gpu_collectives.py [options]

Writes a table to --output. homz-gpu-bench runs once for each tier, transport, collective and bound; in it homz and NCCL take
turns. Tiers are links of one machine that stand for others, by NCCL's variables:

  nvlink  what is between the GPUs; homz copies from GPU to GPU
  shm     NCCL_P2P_DISABLE=1: through memory of the host
  socket  NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo: TCP within the host

Other NCCL_ variables are those of the caller. Rows come as far as a run came; the exit status tells whether all did, and all
bounds were kept.
"""
import argparse
import dataclasses
import datetime
import json
import os
import shlex
import subprocess
import sys
import textwrap

from collectives import command, described_commit, how, line, size_text


@dataclasses.dataclass(frozen=True)
class Tier:
    name: str
    environment: dict
    transports: list
    sizes: str


TIERS = {
    "nvlink": Tier("NVLink", {}, ["peer"], "4KiB,64KiB,1MiB,8MiB,32MiB,128MiB,512MiB,2GiB"),
    "shm": Tier("shared memory", {"NCCL_P2P_DISABLE": "1"}, ["nccl", "staged"], "32MiB,128MiB,512MiB,1GiB"),
    "socket": Tier("TCP of lo", {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket",
                                 "NCCL_SOCKET_IFNAME": "lo"}, ["nccl"], "4MiB,16MiB,64MiB,256MiB"),
}
HEAD = ["link", "transport", "collective", "size", "data", "scheme, algorithm", "ms", "spread", "NCCL, ms", "faster", "ratio",
        "faster / ratio", "algbw, GB/s", "busbw, GB/s", "MB sent by a rank", "error / bound", "same bits", "encode, ms",
        "combine, ms", "decode, ms", "wait, ms"]

LEGEND = ("ms: median over calls of the time until the last rank is done; spread: longest less shortest, by the median; NCCL: its own "
          "collective, in turns with homz in the same run; ratio: bytes that would have been sent uncompressed over those sent; "
          "algbw, busbw: as nccl-tests define them, of homz; error / bound: largest error of all ranks' results, in their first "
          "64 MiB, over what was asked for; same bits: of the whole results; encode, combine, decode, wait: rank 0, last call. Data "
          "above 64 MiB repeat, shifted.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bin/homz-gpu-bench")
    parser.add_argument("--tiers", default="nvlink,shm,socket")
    parser.add_argument("--transports", help="instead of each tier's own")
    parser.add_argument("--sizes", help="instead of each tier's own")
    parser.add_argument("--collectives", default="allreduce")
    parser.add_argument("--data", default="smooth,walk,normal,noise")
    parser.add_argument("--rel", default="1e-3", help="bound of the result's error, of its range; a list")
    parser.add_argument("--schemes", default="auto")
    parser.add_argument("--algorithms", default="auto")
    parser.add_argument("--gpus", default="0", help="0: all")
    parser.add_argument("--iterations", default="11")
    parser.add_argument("--seconds", default="5", help="spent on the calls of a size, about")
    parser.add_argument("--limit", default="300", help="seconds of one run of homz-gpu-bench")
    parser.add_argument("--more", default="", help="other options of homz-gpu-bench, such as '--tune --trust'")
    parser.add_argument("--commit", help="where there is no repository")
    parser.add_argument("--note", help="text above the table")
    parser.add_argument("--output", default="benchmarks/results/gpu_collectives.md")
    parser.add_argument("--append", action="store_true", help="to what is in --output")
    options = parser.parse_args()
    unknown = set(options.tiers.split(",")) - set(TIERS)
    if unknown:
        parser.error(f"--tiers: no {', '.join(sorted(unknown))}; there are {', '.join(TIERS)}")
    return options


def run(options, tier, transport, collective, rel):
    """What homz-gpu-bench told, None if nothing, and whether it ended well."""
    words = [options.bench, collective, "--transport", transport, "--size", options.sizes or tier.sizes, "--data", options.data,
             "--rel", rel, "--scheme", options.schemes, "--algorithm", options.algorithms, "--gpus", options.gpus, "-i",
             options.iterations, "--seconds", options.seconds, "--limit", options.limit, "--json", *shlex.split(options.more)]
    print(*(f"{name}={value}" for name, value in tier.environment.items()), shlex.join(words), file=sys.stderr, flush=True)
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **tier.environment},
                              timeout=float(options.limit) + 60)
    except subprocess.TimeoutExpired:
        print("did not end", file=sys.stderr, flush=True)
        return None, False
    print(done.stderr, end="", file=sys.stderr, flush=True)
    told = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    return (told[0] if told else None), done.returncode == 0


def error_text(result):
    if not result["bound"]:
        return "-"
    return "infinite" if result["max_error"] is None else f"{result['max_error'] / result['bound']:.3f}"


def row(link, transport, result):
    gain = result["plain_seconds"] / result["seconds"]
    spread = (result["most_seconds"] - result["least_seconds"]) / result["seconds"]
    return [link, transport, result["collective"], size_text(result["size_bytes"]), result["data"], how(result),
            f"{result['seconds'] * 1e3:.4g}", f"{spread * 100:.0f} %", f"{result['plain_seconds'] * 1e3:.4g}", f"{gain:.2f}",
            f"{result['ratio']:.2f}", f"{gain / result['ratio']:.2f}", f"{result['algbw_gbps']:.4g}", f"{result['busbw_gbps']:.4g}",
            "-" if result["algorithm"] == "native" else f"{result['wire_bytes_per_rank'] / 1e6:.4g}", error_text(result),
            "yes" if result["identical"] else "NO",
            *(f"{result[what + '_seconds'] * 1e3:.3g}" for what in ("encode", "combine", "decode", "wait"))]


def runs(options):
    for tier in (TIERS[name] for name in options.tiers.split(",")):
        for transport in options.transports.split(",") if options.transports else tier.transports:
            for collective in options.collectives.split(","):
                for rel in options.rel.split(","):
                    yield tier, transport, collective, rel


def write_run(options, out, tier, transport, collective, rel):
    """A table for the run, under a line that says where it was made; whether it ended well."""
    told, is_well = run(options, tier, transport, collective, rel)
    out.write(f"\n## {tier.name}, transport {transport}, {collective}, bound {rel} of the range\n\n")
    if told is not None:
        where = (f"{' + '.join(told['gpus'])}; NCCL {told['nccl']}; " +
                 (f"`{' '.join(told['environment'])}`" if told["environment"] else "no NCCL_ variables"))
        out.write(textwrap.fill(where, 130, break_long_words=False) + "\n\n" + line(HEAD) + line(["---"] * len(HEAD)))
        for result in told["results"]:
            out.write(line(row(tier.name, transport, result)))
    if not is_well:
        out.write("\nThis run did not end well: not all rows are there, or some break a bound.\n")
    out.flush()
    return is_well


def main():
    options = parse()
    commit = options.commit or described_commit() or "unknown"  # before the report is opened, which makes the checkout dirty
    with open(options.output, "a" if options.append else "w", encoding="utf-8") as out:
        out.write("\n" if options.append else "# Collectives between GPUs, against NCCL's own\n\n")
        out.write(f"`{command('--note', '--commit')}`, commit {commit}, {datetime.date.today()}\n")
        for text in (None if options.append else LEGEND, options.note):
            out.write("\n" + textwrap.fill(text, 130) + "\n" if text else "")
        are_well = [write_run(options, out, *each) for each in runs(options)]
    return 0 if all(are_well) else 1


if __name__ == "__main__":
    sys.exit(main())
