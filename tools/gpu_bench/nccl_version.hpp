// The version of NCCL that is loaded.
#pragma once

#include <string>

namespace homz::gpu_bench {

std::string nccl_version();

}  // namespace homz::gpu_bench
