#include "tools/gpu_bench/rank.hpp"

#include <algorithm>

#include "collectives/nccl.hpp"
#include "collectives/peer.hpp"
#include "collectives/tune.hpp"

namespace homz::gpu_bench {
namespace {

Result<std::unique_ptr<Transport>> transport_of(Route route, std::unique_ptr<Transport> control) {
  if (route == Route::staged) return control;
  if (route == Route::nccl) return nccl_transport(std::move(control));
  HOMZ_ASSIGN(auto peers, peer_transport(std::move(control)));
  return nccl_transport(std::move(peers));
}

Result<Profile> profile_of(const Settings& settings, Transport& transport) {
  if (settings.tune) {
    HOMZ_ASSIGN(Profile profile, tune(transport, {}));
    if (!settings.tuned.empty() && transport.rank() == 0) HOMZ_TRY(write_profile(settings.tuned, profile));
    return profile;
  }
  return settings.profile.empty() ? Profile::unmeasured() : read_profile(settings.profile);
}

}  // namespace

Result<Rank> Rank::make(const Party& party, int rank, std::unique_ptr<Transport> control,
                        std::unique_ptr<Transport> for_nccl) {
  HOMZ_TRY(gpu::use(rank));
  Rank made{party, rank, {}, {}, {}, {}, nullptr, std::nullopt};
  HOMZ_ASSIGN(made.stream, gpu::Stream::make());
  const bench::Extents most = made.extents(std::ranges::max(party.settings.sizes));
  HOMZ_ASSIGN(made.in, gpu::Memory::on_device(most.in));
  HOMZ_ASSIGN(made.out, gpu::Memory::on_device(most.out));
  HOMZ_ASSIGN(made.page, gpu::Memory::pinned(std::min(most.out, kPeriod)));
  HOMZ_ASSIGN(made.nccl, nccl_transport(std::move(for_nccl)));
  HOMZ_ASSIGN(auto transport, transport_of(party.settings.route, std::move(control)));
  HOMZ_ASSIGN(const Profile profile, profile_of(party.settings, *transport));
  HOMZ_ASSIGN(made.communicator,
              Communicator::make(std::move(transport), profile, party.settings.options.timeout_seconds));
  return made;
}

}  // namespace homz::gpu_bench
