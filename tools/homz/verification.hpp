// The verdict on one dataset: what the errors are, and whether what was promised holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error_bound.hpp"
#include "core/metrics.hpp"
#include "core/status.hpp"
#include "tools/homz/json_output.hpp"

namespace homz::cli {

// What a dataset is held to.
struct Promise {
  std::optional<ErrorBound> bound;  // as it was stated
  std::optional<double> abs_error;  // recorded beside it in the compressed file: 0 is bit for bit
  std::optional<std::uint64_t> fill_bits;
};

struct Verdict {
  std::string name, type;
  std::vector<std::uint64_t> shape;
  bool ok = false;
  std::string
      difference;  // where values cannot be or need not be compared: what is not the same; empty if all is

  std::string not_compared;  // why nothing was
  Status readable;           // else the values of one file cannot be had
  std::vector<std::string> warnings;

  bool compared = false;   // floating-point values: what follows has a meaning
  bool identical = false;  // bit for bit
  ErrorStatistics statistics;
  std::optional<ErrorBound> bound;
  std::optional<double> abs_bound;  // that was tested; 0: bit for bit
  std::optional<double> min_psnr;
  std::uint64_t original_bytes = 0, compressed_bytes = 0;  // 0: not compressed

  std::optional<double> bit_rate() const;  // stored bits a value
};

struct Pair {
  Field field;
  ConstBytes original, decoded;
};

// Fills in everything from `compared` down, `ok` and `warnings`.
Status judge(const Pair& pair, const Promise& promise, unsigned threads, Verdict* verdict);

std::string verdicts_text(const std::vector<Verdict>& verdicts);
Json json_of(const Verdict& verdict);

}  // namespace homz::cli
