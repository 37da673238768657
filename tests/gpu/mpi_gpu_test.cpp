// Under mpirun: ranks that are processes, each with a GPU if there are as many, through memory of the host,
// by an MPI that takes memory of GPUs, and from GPU to GPU. Exit status 0: all is as on the host.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/mpi.hpp"
#include "collectives/peer.hpp"
#include "collectives/profile.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kCount = (1 << 20) + 3;

std::vector<float> values_of(int rank) {
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(0.001f * static_cast<float>(i) + static_cast<float>(rank));
  return values;
}

Status compare(Communicator& communicator, Scheme scheme, ReduceOp op) {
  const std::vector<float> values = values_of(communicator.rank());
  const ConstBytes in = std::as_bytes(std::span(values));
  std::vector<float> on_host(kCount), from_gpu(kCount);
  CollectiveOptions options;
  options.scheme = scheme;
  options.algorithm = Algorithm::ring;
  options.abs_error = scheme == Scheme::plain ? 0 : 1e-3;
  HOMZ_TRY(communicator.allreduce(in, std::as_writable_bytes(std::span(on_host)), Dtype::f32, op, options));
  HOMZ_ASSIGN(gpu::Memory there, gpu::Memory::on_device(in.size()));
  HOMZ_ASSIGN(gpu::Memory result, gpu::Memory::on_device(in.size()));
  HOMZ_ASSIGN(gpu::Stream stream, gpu::Stream::make());
  HOMZ_TRY(gpu::copy(in, there.bytes(), stream.get()));
  options.space = Space::device;
  options.stream = stream.get();
  HOMZ_TRY(communicator.allreduce(there.bytes(), result.bytes(), Dtype::f32, op, options));
  HOMZ_TRY(gpu::copy(result.bytes(), std::as_writable_bytes(std::span(from_gpu)), stream.get()));
  HOMZ_TRY(gpu::wait(stream.get()));
  return from_gpu == on_host ? Status() : Status(Code::internal, "other bits than on the host");
}

enum class Way { host, mpi, peers };

// None, where it is by MPI, which does not take memory of GPUs.
Result<std::unique_ptr<Transport>> transport_by(Way way) {
  const char* const told = std::getenv("HOMZ_MPI_CUDA");
  const std::string before = told == nullptr ? "" : told;
  setenv("HOMZ_MPI_CUDA", way == Way::host ? "0" : before.c_str(), 1);
  auto made = mpi_transport(MPI_COMM_WORLD);
  setenv("HOMZ_MPI_CUDA", before.c_str(), 1);
  HOMZ_TRY(made.status());
  if (way == Way::peers) return peer_transport(std::move(*made));
  if (way == Way::mpi && !(*made)->moves_device_memory()) made->reset();
  return made;
}

Status test(int rank) {
  HOMZ_ASSIGN(const int gpus, gpu::count());
  HOMZ_TRY(gpu::use(rank % gpus));
  for (const Way way : {Way::host, Way::mpi, Way::peers}) {
    HOMZ_ASSIGN(auto transport, transport_by(way));
    if (transport == nullptr) {
      if (rank == 0) std::printf("this MPI does not take memory of GPUs\n");
      continue;
    }
    HOMZ_ASSIGN(Communicator communicator,
                Communicator::make(std::move(transport), Profile::unmeasured(), 60));
    const char* const name = way == Way::host  ? "over the host"
                             : way == Way::mpi ? "by MPI"
                                               : "from GPU to GPU";
    for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::hzccl, Scheme::homcomp_fused})
      HOMZ_TRY(compare(communicator, scheme, ReduceOp::sum).within(name));
    HOMZ_TRY(compare(communicator, Scheme::hzccl, ReduceOp::max).within(name));
  }
  return Status();
}

}  // namespace
}  // namespace homz

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const homz::Status ready = homz::gpu::ready();
  const homz::Status status = ready.ok() ? homz::test(rank) : homz::Status();
  if (rank == 0 && !ready.ok()) std::printf("skipped: %s\n", ready.message().c_str());
  if (!status.ok()) std::fprintf(stderr, "rank %d: %s\n", rank, status.message().c_str());
  if (!status.ok()) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
