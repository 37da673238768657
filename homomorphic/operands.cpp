#include "homomorphic/operands.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"

namespace homz::operands {
namespace {

std::string text_of(const StreamHeader& header) {
  return fmt::format("{} of {}", header.field.shape_text(), to_string(header.field.dtype));
}

Status differ(const char* what, const std::string& first, const std::string& other, std::size_t number,
              const std::string& remedy) {
  return Status(Code::invalid_argument, fmt::format("operand 1 has {0} {1}, operand {2} has {0} {3}: {4}",
                                                    what, first, number + 1, other, remedy));
}

std::string fill_text(const StreamHeader& header) {
  if (!header.fill_bits) return "none";
  return with_dtype(header.field.dtype, [&](auto zero) {
    return fmt::format("{}",
                       value_of<decltype(zero)>(static_cast<BitsOf<decltype(zero)>>(*header.fill_bits)));
  });
}

}  // namespace

Encoding encoding_of(const StreamHeader& header) {
  return Encoding{header.field, header.abs_error, header.fill_bits, header.params, true};
}

Status check_fields(const StreamHeader& first, const StreamHeader& other, std::size_t number) {
  if (first.field != other.field)
    return differ("the shape", text_of(first), text_of(other), number,
                  "compress both with the same --shape and --type");
  if (first.fill_bits != other.fill_bits)
    return differ("the fill value", fill_text(first), fill_text(other), number,
                  "compress both with --fill " + fill_text(first.fill_bits ? first : other));
  if (first.big_endian_origin != other.big_endian_origin)
    return differ("the byte order", first.big_endian_origin ? "big-endian" : "little-endian",
                  other.big_endian_origin ? "big-endian" : "little-endian", number,
                  "compress both with the same --type");
  return Status();
}

Result<const CodecArithmetic*> arithmetic_of(const OpenStream& stream) {
  const CodecArithmetic* const arithmetic = find_arithmetic(stream.header.codec);
  if (arithmetic != nullptr) return arithmetic;
  return Status(
      Code::unsupported,
      fmt::format(
          "streams of codec {} cannot be computed with: compress with homcomp or cuszp2, or decompress",
          stream.codec == nullptr ? "unknown" : stream.codec->info().name));
}

bool is_coded(const OpenStream& stream) {
  return stream.header.representation == Representation::coded;
}

Status verify(std::span<const OpenStream> operands, Exec exec) {
  for (const OpenStream& each : operands)
    if (exec.space == Space::host && each.codec != nullptr && is_coded(each) && !each.codec->verifies())
      HOMZ_TRY(verify_payload(each, exec));
  return Status();
}

Status check(std::span<const OpenStream> operands, Exec exec) {
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
                    std::string(operands[i].codec->info().name), i,
                    "compress both with one, or let coded_alike() requantise them");
    if (arithmetic->alike(operands[0], operands[i])) continue;
    HOMZ_TRY(verify(operands, exec));  // damage can look like another layout
    return Status(
        Code::invalid_argument,
        fmt::format("operand 1 and operand {} are laid out differently: coded_alike() tells how, or "
                    "requantises them",
                    i + 1));
  }
  return Status();
}

}  // namespace homz::operands
