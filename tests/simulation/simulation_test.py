#!/usr/bin/env python3
"""Checks homz-mpi-sim: python3 simulation_test.py HOMZ_MPI_SIM PROFILE. Simulated times are near those of the cost model,
messages as long as the ratio says, and the same figures come twice."""
import json
import math
import subprocess
import sys

SIM, PROFILE = sys.argv[1:3]
RANKS, NODE, MIB, RATIO = 8, 4, 2, 8.0
NEAR = 1.35  # simulated and expected seconds differ by this factor at most
faults = []


def check(is_true, text):
    if not is_true:
        faults.append(text)


def call(*more):
    return subprocess.run([SIM, "--profile", PROFILE, "--ranks", str(RANKS), "--per-node", str(NODE), "--size", f"{MIB}MiB",
                           "--ratio", str(RATIO), *more], capture_output=True, text=True, check=False, timeout=120)


def simulate(*more):
    done = call("--json", *more)
    check(done.returncode == 0, f"{more}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


OWN = ("--algorithm", "ring,recursive-doubling,rabenseifner,direct,two-level", "--scheme",
       "plain,cprp2p,ccoll,hzccl,homcomp-ahead,homcomp-step,homcomp-fused")


def check_times(results):
    for r in results:
        factor = r["simulated_seconds"] / r["expected_seconds"]
        check(1 / NEAR < factor < NEAR, f"{r['scheme']}, {r['algorithm']}: {factor:.2f} of what is expected")


def check_bytes(results):
    """Of a ring, per rank and S bytes: half of the chunks travel as partial sums of 1 ... N-1 ranks, half as sums of all."""
    size, bits = MIB * 2**20, 32 / RATIO
    partial = [bits + log2_about(k) for k in range(1, RANKS)]
    coded = size / RANKS / 32 * (sum(partial) + (RANKS - 1) * (bits + log2_about(RANKS)))
    raw = 2 * size * (RANKS - 1) / RANKS
    for r in results:
        if r["algorithm"] != "ring" or r["scheme"] == "cprp2p":
            continue
        want = raw if r["scheme"] == "plain" else coded
        check(abs(r["wire_bytes_per_rank"] / want - 1) < 0.02,
              f"{r['scheme']}, ring: {r['wire_bytes_per_rank']:.0f} bytes sent by a rank, {want:.0f} expected")


def log2_about(x):
    whole = math.floor(math.log2(x))
    return whole + x / 2**whole - 1


def check_codec_costs(results):
    """What a rank's processor is charged for: all of the vector encoded once or more, and decoded."""
    for r in results:
        is_coded = r["scheme"] != "plain"
        check((r["encode_seconds"] + r["combine_seconds"] > 0) == is_coded and (r["decode_seconds"] > 0) == is_coded,
              f"{r['scheme']}, {r['algorithm']}: encoding {r['encode_seconds']}, decoding {r['decode_seconds']} s")


def main():
    text = simulate(*OWN)
    results = json.loads(text or '{"results": []}')["results"]
    check(len(results) == 7 * 5, f"{len(results)} results")
    check_times(results)
    check_bytes(results)
    check_codec_costs(results)
    check(text == simulate(*OWN), "the second run has other figures")

    def seconds_of_mpi(name):
        return json.loads(simulate("--mpi", name))["results"][0]["simulated_seconds"]

    plain = min(r["simulated_seconds"] for r in results if r["scheme"] == "plain" and r["algorithm"] == "ring")
    check(0.8 < seconds_of_mpi("lr") / plain < 1.25, "SMPI's ring is not about as fast as the library's")
    bad = [("--ratio", "0"), ("--per-node", "3"), ("--profile", "none"), ("--scheme", "none"), ("--size", "6"), ("--size", "4GiB")]
    for more in bad:
        check(call(*more).returncode == 2, f"{more}: no usage error")
    print("\n".join(faults) if faults else "no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
