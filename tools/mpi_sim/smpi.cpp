// Where SMPI needs to be told: polls, clocks, costs of messages, and what of them is moved indeed.
#include "tools/mpi_sim/smpi.hpp"

#include <mpi.h>

#include <chrono>
#include <simgrid/s4u.hpp>
#include <utility>

#include "tools/mpi_sim/machine.hpp"

namespace {

// Set by a rank, and taken back by the same rank's next poll: ranks take turns in between only where they
// wait.
bool is_idle = false;

}  // namespace

// Simulated time does not pass while a rank polls. So who had nothing to do waits with the next poll until
// something has arrived.
extern "C" int sched_yield() noexcept {
  is_idle = true;
  return 0;
}

extern "C" int MPI_Testsome(int count, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
  const bool waits = std::exchange(is_idle, false);
  if (!homz::mpi_sim::machine().is_lazy)
    return waits ? PMPI_Waitsome(count, requests, done, which, statuses)
                 : PMPI_Testsome(count, requests, done, which, statuses);
  *done = waits ? 1 : 0;
  return waits ? PMPI_Waitany(count, requests, which, statuses) : MPI_SUCCESS;
}

// To SMPI, ranks that share memory are those of one host; here each has a host of its own.
extern "C" int MPI_Comm_split_type(MPI_Comm all, int, int key, MPI_Info, MPI_Comm* node) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return PMPI_Comm_split(all, rank / homz::mpi_sim::machine().per_node, key, node);
}

// The clock of the library is the simulation's.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  const std::chrono::duration<double> now(simgrid::s4u::Engine::get_clock());
  return time_point(duration_cast<duration>(now));
}

namespace homz::mpi_sim {
namespace {

void copy_front(smx_activity_t activity, void* from, std::size_t bytes) {
  // SMPI's own takes its activity by the name of the derived class, which its headers do not define.
  auto* const comm = reinterpret_cast<simgrid::kernel::activity::CommImpl*>(activity);
  smpi_comm_copy_buffer_callback(comm, from, std::min<std::size_t>(bytes, kReal));
}

}  // namespace

void configure_smpi(const std::string& allreduce) {
  // A message takes latency + bytes / bandwidth, as profiles say, which are measured with both directions
  // busy; ranks' computing and polls take no time but what is charged; messages leave from where they lie.
  for (const char* log : {"xbt_cfg.thresh:warning", "smpi_config.thresh:error"}) xbt_log_control_set(log);
  smpi_init_options();
  for (const char* setting :
       {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0",
        "network/crosstraffic:0", "surf/precision:1e-9", "smpi/simulate-computation:0", "smpi/test:0",
        "smpi/wtime:0", "smpi/send-is-detached-thresh:0"})
    simgrid::s4u::Engine::set_config(setting);
  if (!allreduce.empty()) simgrid::s4u::Engine::set_config("smpi/allreduce:" + allreduce);
}

void charge_messages() {
  // For a message that is sent and the one that is received in return.
  const auto cost = [](std::size_t, simgrid::s4u::Host*, simgrid::s4u::Host*) {
    return 2 * machine().profile.message_seconds;
  };
  smpi_register_op_cost_callback(SmpiOperation::ISEND, cost);
  smpi_register_op_cost_callback(SmpiOperation::SEND, cost);
  smpi_comm_set_copy_data_callback(copy_front);
}

}  // namespace homz::mpi_sim
