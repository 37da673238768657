// What a codec can compute on its payloads. One constant object a codec, listed in homomorphic/table.cpp.
#pragma once

#include <span>

#include "core/stream.hpp"
#include "homomorphic/moments.hpp"

namespace homz {

// scale * (factors[0] x[0] + factors[1] x[1] + ... + shift), value by value.
struct Combination {
  std::span<const std::int32_t> factors;  // one an operand, at least one; |.| adds up to less than 2^32
  double shift = 0;                       // in units of the data; to the nearest multiple of the step
  double scale = 1;                       // above 0; changes the step
};

enum class Extremum : std::uint8_t { least, greatest };

// A payload that was computed.
struct Combined {
  Encoded encoded;
  bool order_matters = false;  // it has values that are not quanta
  double missed = 0;           // on a device: what the shift misses a multiple of the step by
};

// Operands are coded streams of one encoding but for its bound; they may be hostile. Buffers as in Codec.
// Quanta add up exactly; where they leave their range, the value is stored exactly. Values that are stored
// exactly are computed with in their type, operand by operand. A value that is fill in one operand is fill.
class CodecArithmetic {
 public:
  virtual ~CodecArithmetic() = default;
  virtual CodecId codec() const noexcept = 0;

  // Streams go together if their steps are equal, and if they are laid out alike.
  virtual Result<double> step(const OpenStream& stream) const = 0;
  virtual bool alike(const OpenStream& a, const OpenStream& b) const noexcept = 0;

  // The parameters that make the codec take this step.
  virtual Result<CodecParams> with_step(const CodecParams& params, double step) const = 0;
  // Those that make it encode with the step and the layout of a stream.
  virtual Result<CodecParams> params_like(const OpenStream& stream) const = 0;
  // Those of what is computed from a stream, whose step is scaled. On a device no payload is read.
  virtual Result<CodecParams> params_of_result(const OpenStream& stream, double scale) const = 0;

  // max_payload and encode_scratch, for this many operands.
  virtual Result<Footprint> footprint(const Encoding& encoding, std::size_t operands, Exec exec) const = 0;

  // Whether it does all this on GPUs too. There *combined is in memory that the device can write, and what is
  // wrong with operands, steps that differ included, goes to *exec.fault, if there is one; but numbers are
  // waited for, and have a status.
  virtual bool on_device() const noexcept { return false; }

  virtual Status combine(const Encoding& encoding, const Combination& combination,
                         std::span<const OpenStream> operands, Bytes payload, Bytes scratch,
                         Combined* combined, Exec exec) const = 0;
  // Value by value of two payloads; NaN if one of them is.
  virtual Status extremum(const Encoding& encoding, Extremum which, const OpenStream& a, const OpenStream& b,
                          Bytes payload, Bytes scratch, Combined* combined, Exec exec) const = 0;

  // The stream plus values, which are quantised within encoding.abs_error. `decoded`, if it is not empty,
  // gets what the result decodes to; it may be the data itself.
  virtual Status accumulate(const Encoding& encoding, const OpenStream& stream, ConstBytes data,
                            Bytes payload, Bytes decoded, Bytes scratch, Combined* combined,
                            Exec exec) const = 0;

  virtual Result<Moments> moments(const OpenStream& stream, Exec exec) const = 0;
  // Their steps may differ.
  virtual Result<double> dot(const OpenStream& a, const OpenStream& b, Exec exec) const = 0;
};

// nullptr if the codec has none: decode, compute, encode.
const CodecArithmetic* find_arithmetic(CodecId codec) noexcept;

}  // namespace homz
