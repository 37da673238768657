// Makes the checksums within a changed payload of homcomp right again, as far as its tables allow. Written
// from codecs/homcomp/spec.md; where tables and chunks stand the codec itself tells.
#pragma once

#include <algorithm>

#include "codecs/homcomp/layout.hpp"
#include "core/stream_header.hpp"
#include "tests/support/surgery.hpp"

namespace homz::test {

inline void fix_homcomp_payload(const Field& field, unsigned dim, std::vector<std::byte>& payload,
                                std::size_t start = 0) {
  const homcomp::Grid grid(field.without_unit_extents(), dim);
  const homcomp::Layout layout(grid.chunks());
  if (payload.size() < start + layout.data) return;
  const ConstBytes all = ConstBytes(payload).subspan(start);
  for (std::uint64_t group = 0; group < layout.groups; ++group) {
    const auto offset = get<std::uint64_t>(payload, start + layout.row(group));
    std::vector<std::byte> covered, sizes;
    std::uint64_t words = 0;
    for (std::uint64_t chunk = group * homcomp::kGroup; chunk < layout.group_end(group); ++chunk) {
      const auto size = get<std::uint16_t>(payload, start + layout.size(chunk));
      words += size != 0 ? size : grid.box(chunk).count() * size_of(field.dtype) / 4;
      for (unsigned i = 0; i < 4; ++i)
        sizes.push_back(static_cast<std::byte>(i < 2 ? size >> 8 * i & 0xff : 0));
    }
    const std::uint64_t room = (all.size() - layout.data) / 4;
    if (offset > room || words > room - offset) continue;
    const ConstBytes chunks = all.subspan(layout.data + 4 * offset, 4 * words);
    covered.assign(chunks.begin(), chunks.end());
    covered.insert(covered.end(), sizes.begin(), sizes.end());
    put(payload, start + layout.row(group) + 8, checksum_of(covered));
  }
  std::vector<std::byte> tables(all.begin(), all.begin() + 8);
  tables.insert(tables.end(), all.begin() + 16, all.begin() + static_cast<std::ptrdiff_t>(layout.sizes));
  put(payload, start + 8, checksum_of(tables));
}

// The same for a stream of any codec: those that are not homcomp's are left alone.
inline void fix_inner_checksums(std::vector<std::byte>& stream) {
  constexpr unsigned kHomcomp = 4;
  fix_checksums(stream);
  const auto header = load(stream);
  if (!header.ok() || header->codec != CodecId{kHomcomp} || header->representation != Representation::coded ||
      header->field.count() == 0 || header->field.bytes() > std::uint64_t{1} << 30)
    return;
  const unsigned rank = std::min(header->field.without_unit_extents().rank + 0u, 3u);
  const unsigned given = std::to_integer<unsigned>(header->params[0]);
  if (given > rank) return;
  fix_homcomp_payload(header->field, given != 0 ? given : rank, stream, kHeaderBytes);
}

}  // namespace homz::test
