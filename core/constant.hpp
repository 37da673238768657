// The representation `constant`: fields whose values are all the same, bit for bit, apart from fill values.
// Every codec gets it from the stream layer, so a field of zeros or one that is all mask costs a header and a
// few bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

std::uint64_t constant_scratch(std::uint64_t count);

// True, with the payload and its size written, if the field is constant and its payload no larger than its
// data. Gives up at the first difference, so other fields cost next to nothing. payload.size() >=
// data.size().
bool encode_constant(const Field& field, std::optional<std::uint64_t> fill_bits, ConstBytes data,
                     Bytes payload, Bytes scratch, std::uint64_t* payload_bytes, unsigned threads);

// Errors: corrupt_stream.
Status decode_constant(const Field& field, std::optional<std::uint64_t> fill_bits, ConstBytes payload,
                       Bytes data, unsigned threads);

}  // namespace homz
