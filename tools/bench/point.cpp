#include "tools/bench/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/bench/calls.hpp"

namespace homz::bench {

Point point_of(const Settings& settings, std::uint64_t size, int ranks, const CollectiveOptions& asked,
               const CallReport& report, const std::vector<double>& seconds) {
  Point point;
  point.size_bytes = size;
  point.ranks = ranks;
  point.report = report;
  point.asked_algorithm = asked.algorithm;
  point.asked_scheme = asked.scheme;
  point.seconds = median(seconds);
  point.least_seconds = std::ranges::min(seconds);
  point.most_seconds = std::ranges::max(seconds);
  point.algbw_gbps = static_cast<double>(size) / point.seconds / 1e9;
  point.busbw_gbps = point.algbw_gbps * busbw_factor(settings.collective, ranks);
  point.bound = asked.abs_error;
  return point;
}

double ratio_of(double raw_bytes, double sent_bytes) {
  return raw_bytes > 0 ? raw_bytes / sent_bytes : 1;
}

std::string scheme_text(const Point& point) {
  return fmt::format("{}{}", to_string(point.report.scheme),
                     point.asked_scheme == Scheme::automatic ? "*" : "");
}

std::string algorithm_text(const Point& point) {
  return fmt::format("{}{}", to_string(point.report.algorithm),
                     point.asked_algorithm == Algorithm::automatic ? "*" : "");
}

std::string wire_text(const Point& point) {
  return point.wire_bytes_per_rank ? fmt::format("{:.0f}", *point.wire_bytes_per_rank) : "-";
}

std::string error_text(const Point& point) {
  return point.bound > 0 ? fmt::format("{:.3f}", point.max_error / point.bound) : "-";
}

nlohmann::ordered_json json_of(const Settings& settings, std::string_view data, const Point& point) {
  using Json = nlohmann::ordered_json;
  return {{"collective", to_string(settings.collective)},
          {"op", to_string(settings.op)},
          {"dtype", to_string(settings.dtype)},
          {"data", data},
          {"size_bytes", point.size_bytes},
          {"asked", fmt::format("{}, {}", to_string(point.asked_scheme), to_string(point.asked_algorithm))},
          {"ranks", point.ranks},
          {"scheme", to_string(point.report.scheme)},
          {"algorithm", to_string(point.report.algorithm)},
          {"codec", point.report.codec},
          {"seconds", point.seconds},
          {"least_seconds", point.least_seconds},
          {"most_seconds", point.most_seconds},
          {"plain_seconds", point.plain_seconds},
          {"plain_algorithm", point.plain},
          {"algbw_gbps", point.algbw_gbps},
          {"busbw_gbps", point.busbw_gbps},
          {"wire_bytes_per_rank", point.wire_bytes_per_rank ? Json(*point.wire_bytes_per_rank) : Json()},
          {"ratio", point.ratio},
          {"max_error", point.max_error},
          {"bound", point.bound},
          {"identical", point.identical},
          {"encode_seconds", point.report.encode_seconds},
          {"combine_seconds", point.report.combine_seconds},
          {"decode_seconds", point.report.decode_seconds},
          {"wait_seconds", point.report.wait_seconds},
          {"reason", point.report.reason}};
}

}  // namespace homz::bench
