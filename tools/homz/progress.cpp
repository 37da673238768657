#include "tools/homz/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);         // before anything is shown
constexpr auto kInterval = std::chrono::milliseconds(100);  // between two drawings
constexpr std::size_t kBar = 30;                            // characters

}  // namespace

Progress::Progress(bool quiet) : enabled_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void Progress::begin(std::string work, std::uint64_t total_bytes) {
  work_ = std::move(work);
  total_ = total_bytes;
  done_ = 0;
  last_ = {};
  draw();
}

void Progress::update(std::uint64_t done_bytes) {
  done_ = done_bytes;
  draw();
}

void Progress::draw() {
  const auto now = Clock::now();
  if (!enabled_ || now - started_ < kPatience || now - last_ < kInterval) return;
  last_ = now;
  drawn_ = true;
  if (total_ == 0) {
    fmt::print(stderr, "\r\033[K{} ...", work_);
  } else {
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    const auto filled = static_cast<std::size_t>(part * kBar);
    fmt::print(stderr, "\r\033[K{:12} [{}{}] {:3.0f} %  {} of {}", work_, std::string(filled, '='),
               std::string(kBar - filled, ' '), part * 100, bytes_text(done_), bytes_text(total_));
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace homz::cli
