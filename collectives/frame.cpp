#include "collectives/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "core/checksum.hpp"
#include "core/error_bound.hpp"

namespace homz {
namespace {

constexpr std::byte kMagic{0x8a}, kVersion{2};
constexpr unsigned kOrderMatters = 1, kHasChecksum = 2;

// Offsets; docs/collectives.md, "Frames", is normative.
enum At : std::size_t {
  kMagicAt = 0,
  kVersionAt = 1,
  kContentAt = 2,
  kFlagsAt = 3,
  kCollectiveAt = 4,
  kOpAt = 5,
  kDtypeAt = 6,
  kCountsAt = 7,
  kCountAt = 8,
  kAbsErrorAt = 16,
  kRootAt = 24,
  kPlanAt = 28,
  kSequenceAt = 32,
  kPieceAt = 36,
  kPayloadBytesAt = 40,
  kValuesAt = 44,
  kPayloadChecksumAt = 48,
  kHistoryAt = 56,
  kFrameChecksumAt = 60,
};

Status damaged(std::string_view what) {
  return Status(Code::corrupt_stream, fmt::format("damaged message: {}", what));
}

}  // namespace

std::uint32_t digest_of(ConstBytes bytes) {
  const std::uint64_t sum = checksum(bytes);
  return static_cast<std::uint32_t>(sum ^ sum >> 32);
}

std::string to_string(const CallSignature& call) {
  std::string text(name_of(call.collective, call.has_counts));
  if (call.op != ReduceOp::none) text += fmt::format(" {}", to_string(call.op));
  text += fmt::format(" of {} {}", call.count, to_string(call.dtype));
  text += call.abs_error > 0 ? fmt::format(", bound {}", call.abs_error) : std::string(", uncompressed");
  if (has_root(call.collective)) text += fmt::format(", root {}", call.root);
  return text;
}

Status disagreement(const CallSignature& own, int rank, const CallSignature& other, int other_rank) {
  std::string mine = to_string(own), theirs = to_string(other);
  if (mine == theirs && own.sequence != other.sequence) {
    mine += fmt::format(" as call {}", own.sequence);
    theirs += fmt::format(" as call {}", other.sequence);
  } else if (mine == theirs && own.plan != other.plan) {
    theirs +=
        " in another way (blocking, started, or planned), with other options (algorithm, scheme, codec, "
        "sigmas, piece_values, audit_every, threads, trusts_ranks, space), other HOMZ_ALGORITHM, HOMZ_SCHEME "
        "or HOMZ_CODEC in the environment, or other "
        "counts";
  } else if (mine == theirs) {
    theirs += " after other calls: an earlier one was not the same";
  }
  if (other_rank < rank) {
    std::swap(rank, other_rank);
    std::swap(mine, theirs);
  }
  return Status(
      Code::invalid_argument,
      fmt::format("ranks disagree: rank {} calls {}; rank {} calls {}. All ranks must pass the same "
                  "arguments and options",
                  rank, mine, other_rank, theirs));
}

void store(const Frame& frame, std::span<std::byte, Frame::kBytes> to) {
  std::byte* const base = to.data();
  std::fill_n(base, Frame::kBytes, std::byte{0});
  base[kMagicAt] = kMagic;
  base[kVersionAt] = kVersion;
  base[kContentAt] = static_cast<std::byte>(frame.content);
  base[kFlagsAt] = static_cast<std::byte>((frame.order_matters ? kOrderMatters : 0) |
                                          (frame.has_checksum ? kHasChecksum : 0));
  base[kCollectiveAt] = static_cast<std::byte>(frame.call.collective);
  base[kOpAt] = static_cast<std::byte>(frame.call.op);
  base[kDtypeAt] = static_cast<std::byte>(frame.call.dtype);
  base[kCountsAt] = static_cast<std::byte>(frame.call.has_counts);
  store_le(base + kCountAt, frame.call.count);
  store_le(base + kAbsErrorAt, bits_of(frame.call.abs_error));
  store_le(base + kRootAt, frame.call.root);
  store_le(base + kPlanAt, frame.call.plan);
  store_le(base + kSequenceAt, frame.call.sequence);
  store_le(base + kPieceAt, frame.piece);
  store_le(base + kPayloadBytesAt, frame.payload_bytes);
  store_le(base + kValuesAt, frame.values);
  store_le(base + kPayloadChecksumAt, frame.payload_checksum);
  store_le(base + kHistoryAt, frame.call.history);
  store_le(base + kFrameChecksumAt, digest_of(ConstBytes(base, kFrameChecksumAt)));
}

std::uint32_t digest_of(const CallSignature& call) {
  const auto kind = std::uint64_t{call.has_counts} << 24 | static_cast<std::uint64_t>(call.collective) << 16 |
                    static_cast<std::uint64_t>(call.op) << 8 | static_cast<std::uint64_t>(call.dtype);
  return digest_of({kind, call.count, bits_of(call.abs_error), std::uint64_t{call.root} << 32 | call.plan,
                    std::uint64_t{call.sequence} << 32 | call.history});
}

Result<Frame> load_frame(ConstBytes bytes) {
  if (bytes.size() < Frame::kBytes)
    return damaged(fmt::format("{} bytes, a frame has {}", bytes.size(), Frame::kBytes));
  const std::byte* const base = bytes.data();
  if (base[kMagicAt] != kMagic) return damaged("it does not begin like one of homz");
  if (load_le<std::uint32_t>(base + kFrameChecksumAt) != digest_of(bytes.first(kFrameChecksumAt)))
    return damaged("the frame's checksum does not match");
  if (base[kVersionAt] != kVersion)
    return Status(
        Code::unsupported,
        fmt::format("a message of frame version {}, this homz knows {}: all ranks must run the same",
                    std::to_integer<int>(base[kVersionAt]), std::to_integer<int>(kVersion)));
  Frame frame;
  frame.content = static_cast<Content>(base[kContentAt]);
  const auto flags = std::to_integer<unsigned>(base[kFlagsAt]);
  frame.order_matters = (flags & kOrderMatters) != 0;
  frame.has_checksum = (flags & kHasChecksum) != 0;
  frame.call.collective = static_cast<Collective>(base[kCollectiveAt]);
  frame.call.op = static_cast<ReduceOp>(base[kOpAt]);
  frame.call.dtype = static_cast<Dtype>(base[kDtypeAt]);
  frame.call.has_counts = base[kCountsAt] != std::byte{0};
  frame.call.count = load_le<std::uint64_t>(base + kCountAt);
  frame.call.abs_error = value_of<double>(load_le<std::uint64_t>(base + kAbsErrorAt));
  frame.call.root = load_le<std::uint32_t>(base + kRootAt);
  frame.call.plan = load_le<std::uint32_t>(base + kPlanAt);
  frame.call.sequence = load_le<std::uint32_t>(base + kSequenceAt);
  frame.call.history = load_le<std::uint32_t>(base + kHistoryAt);
  frame.piece = load_le<std::uint32_t>(base + kPieceAt);
  frame.payload_bytes = load_le<std::uint32_t>(base + kPayloadBytesAt);
  frame.values = load_le<std::uint32_t>(base + kValuesAt);
  frame.payload_checksum = load_le<std::uint64_t>(base + kPayloadChecksumAt);
  if (flags > (kOrderMatters | kHasChecksum) || frame.content > Content::question ||
      base[kCountsAt] > std::byte{1})
    return Status(Code::unsupported, "a message with features that this homz does not know");
  return frame;
}

}  // namespace homz
