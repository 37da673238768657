#!/usr/bin/env bash
# Builds homz for the GPU of this machine, runs the tests on it and prints the measured table: in less than ten minutes.
# usage: benchmarks/gpu.sh [build folder]   HOMZ_GPU_ARCHITECTURES=90 by default, HOMZ_GPU_MIB=1024
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-gpu}
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake -B "$build" -DCMAKE_BUILD_TYPE=Release -DHOMZ_CUDA=ON \
  -DCMAKE_CUDA_ARCHITECTURES="${HOMZ_GPU_ARCHITECTURES:-90}" > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -j "$(nproc)" --target test_gpu test_gpu_sum gpu_bench gpu_sum_bench homz >> "$build.log" 2>&1 ||
  { tail -50 "$build.log"; exit 1; }
ctest --test-dir "$build" -L gpu -j 12 --output-on-failure | tail -8
"$build/bin/gpu_bench" "${HOMZ_GPU_MIB:-1024}" 9
"$build/bin/gpu_sum_bench" "${HOMZ_GPU_MIB:-1024}" 9
