#include "core/threads.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "core/fp_environment.hpp"

namespace homz {

unsigned hardware_threads() noexcept {
  return std::max(1u, std::thread::hardware_concurrency());
}

void run_tasks(std::uint64_t count, unsigned threads, TaskRef task) {
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    const FpEnvironment environment;
    for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(i);
  };
  const std::uint64_t wanted = std::min<std::uint64_t>(threads == 0 ? hardware_threads() : threads, count);
  if (wanted <= 1) return work();
  std::vector<std::thread> helpers;
  try {
    helpers.reserve(wanted - 1);
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those that run, and this one, do all tasks.
  } catch (const std::bad_alloc&) {
    // The same.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace homz
