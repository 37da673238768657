#include "tools/gpu_bench/meeting.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace homz::gpu_bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSpins = 1 << 14;  // without giving the core away
constexpr std::chrono::seconds kGrace{20};

}  // namespace

Status Meeting::meet() {
  const unsigned round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return Status();
  }
  for (unsigned spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
    if (has_failed_.load(std::memory_order_relaxed)) return Status(Code::internal, "another rank has failed");
    if (spins > kSpins) std::this_thread::yield();
  }
  return Status();
}

void Meeting::fail(int rank, const Status& failure) {
  const std::lock_guard lock(guard_);
  if (std::ranges::any_of(failures_, [&](const Failure& f) { return f.rank == rank; })) return;
  failures_.push_back({rank, failure});
  has_failed_ = true;
  changed_.notify_all();
}

void Meeting::leave() {
  const std::lock_guard lock(guard_);
  --present_;
  changed_.notify_all();
}

bool Meeting::have_left_by(Clock::time_point deadline) {
  std::unique_lock lock(guard_);
  const auto have_left = [&] { return present_ == 0; };
  changed_.wait_until(lock, deadline, [&] { return have_left() || has_failed_; });
  if (has_failed_) changed_.wait_for(lock, kGrace, have_left);
  return have_left();
}

Status Meeting::outcome() const {
  const std::lock_guard lock(guard_);
  if (failures_.empty()) return Status();
  const Failure& first = failures_.front();
  const auto says_the_same = [&](const Failure& f) { return f.status.message() == first.status.message(); };
  if (failures_.size() == static_cast<std::size_t>(ranks_) && std::ranges::all_of(failures_, says_the_same))
    return first.status;
  return first.status.within(fmt::format("rank {}", first.rank));
}

Status on_ranks(Meeting& meeting, double most_seconds, const std::function<Status(int)>& work,
                const std::function<void(const Status&)>& give_up) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(most_seconds));
  const auto end = [&](int rank, const Status& status) {
    if (!status.ok()) meeting.fail(rank, status);
    meeting.leave();
  };
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < meeting.ranks(); ++rank) {
    const Status started = no_throw([&] {
      threads.emplace_back([&, rank] { end(rank, no_throw([&] { return work(rank); })); });
      return Status();
    });
    if (!started.ok()) end(rank, started.within("starting a thread"));
  }
  if (!meeting.have_left_by(deadline)) {
    const Status failure = meeting.outcome();
    give_up(failure.ok() ? Status(Code::internal,
                                  fmt::format("not done after {} s: raise --limit, or ask for less; or a "
                                              "rank is stuck",
                                              most_seconds))
                         : failure);
  }
  threads.clear();
  return meeting.outcome();
}

}  // namespace homz::gpu_bench
