// homz-mpi-sim: what an allreduce would take on a cluster that is not there. The communicator, its schedules,
// schemes and transport run as they are, under SimGrid's SMPI; only the coder and the arithmetic on values
// are replaced by what they take (coder.cpp, values.cpp).
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <simgrid/s4u.hpp>

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
          {"ratio", point.sent_bytes > 0 ? point.raw_bytes / point.sent_bytes : 1},
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

}  // namespace
}  // namespace homz::mpi_sim

int main(int argc, char** argv) {
  using namespace homz::mpi_sim;
  const simgrid::s4u::Engine engine(&argc, argv);  // takes its own options
  Settings settings;
  if (const auto usage = parse(argc, argv, settings)) {
    fmt::print(usage->status == 0 ? stdout : stderr, "{}", usage->text);
    return usage->status;
  }
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
