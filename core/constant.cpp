#include "core/constant.hpp"

#include <algorithm>
#include <atomic>

#include "core/bits.hpp"
#include "core/exceptions.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

struct SegmentCounts {
  ExceptionCounts own, before;
};

SegmentCounts* lay_out(Arena& arena, std::uint64_t count) {
  return arena.take<SegmentCounts>(ceil_div(count, kExceptionSegment));
}

template <class T>
class ConstantField {
 public:
  ConstantField(ConstBytes data, std::optional<std::uint64_t> fill_bits, SegmentCounts* segments,
                unsigned threads)
      : data_(data.data()),
        count_(data.size() / sizeof(T)),
        fill_bits_(fill_bits),
        segments_(segments),
        threads_(threads),
        value_(first_value()) {}

  bool encode(Bytes payload, std::uint64_t* payload_bytes) {
    if (!is_constant()) return false;
    ExceptionCounts total;
    for (std::uint64_t s = 0; s < ceil_div(count_, kExceptionSegment); ++s) {
      segments_[s].before = total;
      total += segments_[s].own;
    }
    *payload_bytes = sizeof(T) + exception_bytes(count_, total, sizeof(T));
    if (*payload_bytes > count_ * sizeof(T)) return false;
    store_le(payload.data(), value_);
    if (total.fill_runs != 0) write_fills(ExceptionLayout(payload.data() + sizeof(T), count_, total));
    return true;
  }

 private:
  BitsOf<T> at(std::uint64_t i) const { return load_value<BitsOf<T>>(data_ + i * sizeof(T)); }
  bool is_fill(BitsOf<T> bits) const { return fill_bits_ && bits == *fill_bits_; }
  std::uint64_t end_of(std::uint64_t segment) const {
    return std::min(count_, (segment + 1) * kExceptionSegment);
  }

  // The first value that is not fill; fill if there is no other.
  BitsOf<T> first_value() const {
    for (std::uint64_t i = 0; i < count_; ++i)
      if (!is_fill(at(i))) return at(i);
    return at(0);
  }

  bool is_constant() {
    std::atomic<bool> same = true;
    parallel_for(ceil_div(count_, kExceptionSegment), threads_, [&](std::uint64_t s) {
      ExceptionCounter counter;
      const std::uint64_t first = s * kExceptionSegment, end = end_of(s);
      for (std::uint64_t i = first; i < end; ++i) {
        if (at(i) == value_) continue;
        if (!is_fill(at(i))) same.store(false, std::memory_order_relaxed);
        if (!same.load(std::memory_order_relaxed)) return;
        counter.fill(static_cast<std::uint32_t>(i - first));
      }
      segments_[s].own = counter.counts();
    });
    return same;
  }

  void write_fills(const ExceptionLayout& list) {
    parallel_for(ceil_div(count_, kExceptionSegment), threads_, [&](std::uint64_t s) {
      ExceptionWriter writer(list, s, segments_[s].before, segments_[s].own, sizeof(T));
      const std::uint64_t first = s * kExceptionSegment, end = end_of(s);
      for (std::uint64_t i = first; i < end; ++i)
        if (at(i) != value_) writer.fill(static_cast<std::uint32_t>(i - first));
    });
  }

  const std::byte* data_;
  std::uint64_t count_;
  std::optional<std::uint64_t> fill_bits_;
  SegmentCounts* segments_;
  unsigned threads_;
  BitsOf<T> value_;
};

template <class T>
Status decode(std::optional<std::uint64_t> fill_bits, ConstBytes payload, Bytes data, unsigned threads) {
  const std::uint64_t count = data.size() / sizeof(T);
  if (payload.size() < sizeof(T)) return Status(Code::corrupt_stream, "a constant field without its value");
  const auto value = load_le<BitsOf<T>>(payload.data());
  HOMZ_ASSIGN(const ExceptionList list, ExceptionList::open(payload.subspan(sizeof(T)), count, sizeof(T)));
  if (!list.empty() && !fill_bits) return exceptions_corrupt("fill values, but none is declared");
  if (list.total().exact_runs != 0) return exceptions_corrupt("exact values in a constant field");

  parallel_for(ceil_div(count, kExceptionSegment), threads, [&](std::uint64_t s) {
    const std::uint64_t end = std::min(count, (s + 1) * kExceptionSegment);
    for (std::uint64_t i = s * kExceptionSegment; i < end; ++i)
      store_value(data.data() + i * sizeof(T), value);
  });
  ExceptionCounts before;
  for (std::uint64_t s = 0; s < list.segments() && !list.empty(); ++s) {
    const auto put = [&](std::uint32_t position, BitsOf<T> bits) {
      store_value(data.data() + (s * kExceptionSegment + position) * sizeof(T), bits);
    };
    HOMZ_TRY(list.visit<T>(
        s, before, [&](std::uint32_t position) { put(position, static_cast<BitsOf<T>>(*fill_bits)); }, put));
    before += list.row(s);
  }
  return Status();
}

}  // namespace

std::uint64_t constant_scratch(std::uint64_t count) {
  Arena arena;
  lay_out(arena, count);
  return arena.needed();
}

bool encode_constant(const Field& field, std::optional<std::uint64_t> fill_bits, ConstBytes data,
                     Bytes payload, Bytes scratch, std::uint64_t* payload_bytes, unsigned threads) {
  if (field.count() == 0) return false;
  Arena arena(scratch);
  SegmentCounts* segments = lay_out(arena, field.count());
  return with_dtype(field.dtype, [&](auto zero) {
    return ConstantField<decltype(zero)>(data, fill_bits, segments, threads).encode(payload, payload_bytes);
  });
}

Status decode_constant(const Field& field, std::optional<std::uint64_t> fill_bits, ConstBytes payload,
                       Bytes data, unsigned threads) {
  if (field.count() == 0) return Status(Code::corrupt_stream, "a constant field without values");
  return with_dtype(field.dtype,
                    [&](auto zero) { return decode<decltype(zero)>(fill_bits, payload, data, threads); });
}

}  // namespace homz
