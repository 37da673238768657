// What arithmetic asks of its operands.
#pragma once

#include <span>

#include "homomorphic/codec_arithmetic.hpp"

namespace homz::operands {

Encoding encoding_of(const StreamHeader& header);
bool is_coded(const OpenStream& stream);

// What no encoding can mend: shape, type, fill value, byte order.
Status check_fields(const StreamHeader& first, const StreamHeader& other, std::size_t number);
// All that must be the same but for the step.
Status check(std::span<const OpenStream> operands, Exec exec);

// The payloads that their codec does not verify when it reads them.
Status verify(std::span<const OpenStream> operands, Exec exec);

Result<const CodecArithmetic*> arithmetic_of(const OpenStream& stream);

}  // namespace homz::operands
