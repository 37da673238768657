#include "collectives/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collectives/refusal.hpp"
#include "core/bits.hpp"

namespace homz {
namespace {

std::string_view name_of(const Call& call) {
  return name_of(call.collective, !call.counts.empty());
}

std::uint64_t sum_of(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Cuts a buffer of `bytes` into stretches of the given values, or into n even ones.
struct Cut {
  Cut(std::span<const std::uint64_t> counts, std::uint64_t bytes, std::uint64_t size, std::uint64_t n) {
    borders.push_back(0);
    for (std::uint64_t i = 0; i < n; ++i)
      borders.push_back(counts.empty()
                            ? bytes / size / n * (i + 1) * size + std::min(i + 1, bytes / size % n) * size
                            : borders.back() + counts[i] * size);
  }
  std::uint64_t bytes(std::uint64_t i) const { return borders[i + 1] - borders[i]; }
  ConstBytes of(ConstBytes whole, std::uint64_t i) const { return whole.subspan(borders[i], bytes(i)); }
  Bytes of(Bytes whole, std::uint64_t i) const { return whole.subspan(borders[i], bytes(i)); }
  std::vector<std::uint64_t> borders;
};

// Bytes that the buffers must have.
struct Extents {
  std::uint64_t in, out;
};

Extents expected(const Call& call, Place place) {
  const std::uint64_t size = size_of(call.dtype), n = static_cast<std::uint64_t>(place.size);
  const std::uint64_t all = sum_of(call.counts) * size;
  const std::uint64_t own =
      call.counts.empty() ? 0 : call.counts[static_cast<std::size_t>(place.rank)] * size;
  const bool is_root = place.rank == place.root;
  switch (call.collective) {
    case Collective::allreduce:
      return {call.out.size(), call.out.size()};
    case Collective::reduce:
      return {call.in.size(), is_root ? call.in.size() : 0};
    case Collective::reduce_scatter:
      return call.counts.empty() ? Extents{call.out.size() * n, call.out.size()} : Extents{all, own};
    case Collective::allgather:
      return call.counts.empty() ? Extents{call.in.size(), call.in.size() * n} : Extents{own, all};
    case Collective::bcast:
      return {call.out.size(), call.out.size()};
    case Collective::scatter:
      if (call.counts.empty()) return {is_root ? call.out.size() * n : 0, call.out.size()};
      return {is_root ? all : 0, own};
    case Collective::gather:
      if (call.counts.empty()) return {call.in.size(), is_root ? call.in.size() * n : 0};
      return {own, is_root ? all : 0};
    case Collective::alltoall:
      if (call.counts.empty()) return {call.out.size() / (n * size) * n * size, call.in.size()};
      return {sum_of(call.send_counts) * size, all};
  }
  return {0, 0};
}

Status check_counts(const Call& call, Place place) {
  if (call.collective == Collective::alltoall && call.counts.empty() != call.send_counts.empty())
    return Status(Code::invalid_argument, "counts of what is sent, or received, but not of both");
  for (const auto counts : {call.counts, call.send_counts}) {
    if (!counts.empty() && counts.size() != static_cast<std::size_t>(place.size))
      return Status(Code::invalid_argument, fmt::format("{}: {} counts for {} ranks: give one for each",
                                                        name_of(call), counts.size(), place.size));
    constexpr std::uint64_t kMost = std::uint64_t{1} << 56;
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) {
      if (count > kMost - sum) return Status(Code::invalid_argument, "counts that add up to more than 2^56");
      sum += count;
    }
  }
  const auto own = static_cast<std::size_t>(place.rank);
  if (call.collective == Collective::alltoall && !call.counts.empty() &&
      call.send_counts[own] != call.counts[own])
    return Status(Code::invalid_argument, fmt::format("it sends itself {} values and expects {}",
                                                      call.send_counts[own], call.counts[own]));
  return Status();
}

// Before anything is said of bounds: with one it would not compress either.
Status check_native(const Call& call, Place place) {
  const CollectiveOptions& options = call.options;
  if (options.algorithm != Algorithm::native || !compresses(options.scheme)) return Status();
  const auto [why, remedy] = objection_to(options.algorithm, options.scheme, task_of(call, place.size, 1));
  return Status(Code::invalid_argument, fmt::format("algorithm native with scheme {}: {}; {}",
                                                    to_string(options.scheme), why, remedy));
}

Status check_options(const CollectiveOptions& options) {
  if (!(options.abs_error >= 0) || !std::isfinite(options.abs_error))
    return Status(Code::invalid_argument,
                  fmt::format("an error bound of {}: must be a finite number above 0, or 0 for none",
                              options.abs_error));
  if (!(options.sigmas >= 0) || !std::isfinite(options.sigmas))
    return Status(
        Code::invalid_argument,
        fmt::format("{} standard deviations: give at least 2, or 0 for the worst case", options.sigmas));
  // Sums of few errors, which are not distributed normally, keep the promise from here on.
  if (options.sigmas != 0 && options.sigmas < 2)
    return Status(
        Code::invalid_argument,
        fmt::format("{} standard deviations: give at least 2, or 0 for the worst case", options.sigmas));
  if (!(options.timeout_seconds >= 0))
    return Status(
        Code::invalid_argument,
        fmt::format("a timeout of {} s: give seconds, or 0 to wait for ever", options.timeout_seconds));
  if (compresses(options.scheme) && options.abs_error == 0 &&
      (options.codec.codec == nullptr || !options.codec.codec->info().lossless))
    return Status(Code::invalid_argument,
                  fmt::format("scheme {} without an error bound: give one, or scheme plain",
                              to_string(options.scheme)));
  return Status();
}

// In place: the same bytes; of gathers and scatters, the rank's own place in the larger buffer.
Status check_overlap(const Call& call, Place place) {
  if (!overlap(call.in, call.out)) return Status();
  const auto own = static_cast<std::uint64_t>(place.rank);
  const std::uint64_t size = size_of(call.dtype), n = static_cast<std::uint64_t>(place.size);
  bool is_fine = call.in.data() == call.out.data() && call.in.size() == call.out.size();
  if (call.collective == Collective::alltoall && place.size > 1) is_fine = false;
  if (call.collective == Collective::allgather || call.collective == Collective::gather)
    is_fine = call.in.data() == Cut(call.counts, call.out.size(), size, n).of(call.out, own).data();
  if (call.collective == Collective::scatter)
    is_fine = call.out.data() == Cut(call.counts, call.in.size(), size, n).of(call.in, own).data();
  if (call.collective == Collective::reduce_scatter && place.size > 1) is_fine = false;
  if (is_fine) return Status();
  return Status(Code::invalid_argument,
                fmt::format("{}: input and output overlap, but not as in place", name_of(call)));
}

std::uint32_t text_digest(std::string_view text) {
  return text.empty() ? 0 : digest_of(std::as_bytes(std::span(text)));
}

}  // namespace

Call without_ignored(Call call, Place place) {
  if (place.rank == place.root) return call;
  if (call.collective == Collective::reduce || call.collective == Collective::gather) call.out = {};
  if (call.collective == Collective::scatter) call.in = {};
  return call;
}

Status check(const Call& call, Place place) {
  HOMZ_TRY(check_native(call, place));
  HOMZ_TRY(check_options(call.options));
  HOMZ_TRY(check_counts(call, place));
  if (reduces(call.collective) && (call.op == ReduceOp::none || call.op > ReduceOp::prod))
    return Status(Code::invalid_argument,
                  fmt::format("{} by operation {}: take sum, average, min, max or prod", name_of(call),
                              to_string(call.op)));
  constexpr int kMostToAll = 1 << 16;  // all pairs of ranks have numbers of 32 bits
  if (call.collective == Collective::alltoall && place.size > kMostToAll)
    return Status(Code::unsupported, fmt::format("alltoall of {} ranks: {} at most", place.size, kMostToAll));
  if (call.root < 0 || call.root >= place.size)
    return Status(Code::invalid_argument,
                  fmt::format("{} with root {} of {} ranks: roots are numbered 0 to {}", name_of(call),
                              call.root, place.size, place.size - 1));
  const std::uint64_t size = size_of(call.dtype);
  const Extents wanted = expected(call, place);
  if (call.in.size() % size != 0 || call.out.size() % size != 0)
    return Status(Code::invalid_argument,
                  fmt::format("{}: buffers of {} and {} bytes, where a value of {} has {}", name_of(call),
                              call.in.size(), call.out.size(), to_string(call.dtype), size));
  for (const ConstBytes buffer : {call.in, ConstBytes(call.out)})
    if (buffer.data() == nullptr && !buffer.empty())
      return Status(Code::invalid_argument,
                    fmt::format("{}: a buffer of {} bytes at no address", name_of(call), buffer.size()));
  if (call.in.size() != wanted.in || call.out.size() != wanted.out)
    return Status(Code::invalid_argument,
                  fmt::format("{} of {}: buffers of {} and {} bytes, {} and {} are needed", name_of(call),
                              to_string(call.dtype), call.in.size(), call.out.size(), wanted.in, wanted.out));
  for (const std::byte* const pointer : {call.in.data(), static_cast<const std::byte*>(call.out.data())})
    if (reinterpret_cast<std::uintptr_t>(pointer) % size != 0)
      return Status(Code::invalid_argument, fmt::format("{}: a buffer that is not aligned to {}",
                                                        name_of(call), to_string(call.dtype)));
  return check_overlap(call, place);
}

CallSignature signature_of(const Call& call, int ranks) {
  const std::uint64_t size = size_of(call.dtype), n = static_cast<std::uint64_t>(ranks);
  CallSignature signature;
  signature.collective = call.collective;
  signature.op = call.op;
  signature.dtype = call.dtype;
  signature.abs_error = call.options.abs_error;
  signature.root = static_cast<std::uint32_t>(call.root);
  signature.has_counts = !call.counts.empty();
  const bool is_source = call.collective == Collective::reduce || call.collective == Collective::gather;
  if (call.collective == Collective::alltoall)
    signature.count = call.counts.empty() ? call.in.size() / size / n : 0;  // uneven: known in pairs only
  else if (!call.counts.empty())
    signature.count = sum_of(call.counts);
  else if (call.collective == Collective::allgather)
    signature.count = call.in.size() / size;
  else
    signature.count = (is_source ? call.in.size() : call.out.size()) / size;
  return signature;
}

std::uint32_t digest_of(const Call& call) {
  const CollectiveOptions& options = call.options;
  const bool shares_counts = call.collective != Collective::alltoall;  // else they are known in pairs only
  const std::string codec = options.codec.codec == nullptr ? std::string() : to_string(options.codec);
  const auto kind = std::uint64_t{call.may_block} << 1 | std::uint64_t{call.only_chooses};
  return digest_of({kind, bits_of(options.sigmas), static_cast<std::uint64_t>(options.algorithm),
                    static_cast<std::uint64_t>(options.scheme), text_digest(codec), options.piece_values,
                    options.audit_every, options.threads, options.trusts_ranks,
                    static_cast<std::uint64_t>(options.space),
                    shares_counts && !call.counts.empty() ? digest_of(std::as_bytes(call.counts)) : 0});
}

std::uint32_t digest_of(const Candidate& candidate, std::uint32_t options) {
  return digest_of({options, static_cast<std::uint64_t>(candidate.algorithm),
                    static_cast<std::uint64_t>(candidate.scheme), text_digest(candidate.codec),
                    candidate.piece_values});
}

std::uint32_t digest_of(const Ratios& ratios, std::uint32_t options) {
  std::uint32_t all = options;
  for (const double ratio : ratios) all = digest_of({all, bits_of(ratio)});
  return all;
}

int ranks_per_node(std::span<const int> nodes) {
  std::vector<int> counts(nodes.size());
  for (const int node : nodes) ++counts[static_cast<std::size_t>(node)];
  const int first = counts.empty() ? 1 : counts.front();
  return std::ranges::all_of(nodes, [&](int node) { return counts[static_cast<std::size_t>(node)] == first; })
             ? first
             : 0;
}

Task task_of(const Call& call, int ranks, int ranks_per_node) {
  const auto n = static_cast<std::uint64_t>(ranks);
  Task task;
  task.collective = call.collective;
  task.op = call.op;
  task.dtype = call.dtype;
  task.ranks = ranks;
  task.lossy = call.options.abs_error > 0;
  task.uneven = !call.counts.empty();
  task.ranks_per_node = ranks_per_node;
  const CallSignature signature = signature_of(call, ranks);
  const bool counts_one_rank =
      call.collective == Collective::allgather || call.collective == Collective::scatter ||
      call.collective == Collective::gather || call.collective == Collective::alltoall ||
      call.collective == Collective::reduce_scatter;
  task.count = counts_one_rank && call.counts.empty() ? signature.count * n : signature.count;
  // No rank knows what others send to each other, and all must choose alike: a guess.
  constexpr std::uint64_t kGuessedCount = std::uint64_t{1} << 18;
  if (call.collective == Collective::alltoall && !call.counts.empty()) task.count = kGuessedCount;
  return task;
}

namespace {

std::vector<Part> lay_parts_of_alltoall(const Call& call, Place place, Schedule& schedule) {
  const std::uint64_t size = size_of(call.dtype), n = static_cast<std::uint64_t>(place.size);
  const auto own = static_cast<std::uint64_t>(place.rank);
  std::vector<PartId> ids{static_cast<PartId>(own * n + own)};
  for (const Transfer& transfer : schedule)
    ids.insert(ids.end(), transfer.parts.begin(), transfer.parts.end());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (Transfer& transfer : schedule)
    for (PartId& part : transfer.parts)
      part = static_cast<PartId>(std::ranges::lower_bound(ids, part) - ids.begin());

  const Cut in(call.send_counts, call.in.size(), size, n), out(call.counts, call.out.size(), size, n);
  std::vector<Part> parts;
  for (const PartId id : ids) {
    Part& part = parts.emplace_back();
    part.id = id;
    const std::uint64_t from = id / n, to = id % n;
    if (call.counts.empty()) part.bytes = in.bytes(0);
    if (from == own) {
      part.in = in.of(call.in, to);
      part.bytes = in.bytes(to);
    }
    if (to == own) {
      part.out = out.of(call.out, from);
      part.bytes = out.bytes(from);
    }
  }
  return parts;
}

}  // namespace

std::vector<Part> lay_parts(const Call& call, std::uint32_t count, Place place, Schedule& schedule) {
  if (call.collective == Collective::alltoall) return lay_parts_of_alltoall(call, place, schedule);
  const std::uint64_t size = size_of(call.dtype), n = static_cast<std::uint64_t>(place.size);
  const auto own = static_cast<std::uint32_t>(place.rank);
  const bool is_root = place.rank == place.root;
  std::vector<Part> parts(count);
  const bool whole_is_in = call.collective == Collective::allreduce ||
                           call.collective == Collective::reduce ||
                           call.collective == Collective::reduce_scatter;
  const bool is_scatter = call.collective == Collective::scatter;
  std::uint64_t whole = call.out.size();
  if (whole_is_in) whole = call.in.size();
  if (is_scatter && call.counts.empty()) whole = call.out.size() * n;
  if (call.collective == Collective::gather && call.counts.empty()) whole = call.in.size() * n;
  const Cut cut(count == 1 ? std::span<const std::uint64_t>() : call.counts, whole, size, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    Part& part = parts[i];
    part.id = i;
    part.bytes = cut.bytes(i);
    const bool is_own = i == own;
    switch (call.collective) {
      case Collective::allreduce:
        part.in = cut.of(call.in, i);
        part.out = cut.of(call.out, i);
        break;
      case Collective::reduce:
        part.in = cut.of(call.in, i);
        if (is_root) part.out = cut.of(call.out, i);
        break;
      case Collective::reduce_scatter:
        part.in = cut.of(call.in, i);
        if (is_own) part.out = call.out;
        break;
      case Collective::allgather:
        if (is_own) part.in = call.in;
        part.out = cut.of(call.out, i);
        break;
      case Collective::bcast:
        if (is_root) part.in = cut.of(call.out, i);
        part.out = cut.of(call.out, i);
        break;
      case Collective::scatter:
        if (is_root) part.in = cut.of(call.in, i);
        if (is_own) part.out = call.out;
        break;
      default:
        if (is_own) part.in = call.in;
        if (is_root) part.out = cut.of(call.out, i);
    }
  }
  return parts;
}

ConstBytes own_data(const Call& call, Place place) {
  if (call.collective == Collective::bcast)
    return place.rank == call.root ? ConstBytes(call.out) : ConstBytes();
  if (call.collective == Collective::scatter) return place.rank == call.root ? call.in : ConstBytes();
  return call.in;
}

}  // namespace homz
