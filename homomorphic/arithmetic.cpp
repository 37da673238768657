#include "homomorphic/arithmetic.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/canary.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"
#include "homomorphic/bounds.hpp"
#include "homomorphic/device_result.hpp"

namespace homz {
namespace {

Encoding encoding_of(const StreamHeader& header) {
  return Encoding{header.field, header.abs_error, header.fill_bits, header.params, true};
}

std::string text_of(const StreamHeader& header) {
  return fmt::format("{} of {}", header.field.shape_text(), to_string(header.field.dtype));
}

Status differ(const char* what, const std::string& first, const std::string& other, std::size_t number) {
  return Status(Code::invalid_argument, fmt::format("operand 1 has {0} {1}, operand {2} has {0} {3}", what,
                                                    first, number + 1, other));
}

std::string fill_text(const StreamHeader& header) {
  return header.fill_bits ? fmt::format("{:#x}", *header.fill_bits) : std::string("none");
}

// What no encoding can mend.
Status check_fields(const StreamHeader& first, const StreamHeader& other, std::size_t number) {
  if (first.field != other.field) return differ("the shape", text_of(first), text_of(other), number);
  if (first.fill_bits != other.fill_bits)
    return differ("the fill value (bits)", fill_text(first), fill_text(other), number);
  if (first.big_endian_origin != other.big_endian_origin)
    return differ("the byte order", first.big_endian_origin ? "big-endian" : "little-endian",
                  other.big_endian_origin ? "big-endian" : "little-endian", number);
  return Status();
}

Result<const CodecArithmetic*> arithmetic_of(const OpenStream& stream) {
  const CodecArithmetic* const arithmetic = find_arithmetic(stream.header.codec);
  if (arithmetic != nullptr) return arithmetic;
  return Status(
      Code::unsupported,
      fmt::format("streams of codec {} cannot be computed with: compress with homcomp, or decompress",
                  stream.codec == nullptr ? "unknown" : stream.codec->info().name));
}

bool is_coded(const OpenStream& stream) {
  return stream.header.representation == Representation::coded;
}

Status check_operands(std::span<const OpenStream> operands) {
  if (operands.empty()) return Status(Code::invalid_argument, "arithmetic on no stream at all");
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(operands[0]));
  const StreamHeader& first = operands[0].header;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const StreamHeader& header = operands[i].header;
    HOMZ_TRY(check_fields(first, header, i));
    if (header.field.count() != 0 && !is_coded(operands[i]))
      return Status(
          Code::invalid_argument,
          fmt::format("operand {} is not coded but a constant or stored: coded_alike() makes it so", i + 1));
    if (header.codec != first.codec)
      return differ("the codec", std::string(operands[0].codec->info().name),
                    std::string(operands[i].codec->info().name), i);
    if (!arithmetic->alike(encoding_of(first), encoding_of(header)))
      return Status(
          Code::invalid_argument,
          fmt::format("operands 1 and {} have chunks of different shape: compress both with the same "
                      "option dim",
                      i + 1));
  }
  return Status();
}

Status check_combination(const Combination& combination, std::size_t operands) {
  if (combination.factors.size() != operands)
    return Status(Code::invalid_argument,
                  fmt::format("{} factors for {} streams", combination.factors.size(), operands));
  std::uint64_t sum = 0;
  for (const std::int32_t factor : combination.factors)
    sum += static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(factor)));
  if (sum > std::uint64_t{1} << 32)
    return Status(Code::invalid_argument, "the magnitudes of all factors add up to more than 2^32");
  if (!std::isfinite(combination.shift))
    return Status(Code::invalid_argument, fmt::format("a shift of {}", combination.shift));
  if (!(combination.scale > 0) || !std::isfinite(combination.scale))
    return Status(
        Code::invalid_argument,
        fmt::format("a scale of {}: must be above 0 (a factor of -1 changes the sign)", combination.scale));
  return Status();
}

// Of a result.
StreamHeader header_with(const OpenStream& like, CodecParams params, double bound) {
  StreamHeader header = like.header;
  header.params = params;
  header.abs_error = bound;
  header.requested = ErrorBound{BoundMode::absolute, bound};
  return header;
}

Status finish(StreamHeader header, const Combined& combined, Bytes stream, std::uint64_t* stream_bytes) {
  header.order_matters = combined.order_matters;
  header.payload_bytes = combined.encoded.bytes;
  header.payload_checksum = combined.encoded.sums.finish(combined.encoded.bytes);
  store(header, stream.first<StreamHeader::kBytes>());
  *stream_bytes = StreamHeader::kBytes + header.payload_bytes;
  return Status();
}

Status check_buffers(const StreamFootprint& needed, ConstBytes stream, ConstBytes scratch,
                     const std::uint64_t* stream_bytes) {
  if (stream_bytes == nullptr)
    return Status(Code::invalid_argument, "no place was given for the size of the stream");
  if (stream.size() < needed.stream_bytes || scratch.size() < needed.scratch_bytes)
    return Status(Code::capacity,
                  fmt::format("stream and scratch buffers have {} and {} bytes, {} and {} are "
                              "needed",
                              stream.size(), scratch.size(), needed.stream_bytes, needed.scratch_bytes));
  return Status();
}

Status require_host(Exec exec) {
  return exec.space == Space::host ? Status()
                                   : Status(Code::unsupported,
                                            "on a GPU there are linear combinations in the "
                                            "caller's memory only: use the host");
}

Result<StreamFootprint> find_footprint(std::span<const OpenStream> operands, Exec exec) {
  if (exec.space == Space::device) HOMZ_TRY(gpu::ready());
  HOMZ_TRY(check_operands(operands));
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(operands[0]));
  if (exec.space == Space::device && !arithmetic->on_device()) return require_host(exec);
  HOMZ_ASSIGN(const Footprint needs,
              arithmetic->footprint(encoding_of(operands[0].header), operands.size(), exec));
  StreamFootprint footprint{StreamHeader::kBytes + needs.max_payload, needs.encode_scratch,
                            needs.encode_zeros};
  if (exec.space == Space::host) return footprint;
  Arena arena;
  take_ledger(arena);
  footprint.scratch_bytes += arena.needed();
  return footprint;
}

// Of a field without values: nothing but a header.
Status copy_empty(const OpenStream& operand, Bytes stream, std::uint64_t* stream_bytes, Exec exec) {
  if (exec.space == Space::device) return write_result({operand.header}, nullptr, stream, stream_bytes, exec);
  store(operand.header, stream.first<StreamHeader::kBytes>());
  *stream_bytes = StreamHeader::kBytes;
  return Status();
}

Status infinite_bound() {
  return Status(Code::unsupported, "the bound of the result is not finite");
}

Status combine_into(const Combination& combination, std::span<const OpenStream> operands, Bytes stream,
                    Bytes scratch, std::uint64_t* stream_bytes, Exec exec) {
  HOMZ_TRY(check_arithmetic());
  HOMZ_ASSIGN(const StreamFootprint needed, find_footprint(operands, exec));
  HOMZ_TRY(check_buffers(needed, stream, scratch, stream_bytes));
  HOMZ_TRY(check_combination(combination, operands.size()));
  if (operands[0].header.field.count() == 0) return copy_empty(operands[0], stream, stream_bytes, exec);
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(operands[0]));
  const Encoding encoding = encoding_of(operands[0].header);
  HOMZ_ASSIGN(const CodecParams params, arithmetic->with_step(encoding.params, 0));
  double bound = bound_of_sum(combination, operands);
  const Bytes payload = stream.subspan(StreamHeader::kBytes, needed.stream_bytes - StreamHeader::kBytes);
  if (exec.space == Space::device) {
    if (!std::isfinite(bound)) return infinite_bound();
    Arena arena(scratch);
    ResultLedger* const ledger = take_ledger(arena);
    HOMZ_TRY(arithmetic->combine(encoding, combination, operands, payload, arena.rest(), &ledger->combined,
                                 device(exec.stream, &ledger->fault)));
    return write_result({header_with(operands[0], params, bound), bound, combination.scale}, ledger, stream,
                        stream_bytes, exec);
  }
  HOMZ_ASSIGN(const double step, arithmetic->step(encoding, operands[0].payload));
  const double missed = std::abs(combination.shift - std::nearbyint(combination.shift / step) * step);
  bound = multiply_up(add_up(bound, missed), combination.scale);
  if (!std::isfinite(bound)) return infinite_bound();
  Combined combined;
  HOMZ_TRY(arithmetic->combine(encoding, combination, operands, payload, scratch, &combined, exec));
  return finish(header_with(operands[0], params, bound), combined, stream, stream_bytes);
}

Status extremum_into(Extremum which, const OpenStream& a, const OpenStream& b, Bytes stream, Bytes scratch,
                     std::uint64_t* stream_bytes, Exec exec) {
  HOMZ_TRY(check_arithmetic());
  HOMZ_TRY(require_host(exec));
  const OpenStream operands[] = {a, b};
  HOMZ_ASSIGN(const StreamFootprint needed, find_footprint(operands, exec));
  HOMZ_TRY(check_buffers(needed, stream, scratch, stream_bytes));
  if (a.header.field.count() == 0) return copy_empty(a, stream, stream_bytes, exec);
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(a));
  const Encoding encoding = encoding_of(a.header);
  HOMZ_ASSIGN(const CodecParams params, arithmetic->with_step(encoding.params, 0));
  Combined combined;
  HOMZ_TRY(arithmetic->extremum(
      encoding, which, a, b, stream.subspan(StreamHeader::kBytes, needed.stream_bytes - StreamHeader::kBytes),
      scratch, &combined, exec));
  return finish(header_with(a, params, std::max(a.header.abs_error, b.header.abs_error)), combined, stream,
                stream_bytes);
}

// A stream's values, encoded like another stream with a step of its own.
Result<Compressed> encode_again(const OpenStream& stream, const OpenStream& like, CodecParams params,
                                double abs_error, Exec exec) {
  HOMZ_ASSIGN(Buffer data, Buffer::make(stream.header.field.bytes()));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(stream.scratch_bytes));
  HOMZ_TRY(decode_stream(stream, data.bytes(), scratch.bytes(), exec));
  Compression compression;
  compression.choice = {like.codec, params};
  compression.field = stream.header.field;
  compression.abs_error = abs_error;
  compression.requested = ErrorBound{BoundMode::absolute, abs_error};
  compression.fill_bits = stream.header.fill_bits;
  compression.big_endian_origin = stream.header.big_endian_origin;
  compression.always_coded = true;
  return compress_resolved(compression, data.bytes(), exec);
}

template <class F>
Result<Compressed> with_memory(std::span<const OpenStream> operands, Exec exec, F&& work) {
  HOMZ_TRY(require_host(exec));
  HOMZ_ASSIGN(const StreamFootprint needs, combination_footprint(operands, exec));
  Compressed result;
  HOMZ_ASSIGN(result.buffer, Buffer::make(needs.stream_bytes));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(needs.scratch_bytes));
  HOMZ_TRY(work(result.buffer.bytes(), scratch.bytes(), &result.bytes));
  return result;
}

// Every entry point: in the floating-point environment of homz, and without an exception.
template <class F>
auto enter(F&& body) noexcept {
  const FpEnvironment environment;
  return no_throw(body);
}

// Which operands must be encoded again, and with which one's step.
class Alignment {
 public:
  Alignment(const Registry& registry, Mismatch mismatch, Exec exec)
      : registry_(registry), mismatch_(mismatch), exec_(exec) {}

  // Replaces streams that do not fit.
  Status align(std::vector<OpenStream>& streams, std::vector<Compressed>& kept) {
    if (streams.empty()) return Status(Code::invalid_argument, "arithmetic on no stream at all");
    for (std::size_t i = 0; i < streams.size(); ++i)
      HOMZ_TRY(check_fields(streams[0].header, streams[i].header, i));
    if (streams[0].header.field.count() == 0) return Status();
    std::size_t leader = 0;
    while (leader < streams.size() && !is_coded(streams[leader])) ++leader;
    if (leader == streams.size()) {
      leader = 0;
      HOMZ_TRY(encode_leader(streams[0], kept));
    }
    HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(streams[leader]));
    const OpenStream first = streams[leader];
    HOMZ_ASSIGN(const double step, arithmetic->step(encoding_of(first.header), first.payload));
    HOMZ_ASSIGN(const CodecParams params, arithmetic->with_step(first.header.params, step));
    for (std::size_t i = 0; i < streams.size(); ++i) {
      HOMZ_ASSIGN(const bool fits, does_fit(*arithmetic, first, leader, step, streams[i], i));
      if (fits) continue;
      // Stored values and constants are exact: only what they are encoded with now counts.
      const double own = streams[i].header.abs_error;
      const bool is_exact = !is_coded(streams[i]);
      HOMZ_TRY(replace(streams[i], first, params, is_exact && own != 0 ? own : first.header.abs_error, kept));
      if (!is_exact) streams[i].header.abs_error = add_up(streams[i].header.abs_error, own);
    }
    return Status();
  }

 private:
  // All are constants or stored: the first one's bound gives the step.
  Status encode_leader(OpenStream& stream, std::vector<Compressed>& kept) {
    HOMZ_TRY(arithmetic_of(stream).status());
    if (stream.header.abs_error == 0)
      return Status(Code::unsupported,
                    "operand 1 is lossless: without an error bound there are no quanta to compute with");
    return replace(stream, stream, stream.header.params, stream.header.abs_error, kept);
  }

  Result<bool> does_fit(const CodecArithmetic& arithmetic, const OpenStream& first, std::size_t leader,
                        double step, const OpenStream& stream, std::size_t number) const {
    if (!is_coded(stream)) return false;
    const bool same_codec = stream.header.codec == first.header.codec;
    double own = 0;
    if (same_codec && arithmetic.alike(encoding_of(first.header), encoding_of(stream.header))) {
      HOMZ_ASSIGN(own, arithmetic.step(encoding_of(stream.header), stream.payload));
      if (own == step || mismatch_ == Mismatch::keep_steps) return true;
    }
    if (mismatch_ == Mismatch::requantise) return false;
    if (!same_codec)
      return Status(
          Code::invalid_argument,
          fmt::format("operands {} and {} are of codecs {} and {}: compress both with one, or ask for "
                      "requantisation",
                      leader + 1, number + 1, first.codec->info().name, stream.codec->info().name));
    if (own == 0)
      return Status(
          Code::invalid_argument,
          fmt::format("operands {} and {} have chunks of different shape: compress both with the same "
                      "option dim, or ask for requantisation",
                      leader + 1, number + 1));
    return Status(
        Code::invalid_argument,
        fmt::format("operand {} has steps of {} (bound {}), operand {} steps of {} (bound {}): compress "
                    "both with the option step={}, or ask for requantisation",
                    leader + 1, step, first.header.abs_error, number + 1, own, stream.header.abs_error,
                    step));
  }

  Status replace(OpenStream& stream, const OpenStream& like, const CodecParams& params, double bound,
                 std::vector<Compressed>& kept) const {
    HOMZ_ASSIGN(Compressed again, encode_again(stream, like, params, bound, exec_));
    kept.push_back(std::move(again));
    HOMZ_ASSIGN(stream, open_stream(registry_, kept.back().stream(), exec_));
    return Status();
  }

  const Registry& registry_;
  const Mismatch mismatch_;
  const Exec exec_;
};

}  // namespace

Result<CodedOperands> coded_alike(const Registry& registry, std::span<const ConstBytes> streams,
                                  Mismatch mismatch, Exec exec) {
  return no_throw([&]() -> Result<CodedOperands> {
    HOMZ_TRY(require_host(exec));
    CodedOperands operands;
    for (const ConstBytes each : streams) {
      HOMZ_ASSIGN(const OpenStream open, open_stream(registry, each, exec));
      operands.streams_.push_back(open);
    }
    HOMZ_TRY(Alignment(registry, mismatch, exec).align(operands.streams_, operands.kept_));
    return operands;
  });
}

Result<StreamFootprint> combination_footprint(std::span<const OpenStream> operands, Exec exec) {
  return enter([&] { return find_footprint(operands, exec); });
}

Status combine_streams(const Combination& combination, std::span<const OpenStream> operands, Bytes stream,
                       Bytes scratch, std::uint64_t* stream_bytes, Exec exec) {
  return enter([&] { return combine_into(combination, operands, stream, scratch, stream_bytes, exec); });
}

Status extremum_of_streams(Extremum which, const OpenStream& a, const OpenStream& b, Bytes stream,
                           Bytes scratch, std::uint64_t* stream_bytes, Exec exec) {
  return enter([&] { return extremum_into(which, a, b, stream, scratch, stream_bytes, exec); });
}

Result<Moments> moments(const OpenStream& stream, Exec exec) {
  return enter([&]() -> Result<Moments> {
    HOMZ_TRY(require_host(exec));
    HOMZ_TRY(find_footprint({&stream, 1}, exec).status());
    HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(stream));
    if (stream.header.field.count() == 0) return Moments{};
    return arithmetic->moments(stream, exec);
  });
}

Result<double> dot(const OpenStream& a, const OpenStream& b, Exec exec) {
  return enter([&]() -> Result<double> {
    HOMZ_TRY(require_host(exec));
    const OpenStream operands[] = {a, b};
    HOMZ_TRY(find_footprint(operands, exec).status());
    HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(a));
    if (a.header.field.count() == 0) return 0.0;
    return arithmetic->dot(a, b, exec);
  });
}

Result<Compressed> combine(const Combination& combination, std::span<const OpenStream> operands, Exec exec) {
  return with_memory(operands, exec, [&](Bytes stream, Bytes scratch, std::uint64_t* bytes) {
    return combine_streams(combination, operands, stream, scratch, bytes, exec);
  });
}

Result<Compressed> extremum(Extremum which, const OpenStream& a, const OpenStream& b, Exec exec) {
  const OpenStream operands[] = {a, b};
  return with_memory(operands, exec, [&](Bytes stream, Bytes scratch, std::uint64_t* bytes) {
    return extremum_of_streams(which, a, b, stream, scratch, bytes, exec);
  });
}

}  // namespace homz
