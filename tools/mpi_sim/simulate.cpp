#include "tools/mpi_sim/simulate.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>

#include <simgrid/s4u.hpp>

#include "collectives/choose.hpp"
#include "collectives/communicator.hpp"
#include "collectives/mpi.hpp"
#include "tools/mpi_sim/machine.hpp"
#include "tools/mpi_sim/smpi.hpp"

namespace homz::mpi_sim {
namespace {

namespace s4u = simgrid::s4u;

// ---- The platform: ranks with ports of their own, nodes with one link for all their ranks, and a switch
// that never is the bottleneck

// A rank's messages leave in order, two at a time, as the queue of a network card does it. Else pieces that
// are sent at once would share the wire, all arrive at the end, and nobody could work on the first ones
// meanwhile.
constexpr int kMessagesAtOnce = 2;

using Direction = s4u::LinkInRoute::Direction;

s4u::SplitDuplexLink* make_link(s4u::NetZone* zone, const std::string& name, double seconds_per_byte,
                                double latency) {
  s4u::SplitDuplexLink* const link = zone->create_split_duplex_link(name, 1 / seconds_per_byte);
  link->set_latency(latency / 2)->seal();  // half of it there, half at the other end
  return link;
}

void make_node(s4u::NetZone* cluster, const Settings& settings, int number, std::vector<s4u::Host*>& ranks) {
  const LinkProfile &inside = settings.profile.inside, &between = settings.profile.between;
  s4u::NetZone* const node = s4u::create_star_zone(fmt::format("node-{}", number));
  node->set_parent(cluster);
  for (int i = 0; i < settings.per_node; ++i) {
    const std::size_t rank = ranks.size();
    s4u::Host* const host = node->create_host(fmt::format("rank-{}", rank), 1e9)->seal();
    s4u::SplitDuplexLink* const port =
        make_link(node, fmt::format("port-{}", rank), inside.seconds_per_byte, inside.latency);
    port->get_link_up()->set_concurrency_limit(kMessagesAtOnce);
    node->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{port, Direction::UP}}, true);
    ranks.push_back(host);
  }
  simgrid::kernel::routing::NetPoint* const gateway = node->create_router(fmt::format("gateway-{}", number));
  node->seal();
  const s4u::SplitDuplexLink* const link =
      make_link(cluster, fmt::format("link-{}", number), between.seconds_per_byte,
                std::max(between.latency - inside.latency, 0.0));
  cluster->add_route(node->get_netpoint(), nullptr, gateway, nullptr, {{link, Direction::UP}}, true);
}

// The host of each rank.
std::vector<s4u::Host*> make_cluster(const Settings& settings) {
  s4u::NetZone* const cluster = s4u::create_star_zone("cluster");
  std::vector<s4u::Host*> ranks;
  for (int node = 0; node < settings.ranks / settings.per_node; ++node)
    make_node(cluster, settings, node, ranks);
  cluster->seal();
  return ranks;
}

// ---- What is called

// Memory that is never touched.
Bytes untouched(std::uint64_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? Bytes() : Bytes(static_cast<std::byte*>(memory), bytes);
}

// Ranks share it: they take turns.
struct Run {
  const Settings& settings;
  std::vector<Point> points;
  Bytes in, out;
  Status status;
};

Task task_of(const Settings& settings, std::uint64_t bytes) {
  Task task;
  task.count = bytes / sizeof(float);
  task.ranks = settings.ranks;
  task.ranks_per_node = settings.per_node;
  task.lossy = true;
  return task;
}

CollectiveOptions options_of(const Settings& settings, const Point& point) {
  CollectiveOptions options;
  options.algorithm = point.algorithm;
  options.scheme = point.scheme;
  options.piece_values = settings.piece_values;
  if (point.scheme != Scheme::plain) options.abs_error = settings.relative * settings.ranks;
  return options;
}

std::vector<Point> points_of(const Settings& settings) {
  std::vector<Point> points;
  for (const std::uint64_t size : settings.sizes) {
    if (!settings.mpi.empty()) points.push_back({.size_bytes = size});
    for (const Algorithm algorithm : settings.algorithms)
      for (const Scheme scheme : settings.schemes)
        if (settings.mpi.empty() && can_run(algorithm, scheme, task_of(settings, size)))
          points.push_back({.size_bytes = size, .algorithm = algorithm, .scheme = scheme});
  }
  return points;
}

void charge_sum(void*, void*, int* count, MPI_Datatype*) {
  take(*count * sizeof(float) * machine().profile.reduce_seconds_per_byte);
}

Status call_mpi(const Run& run, const Point& point) {
  MPI_Op sum = MPI_OP_NULL;
  MPI_Op_create(charge_sum, 1, &sum);
  const int error =
      MPI_Allreduce(run.in.data(), run.out.data(), static_cast<int>(point.size_bytes / sizeof(float)),
                    MPI_FLOAT, sum, MPI_COMM_WORLD);
  MPI_Op_free(&sum);
  return error == MPI_SUCCESS ? Status() : Status(Code::io, fmt::format("MPI_Allreduce: error {}", error));
}

Status call(Communicator& communicator, const Run& run, Point& point, std::uint64_t bytes) {
  CollectiveOptions options = options_of(run.settings, point);
  CallReport report;
  options.report = &report;
  take(run.settings.profile.call_seconds);
  HOMZ_TRY(
      communicator.allreduce(run.in.first(bytes), run.out.first(bytes), Dtype::f32, ReduceOp::sum, options));
  point.algorithm = report.algorithm;
  point.scheme = report.scheme;
  point.wire_bytes =
      std::max(point.wire_bytes, static_cast<double>(report.sent_bytes + report.agreement_bytes));
  point.sent_bytes += static_cast<double>(report.sent_bytes);
  point.raw_bytes += static_cast<double>(report.raw_bytes);
  point.encode_seconds = std::max(point.encode_seconds, report.encode_seconds);
  point.combine_seconds = std::max(point.combine_seconds, report.combine_seconds);
  point.decode_seconds = std::max(point.decode_seconds, report.decode_seconds);
  return Status();
}

Status call_all(Run& run) {
  HOMZ_ASSIGN(auto transport, mpi_transport(MPI_COMM_WORLD));
  HOMZ_ASSIGN(Communicator communicator, Communicator::make(std::move(transport), run.settings.profile));
  for (Point& point : run.points) {
    // Groups of ranks are made when they are first needed, and kept.
    Point before = point;
    if (point.algorithm == Algorithm::two_level) HOMZ_TRY(call(communicator, run, before, sizeof(float)));
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    HOMZ_TRY(!run.settings.mpi.empty() ? call_mpi(run, point)
                                       : call(communicator, run, point, point.size_bytes));
    point.seconds = std::max(point.seconds, MPI_Wtime() - start);
  }
  return Status();
}

void be_rank(Run& run) {
  MPI_Init(nullptr, nullptr);
  const Status status = call_all(run);
  if (run.status.ok()) run.status = status;
  MPI_Finalize();
}

// ---- What the cost model says

double expected(const Settings& settings, const Point& point) {
  const double ratio[] = {settings.ratio};
  const auto all =
      candidates(task_of(settings, point.size_bytes), options_of(settings, point), settings.profile, ratio);
  return all.empty() ? 0 : all.front().seconds;
}

}  // namespace

Result<std::vector<Point>> simulate(const Settings& settings) {
  Run run{.settings = settings, .points = points_of(settings), .in = {}, .out = {}, .status = {}};
  if (run.points.empty()) return Status(Code::invalid_argument, "no algorithm and scheme that go together");
  const std::uint64_t most = std::ranges::max(settings.sizes);
  const Bytes vectors = untouched(2 * most);
  if (vectors.empty()) return Status(Code::capacity, "not enough memory for the vectors");
  run.in = vectors.first(most);
  run.out = vectors.subspan(most);
  machine() = {settings.profile, settings.per_node, settings.is_lazy,
               settings.ratio,   settings.relative, vectors};

  configure_smpi(settings.mpi);
  SMPI_init();
  charge_messages();
  const std::vector<s4u::Host*> hosts = make_cluster(settings);
  SMPI_app_instance_register("homz", nullptr, settings.ranks);
  for (int rank = 0; rank < settings.ranks; ++rank) {
    const auto actor = s4u::Actor::init("rank", hosts[static_cast<std::size_t>(rank)]);
    actor->set_property("instance_id", "homz");
    actor->set_property("rank", std::to_string(rank));
    actor->start([&run] { be_rank(run); });
  }
  s4u::Engine::get_instance()->run();
  SMPI_finalize();
  HOMZ_TRY(run.status);
  for (Point& point : run.points)
    if (settings.mpi.empty()) point.expected = expected(settings, point);
  return run.points;
}

}  // namespace homz::mpi_sim
