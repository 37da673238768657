#include "codecs/homcomp/engine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>

#include "codecs/homcomp/payload_reader.hpp"
#include "codecs/homcomp/payload_writer.hpp"
#include "codecs/homcomp/region_map.hpp"
#include "codecs/homcomp/step.hpp"

namespace homz::homcomp {
namespace {

template <class T>
Coding<T> coding_of(const Encoding& encoding, T step) {
  return Coding<T>{quantiser_of(step, encoding.abs_error), encoding.fill_bits.has_value(),
                   static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0))};
}

// What a payload is written from: values, chunk by chunk.
template <class T>
class Values {
 public:
  Values(const Coding<T>& coding, const Grid& grid, EncodeChunk<T> encode, const std::byte* data,
         EncodeSpace* spaces)
      : coding_(coding), grid_(grid), encode_(encode), data_(data), spaces_(spaces) {}

  Status begin(std::uint64_t, std::uint64_t) { return Status(); }
  Result<ChunkSize> write(std::uint64_t chunk, std::uint64_t worker, std::byte* to) {
    const Box box = grid_.box(chunk);
    const Box next = chunk + 1 == grid_.chunks() ? Box{} : grid_.box(chunk + 1);
    const std::uint64_t words = encode_(coding_, box, next, data_, spaces_[worker], to);
    if (words != 0) return ChunkSize{4 * words, false};
    for (RowWalk row(box); !row.is_done(); row.next())
      std::memcpy(to + row.position() * sizeof(T), data_ + row.data() * sizeof(T), box.row() * sizeof(T));
    return ChunkSize{box.count() * sizeof(T), true};
  }

 private:
  const Coding<T>& coding_;
  const Grid& grid_;
  const EncodeChunk<T> encode_;
  const std::byte* const data_;
  EncodeSpace* const spaces_;  // one a worker
};

struct EncoderSpace {
  WriterSpace writer;
  EncodeSpace* encoders;

  EncoderSpace(Arena& arena, const Grid& grid, std::uint64_t value_bytes, unsigned threads)
      : writer(arena, grid, value_bytes, threads), encoders(arena.take<EncodeSpace>(writer.workers)) {}
};

template <class T>
Status encode_as(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data,
                 Bytes payload, Bytes scratch, Encoded* encoded, unsigned threads) {
  const T step = plan.step != 0
                     ? largest_not_above<T>(plan.step)
                     : choose_step<T>(encoding.abs_error, plan.use_magnitude, data, encoding.fill_bits);
  const Coding<T> coding = coding_of(encoding, step);
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  Arena arena(scratch);
  const EncoderSpace space(arena, grid, sizeof(T), threads);
  Values<T> values(coding, grid, kernels.encode<T>(), data.data(), space.encoders);
  return PayloadWriter(grid, static_cast<double>(step), sizeof(T), values, payload.data(), space.writer)
      .write(encoded);
}

// The values of a chunk to their places in `data`.
template <class T>
Status read_chunk(const Coding<T>& coding, DecodeChunk<T> decode, const Box& box, ConstBytes chunk,
                  bool is_raw, std::byte* data) {
  if (!is_raw) {
    const char* const wrong = decode(coding, box, chunk, data);
    return wrong == nullptr ? Status() : corrupt(wrong);
  }
  for (RowWalk row(box); !row.is_done(); row.next())
    std::memcpy(data + row.data() * sizeof(T), chunk.data() + row.position() * sizeof(T),
                box.row() * sizeof(T));
  return Status();
}

template <class T>
Result<Coding<T>> open_coding(const Encoding& encoding, const PayloadReader& reader) {
  HOMZ_TRY(reader.open());
  HOMZ_ASSIGN(const double step, reader.step(encoding.field.dtype));
  return coding_of(encoding, static_cast<T>(step));
}

template <class T>
Status decode_as(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes payload,
                 Bytes data, ChecksumState* sums, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const PayloadReader reader(grid, sizeof(T), payload);
  HOMZ_ASSIGN(const Coding<T> coding, open_coding<T>(encoding, reader));
  HOMZ_TRY(reader.verify_tables());
  std::mutex guard;
  if (sums != nullptr) sums->join(reader.sums_of_tables(), 0);
  return try_parallel_for(reader.groups(), threads, [&](std::uint64_t index) -> Status {
    Group group;
    HOMZ_TRY(reader.find(index, group));
    ChecksumState of_group;
    HOMZ_TRY(reader.verify(index, group, of_group));
    if (sums != nullptr) {
      const std::lock_guard lock(guard);
      sums->join(of_group, reader.first_word(group));
    }
    return reader.for_each_chunk(group, [&](std::uint64_t chunk, ConstBytes bytes, bool is_raw) {
      return read_chunk(coding, kernels.decode<T>(), grid.box(chunk), bytes, is_raw, data.data());
    });
  });
}

template <class T>
Status decode_region_as(const Encoding& encoding, const Plan& plan, const Kernels& kernels,
                        const Region& region, ConstBytes payload, Bytes data, unsigned threads) {
  const Field field = encoding.field.without_unit_extents();
  const Grid grid(field, plan.dim);
  const PayloadReader reader(grid, sizeof(T), payload);
  HOMZ_ASSIGN(const Coding<T> coding, open_coding<T>(encoding, reader));
  HOMZ_TRY(reader.verify_tables());
  const RegionMap map(field, without_unit_extents(region, encoding.field), grid);
  const std::uint64_t first_group = map.first_chunk() / kGroup;
  const std::uint64_t groups = map.last_chunk() / kGroup + 1 - first_group;
  return try_parallel_for(groups, threads, [&](std::uint64_t task) -> Status {
    const std::uint64_t index = first_group + task;
    if (!map.touches_any(index * kGroup, std::min((index + 1) * kGroup, grid.chunks()))) return Status();
    Group group;
    HOMZ_TRY(reader.find(index, group));
    ChecksumState unused;
    HOMZ_TRY(reader.verify(index, group, unused));
    return reader.for_each_chunk(group, [&](std::uint64_t chunk, ConstBytes bytes, bool is_raw) -> Status {
      if (!map.touches(chunk)) return Status();
      const Box box = grid.box(chunk);
      std::byte values[kChunk * sizeof(T)];
      HOMZ_TRY(read_chunk(coding, kernels.decode<T>(), box.alone(), bytes, is_raw, values));
      map.copy(box, values, sizeof(T), data.data());
      return Status();
    });
  });
}

}  // namespace

Result<Footprint> footprint(const Encoding& encoding, const Plan& plan, unsigned threads) {
  const Field field = encoding.field.without_unit_extents();
  const Grid grid(field, plan.dim);
  const Layout layout(grid.chunks());
  if (plan.step != 0) {
    const bool fits = with_dtype(field.dtype, [&](auto zero) {
      return largest_not_above<decltype(zero)>(plan.step) > 0 &&
             plan.step <= std::numeric_limits<decltype(zero)>::max();
    });
    if (!fits)
      return Status(Code::invalid_argument, fmt::format("homcomp: step={} is no number of type {}", plan.step,
                                                        to_string(field.dtype)));
  }
  Arena arena;
  EncoderSpace(arena, grid, size_of(field.dtype), threads);
  return Footprint{layout.data + 4 * layout.chunks, layout.data + field.bytes(), arena.needed(), 0};
}

Status encode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data,
              Bytes payload, Bytes scratch, Encoded* encoded, unsigned threads) {
  HOMZ_TRY(with_dtype(encoding.field.dtype, [&](auto zero) {
    return encode_as<decltype(zero)>(encoding, plan, kernels, data, payload, scratch, encoded, threads);
  }));
  if (encoded->bytes > data.size() && !encoding.always_coded) encoded->bytes = Codec::kIncompressible;
  return Status();
}

Status decode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes payload,
              Bytes data, ChecksumState* sums, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return decode_as<decltype(zero)>(encoding, plan, kernels, payload, data, sums, threads);
  });
}

Status decode_region(const Encoding& encoding, const Plan& plan, const Kernels& kernels, const Region& region,
                     ConstBytes payload, Bytes data, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return decode_region_as<decltype(zero)>(encoding, plan, kernels, region, payload, data, threads);
  });
}

}  // namespace homz::homcomp
