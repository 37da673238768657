#include "tools/gpu_bench/nccl_version.hpp"

#include <fmt/format.h>
#include <nccl.h>

namespace homz::gpu_bench {

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "unknown";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace homz::gpu_bench
