// homz-mpi-sim: what an allreduce would take on a cluster that is not there. The communicator, its schedules,
// schemes and transport run as they are, under SimGrid's SMPI; only the coder and the arithmetic on values
// are replaced by what they take (coder.cpp, values.cpp).
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <simgrid/s4u.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "tools/mpi_sim/simulate.hpp"

namespace homz::mpi_sim {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Point& point) {
  return {{"size_bytes", point.size_bytes},
          {"algorithm", to_string(point.algorithm)},
          {"scheme", to_string(point.scheme)},
          {"simulated_seconds", point.seconds},
          {"expected_seconds", point.expected},
          {"wire_bytes_per_rank", point.wire_bytes},
          {"ratio", point.raw_bytes > 0 ? point.raw_bytes / point.sent_bytes : 1},
          {"encode_seconds", point.encode_seconds},
          {"combine_seconds", point.combine_seconds},
          {"decode_seconds", point.decode_seconds}};
}

void print(const std::vector<Point>& points) {
  fmt::print("# {:>11} {:>18} {:>13} {:>14} {:>14} {:>12}\n", "size", "algorithm", "scheme", "simulated ms",
             "expected ms", "wire B/rank");
  for (const Point& p : points)
    fmt::print("{:>13} {:>18} {:>13} {:>14.4f} {:>14.4f} {:>12.0f}\n", p.size_bytes, to_string(p.algorithm),
               to_string(p.scheme), p.seconds * 1e3, p.expected * 1e3, p.wire_bytes);
}

// SimGrid takes its own options, and would take --help for one.
bool is_of_simgrid(std::string_view argument) {
  return argument.starts_with("--cfg=") || argument.starts_with("--log=");
}

}  // namespace
}  // namespace homz::mpi_sim

int main(int argc, char** argv) {
  using namespace homz::mpi_sim;
  std::vector<char*> of_simgrid{argv[0]}, own{argv[0]};
  for (char* const argument : std::span(argv + 1, argv + argc))
    (is_of_simgrid(argument) ? of_simgrid : own).push_back(argument);
  Settings settings;
  if (const auto usage = parse(static_cast<int>(own.size()), own.data(), settings)) {
    fmt::print(usage->status == 0 ? stdout : stderr, "{}", usage->text);
    return usage->status;
  }
  int count = static_cast<int>(of_simgrid.size());
  const simgrid::s4u::Engine engine(&count, of_simgrid.data());
  const auto points = simulate(settings);
  if (!points.ok()) {
    fmt::print(stderr, "homz-mpi-sim: {}\n", points.status().message());
    return 1;
  }
  if (settings.json) {
    Json results = Json::array();
    for (const Point& point : *points) results.push_back(json_of(point));
    fmt::print("{}\n", Json{{"simulated", true}, {"ranks", settings.ranks}, {"results", results}}.dump());
  } else {
    print(*points);
  }
  return 0;
}
