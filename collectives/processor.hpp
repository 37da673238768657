// Where the values of a call live, and what works on them there: the host, or a GPU, whose messages are in
// pinned memory of the host, so that only what is compressed crosses the bus.
//
// All is done when a function returns, but for what codecs enqueue between report() and take(), or settle().
#pragma once

#include <memory>

#include "collectives/block.hpp"
#include "collectives/request.hpp"
#include "core/exec.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

// Memory for values; it comes back when nobody holds it any more.
struct Values {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  explicit operator bool() const { return owner != nullptr; }
  void reset() { *this = Values{}; }
};

class Processor {
 public:
  virtual ~Processor() = default;
  virtual Space space() const noexcept = 0;
  // For codecs, on so many threads.
  virtual Exec exec(unsigned threads) noexcept = 0;

  // ---- Values

  virtual Result<Values> room(std::uint64_t bytes) = 0;
  // `to` is as long, or longer. Either may be in a message.
  virtual Status copy(ConstBytes from, Bytes to) = 0;
  virtual Status zero(Bytes values) = 0;  // on a GPU: in front of what is enqueued later
  // to[i] = left[i] op right[i]; `to` may be one of them, or in a message.
  virtual Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) = 0;
  virtual Status divide(Dtype dtype, Bytes values, int ranks) = 0;
  // Of all finite values; 0 if there are none.
  virtual Result<double> largest_magnitude(Dtype dtype, ConstBytes values) = 0;

  // ---- Payloads, as codecs read and write them

  // Where they write what they report; cleared.
  virtual Combined* report() = 0;
  // Where they write the payload of a message.
  virtual Result<Bytes> output(Block& message) = 0;
  // The payload of a message, to be read until take() or settle().
  virtual Result<ConstBytes> input(const Block& message) = 0;
  // Waits for the report, and for the payload to be in the message.
  virtual Result<Combined> take(Block& message) = 0;
  // Waits. Error: what a codec has found wrong.
  virtual Status settle() = 0;
};

std::unique_ptr<Processor> host_processor();
// Of the current GPU. Errors: unsupported, in a build without CUDA and on a machine without a GPU.
Result<std::unique_ptr<Processor>> gpu_processor();

}  // namespace homz
