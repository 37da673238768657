// What a program does that has homz installed: a sum by two ranks, which are threads.
#include <cmath>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/loopback.hpp"
#include "collectives/profile.hpp"

namespace {

constexpr double kBound = 1e-3;

bool sum_of(std::unique_ptr<homz::Transport> transport) {
  auto communicator = homz::Communicator::make(std::move(transport), homz::Profile::unmeasured());
  if (!communicator.ok()) return false;
  std::vector<float> mine(100000, static_cast<float>(communicator->rank()) + 0.25f), sum(mine.size());
  homz::CollectiveOptions options;
  options.abs_error = kBound;
  options.scheme = homz::Scheme::homcomp_fused;
  const homz::Status status =
      communicator->allreduce(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(sum)),
                              homz::Dtype::f32, homz::ReduceOp::sum, options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  bool is_right = status.ok();
  for (const float value : sum) is_right = is_right && std::abs(value - 1.5f) <= kBound;
  return is_right;
}

}  // namespace

int main() {
  auto transports = homz::loopback(2);
  bool are_right[2] = {};
  std::thread other([&] { are_right[1] = sum_of(std::move(transports[1])); });
  are_right[0] = sum_of(std::move(transports[0]));
  other.join();
  std::puts(are_right[0] && are_right[1] ? "right" : "wrong");
  return are_right[0] && are_right[1] ? 0 : 1;
}
