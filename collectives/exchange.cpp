#include "collectives/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace homz {
namespace {

constexpr int kTag = 1;

struct Verdict {
  std::uint32_t code = 0;
  char text[252] = {};
};

Status move_all(Transport& transport, const std::shared_ptr<std::vector<std::byte>>& own, Bytes all,
                std::vector<Pending>& pending) {
  const std::size_t n = static_cast<std::size_t>(transport.size()), length = own->size();
  for (std::size_t r = 0; r < n; ++r)
    HOMZ_TRY(transport.receive(all.subspan(r * length, length), static_cast<int>(r), kTag, &pending[r]));
  for (std::size_t r = 0; r < n; ++r)
    HOMZ_TRY(transport.send(*own, own, static_cast<int>(r), kTag, &pending[n + r]));
  while (!std::ranges::all_of(pending, &Pending::done)) {
    HOMZ_TRY(transport.poll());
    transport.yield();
  }
  for (std::size_t r = 0; r < n; ++r)
    if (pending[r].bytes != length)
      return Status(Code::corrupt_stream,
                    fmt::format("rank {} tells {} bytes where {} are due: do all ranks run the same homz?", r,
                                pending[r].bytes, length));
  return Status();
}

}  // namespace

Result<std::vector<std::byte>> gather_all(Transport& transport, ConstBytes own) {
  const auto kept = std::make_shared<std::vector<std::byte>>(own.begin(), own.end());
  const auto n = static_cast<std::size_t>(transport.size());
  std::vector<std::byte> all(n * own.size());
  std::vector<Pending> pending(2 * n);
  const Status status = move_all(transport, kept, all, pending);
  for (Pending& each : pending)
    if (!each.done) transport.abandon(&each);
  HOMZ_TRY(status);
  return all;
}

Status agree(Transport& transport, const Status& own) {
  Verdict verdict;
  verdict.code = static_cast<std::uint32_t>(own.code());
  own.message().copy(verdict.text, sizeof verdict.text - 1);
  HOMZ_ASSIGN(const auto verdicts, gather_all(transport, verdict));
  const auto found = std::ranges::find_if(verdicts, [](const Verdict& v) { return v.code != 0; });
  if (found == verdicts.end()) return Status();
  return Status(
      static_cast<Code>(std::min<std::uint32_t>(found->code, static_cast<std::uint32_t>(Code::internal))),
      fmt::format("rank {}: {}", found - verdicts.begin(), found->text));
}

}  // namespace homz
