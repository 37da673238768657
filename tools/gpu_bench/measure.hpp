// One size of one kind of data: all combinations that were asked for and NCCL's own call, interleaved.
#pragma once

#include <vector>

#include "tools/bench/point.hpp"
#include "tools/gpu_bench/rank.hpp"

namespace homz::gpu_bench {

struct Point : bench::Point {
  std::string data;
  std::size_t calls = 0;  // that were measured
};

// On all ranks, whose host values are those of `data`; the points are complete on all.
Result<std::vector<Point>> measure(Rank& rank, const std::string& data, std::uint64_t size);

}  // namespace homz::gpu_bench
