// What is told of one call that was measured.
#pragma once

#include <cmath>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/settings.hpp"

namespace homz::bench {

struct Point {
  std::uint64_t size_bytes = 0;
  int ranks = 0;
  CallReport report;  // of this rank
  Algorithm asked_algorithm = Algorithm::automatic;
  Scheme asked_scheme = Scheme::automatic;
  double seconds = 0, least_seconds = 0, most_seconds = 0;
  double plain_seconds = 0;
  std::string plain;  // which algorithm that was
  double algbw_gbps = 0, busbw_gbps = 0;
  std::optional<double> wire_bytes_per_rank;  // of the rank that sends most; unknown of the transport's own
  double ratio = 1;                           // of what all ranks send
  double max_error = 0, bound = 0;            // the bound that was asked for; 0: none
  bool identical = true;
  // What is not compressed loses what the type does.
  bool keeps_bound() const { return bound == 0 || report.scheme == Scheme::plain || max_error <= bound; }
};

// Of a result. NaN where a number is wanted, or the other way round, is infinitely wrong.
template <class W>
W error_of(W value, W wanted) {
  const bool is_same = value == wanted || (std::isnan(value) && std::isnan(wanted));
  const W difference = is_same ? W{0} : std::abs(value - wanted);
  return std::isnan(difference) ? static_cast<W>(HUGE_VAL) : difference;
}

// Without what other ranks, checks and the uncompressed call have to say. `seconds`: of each call; not empty.
Point point_of(const Settings& settings, std::uint64_t size, int ranks, const CollectiveOptions& asked,
               const CallReport& report, const std::vector<double>& seconds);

// Raw bytes over sent ones; 1 where no values were sent, or nobody knows.
double ratio_of(double raw_bytes, double sent_bytes);

// For people: what was done, with a * if auto has chosen it.
std::string scheme_text(const Point& point);
std::string algorithm_text(const Point& point);
// "-" where it is unknown, or there is no bound.
std::string wire_text(const Point& point);
std::string error_text(const Point& point);

nlohmann::ordered_json json_of(const Settings& settings, std::string_view data, const Point& point);

}  // namespace homz::bench
