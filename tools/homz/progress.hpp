// A progress bar on the terminal for work that takes more than a second; silent everywhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace homz::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(std::string work, std::uint64_t total_bytes);  // total 0: a line without a bar
  void update(std::uint64_t done_bytes);
  void clear();  // before anything else is printed

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  bool enabled_;
  bool drawn_ = false;
  std::string work_;
  std::uint64_t total_ = 0, done_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace homz::cli
