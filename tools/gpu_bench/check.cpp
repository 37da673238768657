#include "tools/gpu_bench/check.hpp"

#include <algorithm>

#include "core/checksum.hpp"
#include "core/threads.hpp"

namespace homz::gpu_bench {

Result<Finding> look_at(Rank& rank, const bench::Extents& extents) {
  const auto& [settings, meeting, values] = rank.party;
  const unsigned threads = std::max(1u, hardware_threads() / static_cast<unsigned>(meeting.ranks()));
  const ConstBytes out = rank.out.bytes().first(extents.out);
  const Bytes page = rank.page.bytes();
  ChecksumState sums;
  double error = 0;
  for (std::uint64_t at = 0; at < out.size();) {
    const std::uint64_t some = std::min<std::uint64_t>(page.size(), out.size() - at);
    HOMZ_TRY(gpu::copy(out.subspan(at, some), page, rank.stream.get()));
    HOMZ_TRY(gpu::wait(rank.stream.get()));
    const ConstBytes copied = page.first(some);
    sums.join(sums_of(copied, threads), at / 4);
    if (at == 0) error = values.largest_error(rank.rank, extents, copied, threads);
    at += some;
  }
  Finding finding;
  HOMZ_ASSIGN(finding.max_error, meeting.most(rank.rank, error));
  HOMZ_ASSIGN(const std::vector<std::uint64_t> digests,
              meeting.all(rank.rank, sums.finish(std::uint64_t{out.size()})));
  if (settings.collective != Collective::reduce_scatter)
    finding.identical = std::ranges::all_of(digests, [&](std::uint64_t d) { return d == digests.front(); });
  return finding;
}

}  // namespace homz::gpu_bench
