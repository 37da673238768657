#include "homomorphic/arithmetic.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/canary.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"
#include "homomorphic/bounds.hpp"
#include "homomorphic/device_result.hpp"
#include "homomorphic/linear.hpp"
#include "homomorphic/operands.hpp"

namespace homz {
namespace {

using namespace operands;

template <class T>
Status check_in_type(const Combination& combination, Dtype dtype) {
  const double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  if (combination.scale < least || combination.scale > most)
    return Status(Code::unsupported,
                  fmt::format("a scale of {} is no normal number of type {}: give one from {} to {}",
                              combination.scale, to_string(dtype), least, most));
  if (std::abs(combination.shift) > most)
    return Status(Code::unsupported,
                  fmt::format("a shift of {} is no number of type {}: give one of at most {}",
                              combination.shift, to_string(dtype), most));
  return Status();
}

Status check_combination(const Combination& combination, std::size_t operands, Dtype dtype) {
  if (combination.factors.size() != operands)
    return Status(Code::invalid_argument,
                  fmt::format("{} factors for {} streams", combination.factors.size(), operands));
  std::uint64_t sum = 0;
  for (const std::int32_t factor : combination.factors)
    sum += static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(factor)));
  if (sum >> 32 != 0)  // below it, sums of quanta fit 64 bits whatever is in the streams
    return Status(Code::invalid_argument, "the magnitudes of all factors add up to 2^32 or more");
  if (!std::isfinite(combination.shift))
    return Status(Code::invalid_argument, fmt::format("a shift of {}", combination.shift));
  if (!(combination.scale > 0) || !std::isfinite(combination.scale))
    return Status(
        Code::invalid_argument,
        fmt::format("a scale of {}: must be above 0 (a factor of -1 changes the sign)", combination.scale));
  return with_dtype(dtype, [&](auto zero) { return check_in_type<decltype(zero)>(combination, dtype); });
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

Status check_buffers(const StreamFootprint& needed, std::span<const OpenStream> operands, ConstBytes stream,
                     ConstBytes scratch, const std::uint64_t* stream_bytes) {
  bool do_overlap = overlap(stream, scratch);
  for (const OpenStream& each : operands)
    do_overlap |= overlap(stream, each.payload) || overlap(scratch, each.payload);
  if (do_overlap)
    return Status(Code::invalid_argument,
                  "operands, result and scratch buffers overlap; give separate memory");
  if (stream_bytes == nullptr)
    return Status(Code::invalid_argument, "no place was given for the size of the stream");
  if (stream.size() < needed.stream_bytes || scratch.size() < needed.scratch_bytes)
    return Status(Code::capacity,
                  fmt::format("stream and scratch buffers have {} and {} bytes, {} and {} are "
                              "needed",
                              stream.size(), scratch.size(), needed.stream_bytes, needed.scratch_bytes));
  return Status();
}

// The decoded values may take the place of those that are added, but no other's.
Status check_apart(const OpenStream& stream, ConstBytes data, ConstBytes result, ConstBytes decoded,
                   ConstBytes scratch) {
  const bool in_place = decoded.data() == data.data();
  if (overlap(data, result) || overlap(data, scratch) || overlap(decoded, result) ||
      overlap(decoded, scratch) || overlap(decoded, stream.payload) || (overlap(decoded, data) && !in_place))
    return Status(Code::invalid_argument,
                  "buffers overlap; give separate memory (decoded values may take the place of the data)");
  return Status();
}

Status check_space(const CodecArithmetic& arithmetic, const OpenStream& operand, Exec exec) {
  if (exec.space == Space::host || arithmetic.on_device()) return Status();
  return Status(
      Code::unsupported,
      fmt::format("streams of {} are computed with on the host only: copy them there, or decode them "
                  "and compute with the values, or compress with homcomp",
                  operand.codec->info().name));
}

Result<StreamFootprint> find_footprint(std::span<const OpenStream> operands, Exec exec) {
  if (exec.space == Space::device) HOMZ_TRY(gpu::ready());
  if (operands.empty()) return Status(Code::invalid_argument, "arithmetic on no stream at all");
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(operands[0]));
  HOMZ_TRY(check_space(*arithmetic, operands[0], exec));
  HOMZ_TRY(check(operands, exec));
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

// Coded streams have a bound above 0, even one of zeros.
double at_least_positive(double bound) {
  return std::max(bound, std::numeric_limits<double>::denorm_min());
}

Status infinite_bound() {
  return Status(Code::unsupported,
                "the bound of the result is not finite: give smaller factors, or a smaller scale");
}

Status combine_into(const Combination& combination, std::span<const OpenStream> operands, Bytes stream,
                    Bytes scratch, std::uint64_t* stream_bytes, Exec exec) {
  HOMZ_TRY(check_arithmetic());
  HOMZ_TRY(verify(operands, exec));
  HOMZ_ASSIGN(const StreamFootprint needed, find_footprint(operands, exec));
  HOMZ_TRY(check_buffers(needed, operands, stream, scratch, stream_bytes));
  HOMZ_TRY(check_combination(combination, operands.size(), operands[0].header.field.dtype));
  if (operands[0].header.field.count() == 0) return copy_empty(operands[0], stream, stream_bytes, exec);
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(operands[0]));
  const Encoding encoding = encoding_of(operands[0].header);
  HOMZ_ASSIGN(const CodecParams params, arithmetic->params_of_result(operands[0], combination.scale));
  double bound = at_least_positive(bound_of_sum(combination, operands));
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
  HOMZ_ASSIGN(const double step, arithmetic->step(operands[0]));
  const double missed = missed_by(combination.shift, std::nearbyint(combination.shift / step), step);
  bound = at_least_positive(multiply_up(add_up(bound, missed), combination.scale));
  if (!std::isfinite(bound)) return infinite_bound();
  Combined combined;
  HOMZ_TRY(arithmetic->combine(encoding, combination, operands, payload, scratch, &combined, exec));
  return finish(header_with(operands[0], params, bound), combined, stream, stream_bytes);
}

Status extremum_into(Extremum which, const OpenStream& a, const OpenStream& b, Bytes stream, Bytes scratch,
                     std::uint64_t* stream_bytes, Exec exec) {
  HOMZ_TRY(check_arithmetic());
  const OpenStream operands[] = {a, b};
  HOMZ_TRY(verify(operands, exec));
  HOMZ_ASSIGN(const StreamFootprint needed, find_footprint(operands, exec));
  HOMZ_TRY(check_buffers(needed, operands, stream, scratch, stream_bytes));
  if (a.header.field.count() == 0) return copy_empty(a, stream, stream_bytes, exec);
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(a));
  const Encoding encoding = encoding_of(a.header);
  HOMZ_ASSIGN(const CodecParams params, arithmetic->params_of_result(a, 1));
  const double bound = std::max(a.header.abs_error, b.header.abs_error);
  const Bytes payload = stream.subspan(StreamHeader::kBytes, needed.stream_bytes - StreamHeader::kBytes);
  if (exec.space == Space::device) {
    Arena arena(scratch);
    ResultLedger* const ledger = take_ledger(arena);
    HOMZ_TRY(arithmetic->extremum(encoding, which, a, b, payload, arena.rest(), &ledger->combined,
                                  device(exec.stream, &ledger->fault)));
    return write_result({header_with(a, params, bound), bound, 1}, ledger, stream, stream_bytes, exec);
  }
  Combined combined;
  HOMZ_TRY(arithmetic->extremum(encoding, which, a, b, payload, scratch, &combined, exec));
  return finish(header_with(a, params, bound), combined, stream, stream_bytes);
}

Status check_values(const Field& field, ConstBytes data, ConstBytes decoded, double abs_error) {
  if (data.size() != field.bytes() || (!decoded.empty() && decoded.size() != field.bytes()))
    return Status(Code::invalid_argument,
                  fmt::format("{} of {} are {} bytes; the buffers have {} and {}", field.shape_text(),
                              to_string(field.dtype), field.bytes(), data.size(), decoded.size()));
  if (!(abs_error > 0) || !std::isfinite(abs_error))
    return Status(Code::invalid_argument, fmt::format("an error bound of {}: must be above 0", abs_error));
  return Status();
}

Status accumulate_into(const OpenStream& stream, ConstBytes data, double abs_error, Bytes result,
                       Bytes decoded, Bytes scratch, std::uint64_t* result_bytes, Exec exec) {
  HOMZ_TRY(check_arithmetic());
  HOMZ_TRY(verify({&stream, 1}, exec));
  HOMZ_ASSIGN(const StreamFootprint needed, find_footprint({&stream, 1}, exec));
  HOMZ_TRY(check_buffers(needed, {&stream, 1}, result, scratch, result_bytes));
  HOMZ_TRY(check_values(stream.header.field, data, decoded, abs_error));
  HOMZ_TRY(check_apart(stream, data, result, decoded, scratch));
  if (data.empty()) return copy_empty(stream, result, result_bytes, exec);
  HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(stream));
  Encoding encoding = encoding_of(stream.header);
  encoding.abs_error = abs_error;
  HOMZ_ASSIGN(const CodecParams params, arithmetic->params_of_result(stream, 1));
  const double bound = add_up(stream.header.abs_error, abs_error);
  if (!std::isfinite(bound)) return infinite_bound();
  const Bytes payload = result.subspan(StreamHeader::kBytes, needed.stream_bytes - StreamHeader::kBytes);
  if (exec.space == Space::device) {
    Arena arena(scratch);
    ResultLedger* const ledger = take_ledger(arena);
    HOMZ_TRY(arithmetic->accumulate(encoding, stream, data, payload, decoded, arena.rest(), &ledger->combined,
                                    device(exec.stream, &ledger->fault)));
    return write_result({header_with(stream, params, bound), bound, 1}, ledger, result, result_bytes, exec);
  }
  Combined combined;
  HOMZ_TRY(arithmetic->accumulate(encoding, stream, data, payload, decoded, scratch, &combined, exec));
  return finish(header_with(stream, params, bound), combined, result, result_bytes);
}

// All NaN are one, whatever the machine computes; and a norm is NaN where a value is, beside infinities, too.
Moments with_one_nan(Moments moments) {
  if (std::isnan(moments.min)) moments.norm = moments.min;
  for (double* each : {&moments.sum, &moments.mean, &moments.variance, &moments.deviation, &moments.norm,
                       &moments.min, &moments.max})
    *each = any_nan_alike(*each);
  return moments;
}

template <class F>
Result<Compressed> with_memory(std::span<const OpenStream> operands, Exec exec, F&& work) {
  if (exec.space != Space::host)
    return Status(Code::unsupported,
                  "on a GPU a stream is computed in the caller's memory: use combine_streams or "
                  "extremum_of_streams");
  HOMZ_ASSIGN(const StreamFootprint needs, combination_footprint(operands, exec));
  Compressed result;
  HOMZ_ASSIGN(result.buffer, Buffer::make(needs.stream_bytes));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(needs.scratch_bytes));
  HOMZ_TRY(work(result.buffer.bytes(), scratch.bytes(), &result.bytes));
  return result;
}

}  // namespace

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

Status accumulate(const OpenStream& stream, ConstBytes data, double abs_error, Bytes result, Bytes decoded,
                  Bytes scratch, std::uint64_t* result_bytes, Exec exec) {
  return enter(
      [&] { return accumulate_into(stream, data, abs_error, result, decoded, scratch, result_bytes, exec); });
}

Result<Moments> moments(const OpenStream& stream, Exec exec) {
  return enter([&]() -> Result<Moments> {
    HOMZ_TRY(verify({&stream, 1}, exec));
    HOMZ_TRY(find_footprint({&stream, 1}, exec).status());
    HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(stream));
    if (stream.header.field.count() == 0) return Moments{};
    HOMZ_ASSIGN(const Moments moments, arithmetic->moments(stream, exec));
    return with_one_nan(moments);
  });
}

Result<double> dot(const OpenStream& a, const OpenStream& b, Exec exec) {
  return enter([&]() -> Result<double> {
    const OpenStream operands[] = {a, b};
    HOMZ_TRY(verify(operands, exec));
    HOMZ_TRY(find_footprint(operands, exec).status());
    HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(a));
    if (a.header.field.count() == 0) return 0.0;
    HOMZ_ASSIGN(const double product, arithmetic->dot(a, b, exec));
    return any_nan_alike(product);
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
