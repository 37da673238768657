#!/usr/bin/env bash
# Builds homz for the GPU of this machine, runs the tests on it and prints the measured table: in less than ten minutes.
# usage: benchmarks/gpu.sh [build folder]   HOMZ_GPU_ARCHITECTURES=90 by default, HOMZ_GPU_MIB=1024
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-gpu}
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "commit $(git describe --always --dirty 2> /dev/null || echo unknown)"
mkdir -p "$build"
log=$build/gpu.log
cmake -B "$build" -DCMAKE_BUILD_TYPE=Release -DHOMZ_CUDA=ON \
  -DCMAKE_CUDA_ARCHITECTURES="${HOMZ_GPU_ARCHITECTURES:-90}" > "$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build "$build" -j "$(nproc)" >> "$log" 2>&1 || { tail -50 "$log"; exit 1; }
echo "built in $SECONDS s"
ctest --test-dir "$build" -L gpu -j 12 --output-on-failure > "$log" 2>&1 || { tail -50 "$log"; exit 1; }
echo "$(grep 'tests passed' "$log"), $(grep -c '(Skipped)$' "$log" || true) skipped; after $SECONDS s"
"$build/bin/gpu_bench" "${HOMZ_GPU_MIB:-1024}" 9
"$build/bin/gpu_sum_bench" "${HOMZ_GPU_MIB:-1024}" 9
