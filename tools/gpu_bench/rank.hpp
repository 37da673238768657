// A rank of homz-gpu-bench: its GPU, buffers and transports.
#pragma once

#include <memory>
#include <optional>

#include "collectives/communicator.hpp"
#include "core/gpu/gpu.hpp"
#include "tools/bench/calls.hpp"
#include "tools/gpu_bench/host_values.hpp"
#include "tools/gpu_bench/meeting.hpp"

namespace homz::gpu_bench {

// What ranks share.
struct Party {
  const Settings& settings;
  Meeting& meeting;
  HostValues& values;
};

struct Rank {
  // On a thread of its own, whose GPU is the rank's number from then on. All ranks call this; `for_nccl` has
  // other messages than `control`.
  static Result<Rank> make(const Party& party, int rank, std::unique_ptr<Transport> control,
                           std::unique_ptr<Transport> for_nccl);

  bench::Extents extents(std::uint64_t size) const {
    return bench::extents_of(party.settings.collective, party.settings.dtype, size, party.meeting.ranks(),
                             rank == 0);
  }

  Party party;
  int rank = 0;
  gpu::Stream stream;
  gpu::Memory in, out;              // for the largest size
  gpu::Memory page;                 // of the host
  std::unique_ptr<Transport> nccl;  // whose own collectives are compared with
  std::optional<Communicator> communicator;
};

}  // namespace homz::gpu_bench
