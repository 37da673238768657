// The stream layer on a GPU: which kernels, in which order.
#include <cstring>

#include "core/gpu/alignment.hpp"
#include "core/gpu/launch.cuh"
#include "core/gpu/stream.hpp"
#include "core/gpu/stream_kernels.cuh"

namespace homz::gpu {
namespace {

constexpr unsigned kWaves = 4;  // thread blocks a multiprocessor

// Scratch: the ledger, a counter a segment, the codec's.
struct EncodeSpace {
  EncodeLedger* ledger;
  std::uint64_t* runs;

  EncodeSpace(Arena& arena, const Field& field)
      : ledger(arena.take<EncodeLedger>(1)),
        runs(arena.take<std::uint64_t>(ceil_div(field.count(), kExceptionSegment))) {}
};

template <class T>
Values<T> values_of(const EncodeTask& task, ConstBytes data) {
  const auto fill = task.encoding.fill_bits;
  return {reinterpret_cast<const BitsOf<T>*>(data.data()), task.header.field.count(), fill.has_value(),
          static_cast<BitsOf<T>>(fill.value_or(0))};
}

bool sums_itself(const Codec* codec) {
  return codec != nullptr && (codec->sums_on_device() || codec->takes_sums());
}

template <class T>
Status encode_values(const EncodeTask& task, ConstBytes data, Bytes stream, Bytes scratch,
                     std::uint64_t* stream_bytes, Exec exec) {
  Arena arena(scratch);
  const EncodeSpace space(arena, task.header.field);
  const Values<T> values = values_of<T>(task, data);
  Values<T> searched = values;
  if (task.encoding.always_coded) searched.count = 0;  // nothing is constant then
  auto* const cleared = reinterpret_cast<uint4*>(arena.rest().data());
  const std::uint64_t zeros = ceil_div<std::uint64_t>(task.zeros, sizeof(uint4));
  HOMZ_TRY(launch({grid_of(ceil_div<std::uint64_t>(zeros, 4 * kThreads), 1), kThreads, exec.stream, 0, false},
                  begin<T>, searched, space.ledger, space.runs, cleared, zeros));
  if (searched.count > kSmall)
    HOMZ_TRY(launch({grid_of(values.segments(), kWaves), kThreads, exec.stream}, search_constant<T>, values,
                    space.ledger, space.runs));
  if (task.codec != nullptr) {
    const Bytes payload = stream.subspan(StreamHeader::kBytes);
    HOMZ_TRY(task.codec->encode(task.encoding, data, payload, arena.rest(), &space.ledger->encoded, exec));
  }
  std::array<std::byte, StreamHeader::kBytes> prepared;
  store(task.header, prepared);
  HeaderWords header;
  std::memcpy(&header, prepared.data(), sizeof header);
  const std::uint64_t parts = ceil_div<std::uint64_t>(data.size(), 64 * kThreads);
  return launch({grid_of(parts, kWaves), kThreads, exec.stream}, finish<T>, values, space.ledger, space.runs,
                header, sums_itself(task.codec), stream.data(), stream_bytes);
}

template <class T>
Status decode_constant(const OpenStream& stream, Bytes data, DecodeLedger* ledger, Exec exec) {
  const StreamHeader& header = stream.header;
  auto* const values = reinterpret_cast<BitsOf<T>*>(data.data());
  const std::uint64_t count = header.field.count();
  if (count == 0) return Status(Code::corrupt_stream, "a constant field without values");
  const std::uint64_t parts = ceil_div<std::uint64_t>(count, 16 * kThreads);
  HOMZ_TRY(launch({grid_of(parts, kWaves), kThreads, exec.stream}, spread_constant<T>, stream.payload.data(),
                  values, count));
  const ConstBytes list = stream.payload.subspan(sizeof(T));
  if (list.empty()) return Status();
  return launch({grid_of(ceil_div(count, kExceptionSegment), kWaves), kThreads, exec.stream},
                patch_constant<T>,
                ListView{list.data(), list.size(), count, header.fill_bits.has_value(), false},
                static_cast<BitsOf<T>>(header.fill_bits.value_or(0)), values, ledger);
}

}  // namespace

std::uint64_t encode_scratch(const Field& field) {
  Arena arena;
  EncodeSpace(arena, field);
  return arena.needed();
}

std::uint64_t decode_scratch() {
  Arena arena;
  arena.take<DecodeLedger>(1);
  return arena.needed();
}

Status encode(const EncodeTask& task, ConstBytes data, Bytes stream, Bytes scratch,
              std::uint64_t* stream_bytes, Exec exec) {
  HOMZ_TRY(check_data(data, task.header.field.dtype));
  HOMZ_TRY(check_stream(stream));
  return with_dtype(task.header.field.dtype, [&](auto zero) {
    return encode_values<decltype(zero)>(task, data, stream, scratch, stream_bytes, exec);
  });
}

Status fetch_header(ConstBytes stream, HeaderBytes to, Exec exec) {
  HOMZ_TRY(
      status_of(cudaMemcpyAsync(to.data(), stream.data(), to.size(), cudaMemcpyDeviceToHost, exec.stream),
                "reading a stream's header"));
  return status_of(cudaStreamSynchronize(exec.stream), "reading a stream's header");
}

Status decode(const OpenStream& stream, const Encoding& encoding, Bytes data, Bytes scratch, Exec exec) {
  const StreamHeader& header = stream.header;
  HOMZ_TRY(check_data(data, header.field.dtype));
  HOMZ_TRY(check_stream(stream.payload));
  Arena arena(scratch);
  DecodeLedger* const ledger = arena.take<DecodeLedger>(1);
  const auto zeros = static_cast<std::uint64_t>(arena.rest().data() - reinterpret_cast<std::byte*>(ledger)) +
                     stream.scratch_zeros;  // the codec's follow the ledger
  const std::uint64_t quads = ceil_div<std::uint64_t>(zeros, sizeof(uint4));
  HOMZ_TRY(launch({grid_of(ceil_div<std::uint64_t>(quads, 4 * kThreads), 1), kThreads, exec.stream, 0, false},
                  begin_decode, reinterpret_cast<uint4*>(ledger), quads));
  const bool coded = header.representation == Representation::coded;
  const bool stored = header.representation == Representation::stored;
  const bool sums_itself = coded && (stream.codec->verifies() || stream.codec->sums_on_device());
  if (!sums_itself && !stream.payload.empty()) {
    const std::uint64_t parts = ceil_div<std::uint64_t>(stream.payload.size(), 64 * kThreads);
    HOMZ_TRY(launch({grid_of(parts, kWaves), kThreads, exec.stream}, sum_payload, stream.payload.data(),
                    stream.payload.size(), stored ? data.data() : nullptr, ledger));
  }
  const Exec inside = homz::device(exec.stream, &ledger->fault);
  if (coded && stream.codec->sums_on_device())
    HOMZ_TRY(
        stream.codec->decode_and_sum(encoding, stream.payload, data, arena.rest(), &ledger->sums, inside));
  else if (coded)
    HOMZ_TRY(stream.codec->decode(encoding, stream.payload, data, arena.rest(), inside));
  else if (!stored)
    HOMZ_TRY(with_dtype(header.field.dtype, [&](auto zero) {
      return decode_constant<decltype(zero)>(stream, data, ledger, exec);
    }));
  if (exec.fault == nullptr) return Status();
  const bool is_summed = !sums_itself || stream.codec->sums_on_device();
  return launch({1, 1, exec.stream}, judge, ledger, is_summed, header.payload_bytes, header.payload_checksum,
                exec.fault);
}

}  // namespace homz::gpu
