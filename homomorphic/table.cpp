// The table of codecs that can be computed with: a line a codec.
#include <iterator>

#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/cuszp/cuszp_arithmetic.hpp"
#include "homomorphic/homcomp/homcomp_arithmetic.hpp"

namespace homz {

const CodecArithmetic* find_arithmetic(CodecId codec) noexcept {
  static const CodecArithmetic* const kTable[] = {homcomp_arithmetic(), cuszp_arithmetic(),
                                                  cuszp2_arithmetic()};
  for (const CodecArithmetic* each : kTable)
    if (each->codec() == codec) return each;
  return nullptr;
}

}  // namespace homz
