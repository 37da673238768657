// The header of a result in device memory: completed there, when its payload is known.
#pragma once

#include "core/stream.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

// What the codec tells of a result, in scratch.
struct ResultLedger {
  Combined combined;
  std::uint32_t fault = 0;
};
inline ResultLedger* take_ledger(Arena& arena) {  // in front of the codec's scratch
  return arena.take<ResultLedger>(1);
}

struct ResultTask {
  StreamHeader header;  // complete, but for the bound and what the ledger tells
  double bound = 0;     // of the sum of the operands
  double scale = 1;
};

#if HOMZ_CUDA
// `ledger` is nullptr for a field without values, whose header is complete. A stream that must not be used
// (fault not 0) has *stream_bytes 0 and no header.
Status write_result(const ResultTask& task, const ResultLedger* ledger, Bytes stream,
                    std::uint64_t* stream_bytes, Exec exec);
#else
// Nobody comes here without a device.
inline Status write_result(const ResultTask&, const ResultLedger*, Bytes, std::uint64_t*, Exec) {
  return Status(Code::unsupported, "this build of homz has no CUDA");
}
#endif

}  // namespace homz
