// Sums vectors that lie in memory of GPUs over MPI ranks, a GPU each, with compression.
//
//   mpirun -n 2 gpu_allreduce --tune profile.json    measures, and writes the profile
//   mpirun -n 2 gpu_allreduce profile.json           with a profile that this or homz-gpu-bench has written
//
// Exit status: 0 if all results are within their bound; 77 if a rank has no GPU of its own; 2 for wrong use.
#include <cuda_runtime.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/mpi.hpp"
#include "collectives/nccl.hpp"
#include "collectives/peer.hpp"
#include "collectives/profile.hpp"
#include "collectives/tune.hpp"

namespace {

constexpr std::size_t kCount = std::size_t{16} << 20, kBytes = kCount * sizeof(float);
constexpr double kBound = 1e-3;  // of every value of a sum
constexpr int kUsage = 2, kNoGpu = 77;

struct Settings {
  bool tunes = false;
  std::string profile;  // a file
};

homz::Status status_of(cudaError_t error) {
  return error == cudaSuccess ? homz::Status()
                              : homz::Status(homz::Code::internal, cudaGetErrorString(error));
}

// ---- A GPU a rank: it must be current before transports are made, and at every call

// Numbers this host's ranks. The same on all ranks: whether each has a GPU.
bool take_own_gpu(int rank) {
  MPI_Comm host = MPI_COMM_NULL;
  int local_rank = 0, gpus = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local_rank);
  MPI_Comm_free(&host);
  const cudaError_t found = cudaGetDeviceCount(&gpus);
  if (found != cudaSuccess) gpus = 0;
  int has_one = local_rank < gpus && cudaSetDevice(local_rank) == cudaSuccess ? 1 : 0;
  if (has_one == 0)
    std::fprintf(stderr, "gpu_allreduce: rank %d needs a GPU of its own; this host has %d%s%s\n", rank, gpus,
                 found == cudaSuccess ? "" : ": ", found == cudaSuccess ? "" : cudaGetErrorString(found));
  MPI_Allreduce(MPI_IN_PLACE, &has_one, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return has_one == 1;
}

// Frames and agreements go by MPI, messages from GPU to GPU where they reach each other, by NCCL where they
// do not, as on several hosts. NCCL's own collectives are the uncompressed choice in both cases;
// nccl_transport() takes a second argument for an ncclComm_t that the program has already.
homz::Result<std::unique_ptr<homz::Transport>> make_transport() {
  HOMZ_ASSIGN(auto transport, homz::mpi_transport(MPI_COMM_WORLD));
  auto peers = homz::peer_transport(std::move(transport));
  if (peers.ok()) return homz::nccl_transport(std::move(*peers));
  if (peers.status().code() != homz::Code::unsupported) return peers.status();
  HOMZ_ASSIGN(transport, homz::mpi_transport(MPI_COMM_WORLD));  // all ranks come here together
  return homz::nccl_transport(std::move(transport));
}

// As in allreduce.cpp; here the program itself keeps what it has measured: of GPUs, too, since each rank has
// one.
homz::Result<homz::Profile> profile_for(homz::Transport& transport, const Settings& settings) {
  if (!settings.tunes)
    return transport.rank() == 0 ? homz::read_profile(settings.profile) : homz::Profile::unmeasured();
  HOMZ_ASSIGN(const homz::Profile profile, homz::tune(transport, {}));
  if (transport.rank() != 0) return profile;
  std::ofstream file(settings.profile);
  if (file << homz::to_json(profile) << std::flush) return profile;
  return homz::Status(homz::Code::io, settings.profile + ": cannot be written");
}

homz::Result<homz::Communicator> make_communicator(const Settings& settings) {
  HOMZ_ASSIGN(auto transport, make_transport());
  HOMZ_ASSIGN(const homz::Profile profile, profile_for(*transport, settings));
  return homz::Communicator::make(std::move(transport), profile);
}

// ---- The application's memory, and whether its sums are right

struct Buffers {
  std::byte *mine = nullptr, *sum = nullptr;
  cudaStream_t stream = nullptr;

  homz::Status make(const std::vector<float>& values) {
    HOMZ_TRY(status_of(cudaMalloc(reinterpret_cast<void**>(&mine), kBytes)));
    HOMZ_TRY(status_of(cudaMalloc(reinterpret_cast<void**>(&sum), kBytes)));
    HOMZ_TRY(status_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
    return status_of(cudaMemcpyAsync(mine, values.data(), kBytes, cudaMemcpyHostToDevice, stream));
  }
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    cudaFree(mine);
    cudaFree(sum);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
};

homz::Status check(const char* what, int rank, const std::vector<float>& mine, const Buffers& buffers) {
  std::vector<float> sum(kCount);
  HOMZ_TRY(
      status_of(cudaMemcpyAsync(sum.data(), buffers.sum, kBytes, cudaMemcpyDeviceToHost, buffers.stream)));
  HOMZ_TRY(status_of(cudaStreamSynchronize(buffers.stream)));
  std::vector<double> exact(mine.begin(), mine.end());
  MPI_Allreduce(MPI_IN_PLACE, exact.data(), static_cast<int>(kCount), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double error = 0;
  for (std::size_t i = 0; i < kCount; ++i) error = std::max(error, std::abs(exact[i] - double{sum[i]}));
  if (rank == 0) std::printf("%s: largest error %.3g, bound %g\n", what, error, kBound);
  return error <= kBound ? homz::Status()
                         : homz::Status(homz::Code::internal, std::string(what) + ": beyond the bound");
}

homz::Status call_once(homz::Communicator& communicator, const char* what, homz::Scheme scheme) {
  const int rank = communicator.rank();
  std::vector<float> mine(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    mine[i] = std::sin(1e-3f * static_cast<float>(i) + static_cast<float>(rank));
  Buffers buffers;
  HOMZ_TRY(buffers.make(mine));

  homz::CallReport report;
  homz::CollectiveOptions options;
  options.abs_error = kBound;
  options.scheme = scheme;
  options.space = homz::Space::device;
  options.stream = buffers.stream;  // the call comes behind the copy that is on it
  options.report = &report;
  HOMZ_TRY(communicator.allreduce({buffers.mine, kBytes}, {buffers.sum, kBytes}, homz::Dtype::f32,
                                  homz::ReduceOp::sum, options));
  if (rank == 0)
    std::printf("%s: algorithm %s, scheme %s, ratio %.1f (%s)\n", what,
                std::string(to_string(report.algorithm)).c_str(),
                std::string(to_string(report.scheme)).c_str(), report.ratio(), report.reason.c_str());
  return check(what, rank, mine, buffers);
}

homz::Status run(const Settings& settings) {
  HOMZ_ASSIGN(homz::Communicator communicator, make_communicator(settings));
  HOMZ_TRY(call_once(communicator, "automatic", homz::Scheme::automatic));
  return call_once(communicator, "forced", homz::Scheme::homcomp_fused);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::span words(argv + 1, static_cast<std::size_t>(argc - 1));
  const bool tunes = words.size() == 2 && std::string(words[0]) == "--tune";
  const bool is_clear = tunes || (words.size() == 1 && words[0][0] != '-');
  if (!is_clear && rank == 0) std::fprintf(stderr, "usage: gpu_allreduce [--tune] PROFILE\n");
  if (!is_clear || !take_own_gpu(rank)) {
    MPI_Finalize();
    return is_clear ? kNoGpu : kUsage;
  }
  const homz::Status status = run({tunes, words.back()});
  if (!status.ok()) {
    std::fprintf(stderr, "gpu_allreduce: rank %d: %s\n", rank, status.message().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);  // others may wait for this rank
  }
  MPI_Finalize();
  return 0;
}
