// Arithmetic on streams that does not decode them. docs/homomorphic.md tells the algebra and the errors.
//
// Operands are coded streams of one codec that has arithmetic (homcomp, cuszp, cuszp2), of one field, type,
// fill value and step. The functions refuse others and name what differs; `coded_alike` makes them go
// together.
//
// Streams of homcomp may be in device memory, too. Functions that take the caller's memory then only enqueue,
// as those of core/stream.hpp do: *stream_bytes is in memory that the device can write, and 0 where something
// is wrong: *exec.fault tells what (invalid_argument: steps that differ). Those that give numbers wait for
// exec.stream, and tell what is wrong as a status; *exec.fault is not touched.
#pragma once

#include <cstdint>
#include <span>

#include "core/compress.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

// ---- With the caller's memory: nothing is allocated, buffers as for encode_stream. Results are coded
// streams whose bound is that of the operands' bounds: each value is as far from the exact result.

Result<StreamFootprint> combination_footprint(std::span<const OpenStream> operands, Exec exec);

// Bound: the sum of |factor| times the operand's bound, plus what the shift misses a multiple of the step by,
// all times the scale. (On top comes the rounding of values to their type, as when they are decoded.) Errors:
// invalid_argument, capacity, corrupt_stream, unsupported.
Status combine_streams(const Combination& combination, std::span<const OpenStream> operands, Bytes stream,
                       Bytes scratch, std::uint64_t* stream_bytes, Exec exec);

// Value by value the lesser or the greater. Footprint: that of a combination of both. Bound: the larger one.
Status extremum_of_streams(Extremum which, const OpenStream& a, const OpenStream& b, Bytes stream,
                           Bytes scratch, std::uint64_t* stream_bytes, Exec exec);

// The stream plus the values of `data`, in one pass over both: the values are quantised with the stream's
// step, each within `abs_error`, and added; nothing is encoded in between. `decoded`, if it is not empty,
// gets what the result decodes to: then the last step of a reduction needs no other pass. It may be `data`
// itself. Footprint: that of a combination of the stream alone. Bound: the stream's plus abs_error.
Status accumulate(const OpenStream& stream, ConstBytes data, double abs_error, Bytes result, Bytes decoded,
                  Bytes scratch, std::uint64_t* result_bytes, Exec exec);

// ---- With memory from the heap: on the host

// What to do with operands whose quanta do not fit the first one's.
enum class Mismatch : std::uint8_t {
  refuse,
  requantise,  // decode and encode again, with the first one's step: its bound comes on top
  keep_steps,  // steps may differ, as far as dot() is concerned
};

// The streams as operands: stored and constant ones, and, if asked for, those of another step, are encoded
// with the step of the first coded one; whose memory is kept here.
class CodedOperands {
 public:
  std::span<const OpenStream> streams() const noexcept { return streams_; }

 private:
  friend Result<CodedOperands> coded_alike(const Registry&, std::span<const ConstBytes>, Mismatch, Exec);
  std::vector<OpenStream> streams_;
  std::vector<Compressed> kept_;
};
// The streams must outlive the operands.
Result<CodedOperands> coded_alike(const Registry& registry, std::span<const ConstBytes> streams,
                                  Mismatch mismatch, Exec exec);

Result<Compressed> combine(const Combination& combination, std::span<const OpenStream> operands, Exec exec);
Result<Compressed> extremum(Extremum which, const OpenStream& a, const OpenStream& b, Exec exec);

// ---- To numbers. Each is that of the quanta times the step: of the decoded values but for their last
// rounding. The same bits on host and device. There 16 bytes of the GPU's memory are taken for each 4096
// values of an operand, and chunks that hold values without quanta come to the host, in their groups of 64.

// Error of sum: count times the bound; of mean, deviation, min, max: the bound; of norm: sqrt(count) times
// the bound.
Result<Moments> moments(const OpenStream& stream, Exec exec);
// The sum of the products. The steps may differ. Values that are fill in one of them do not count.
Result<double> dot(const OpenStream& a, const OpenStream& b, Exec exec);

}  // namespace homz
