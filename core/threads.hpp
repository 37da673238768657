// Threads over independent tasks. Threads are started for the call and joined before it returns: nothing
// survives a fork or an unloaded library, and no task ever waits for another.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "core/status.hpp"

namespace homz {

unsigned hardware_threads() noexcept;

// A reference to a callable `void(std::uint64_t task)`; the callable outlives the call.
class TaskRef {
 public:
  template <class F>
  explicit TaskRef(F& f) noexcept
      : object_(&f), call_([](void* object, std::uint64_t task) { (*static_cast<F*>(object))(task); }) {}
  void operator()(std::uint64_t task) const { call_(object_, task); }

 private:
  void* object_;
  void (*call_)(void*, std::uint64_t);
};

// Runs tasks 0..count-1, each once, in any order, under the standard floating-point environment
// (core/fp_environment). `threads` = 0 means one a core. Where a thread cannot be started, fewer do the work.
// The tasks must not throw.
void run_tasks(std::uint64_t count, unsigned threads, TaskRef task);

template <class F>
void parallel_for(std::uint64_t count, unsigned threads, F&& task) {
  run_tasks(count, threads, TaskRef(task));
}

// The failure of the lowest task among those that failed, on whatever threads.
class LowestFailure {
 public:
  void take(std::uint64_t task, Status status) {
    if (status.ok()) return;
    const std::lock_guard lock(guard_);
    if (!status_.ok() && task >= task_) return;
    task_ = task;
    status_ = std::move(status);
  }
  const Status& status() const { return status_; }  // when all threads are done

 private:
  std::mutex guard_;
  std::uint64_t task_ = 0;
  Status status_;
};

// The same for tasks that can fail: every task runs, and the failure of the lowest task is returned, so that
// the message does not depend on the number of threads.
template <class F>
Status try_parallel_for(std::uint64_t count, unsigned threads, F&& task) {
  LowestFailure failure;
  parallel_for(count, threads, [&](std::uint64_t i) { failure.take(i, no_throw([&] { return task(i); })); });
  return failure.status();
}

// How many workers `threads` threads make for `count` tasks.
inline unsigned worker_count(std::uint64_t count, unsigned threads) {
  const std::uint64_t wanted = threads == 0 ? hardware_threads() : threads;
  return static_cast<unsigned>(wanted < count ? wanted : count);
}

// For tasks that use something of their worker's, such as a buffer: task(i, worker), worker < workers. No two
// tasks of a worker run at once.
template <class F>
void parallel_for_workers(std::uint64_t count, unsigned workers, F&& task) {
  std::atomic<std::uint64_t> next{0};
  parallel_for(workers, workers, [&](std::uint64_t worker) {
    for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(i, worker);
  });
}

template <class F>
Status try_parallel_for_workers(std::uint64_t count, unsigned workers, F&& task) {
  LowestFailure failure;
  parallel_for_workers(count, workers, [&](std::uint64_t i, std::uint64_t worker) {
    failure.take(i, no_throw([&] { return task(i, worker); }));
  });
  return failure.status();
}

}  // namespace homz
