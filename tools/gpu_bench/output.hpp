// What homz-gpu-bench prints: lines as they come, or JSON at the end.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/gpu_bench/measure.hpp"

namespace homz::gpu_bench {

// The functions may be called from any thread.
class Output {
 public:
  Output(const Settings& settings, std::vector<std::string> gpus);
  void add(const Point& point);
  // JSON of what there is; once, at the end.
  void finish();
  bool is_sound() const { return is_sound_; }  // when all threads are done

 private:
  void print_head() const;

  const Settings& settings_;
  std::mutex guard_;
  nlohmann::ordered_json document_;
  bool is_sound_ = true;
};

}  // namespace homz::gpu_bench
