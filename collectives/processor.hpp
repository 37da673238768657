// Where the values of a call live, and what works on them there: the host, or a GPU.
//
// On the host all is done when a function returns. On a GPU it is enqueued, and done in that order; commit()
// ends what belongs together, and tells when it is done. Messages of a GPU are in its memory where the
// transport moves them from there, else in pinned memory of the host, so that only what is compressed crosses
// the bus.
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

// What was enqueued up to a commit().
struct Work {
  bool is_done = false;
  Combined report;  // of what is done
  Status status;    // what a codec has found wrong by then
};
using WorkPtr = std::shared_ptr<const Work>;

class Processor {
 public:
  virtual ~Processor() = default;
  virtual Space space() const noexcept = 0;
  virtual Home home() const noexcept = 0;  // of messages
  // For codecs, on so many threads.
  virtual Exec exec(unsigned threads) noexcept = 0;

  // ---- Values

  virtual Result<Values> room(std::uint64_t bytes) = 0;
  // `to` is as long, or longer. Either may be in a message, which is then held.
  virtual Status copy(ConstBytes from, Bytes to) = 0;
  // Rows that begin `stride` bytes apart, one behind the other.
  virtual Status copy_rows(const std::byte* from, std::uint64_t stride, std::uint64_t row_bytes,
                           std::uint64_t rows, Bytes to) = 0;
  virtual Status zero(Bytes values) = 0;
  // to[i] = left[i] op right[i]; `to` may be one of them, or in a message.
  virtual Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) = 0;
  virtual Status divide(Dtype dtype, Bytes values, int ranks) = 0;
  // Of all finite values; 0 if there are none. What was sought last is there when the other one returns.
  virtual Status seek_magnitude(Dtype dtype, ConstBytes values) = 0;
  virtual Result<double> largest_magnitude() = 0;

  // ---- Payloads, as codecs read and write them

  // Where they write what they report, up to the next commit(); cleared.
  virtual Result<Combined*> report() = 0;
  // Where they write the payload of a message. It is there when what is committed next is done.
  virtual Result<Bytes> output(const BlockPtr& message) = 0;
  // The payload of a message, to be read by what is committed next.
  virtual Result<ConstBytes> input(const BlockPtr& message) = 0;
  // What is committed next uses the message.
  virtual void hold(const BlockPtr& message) = 0;

  // ---- Order and time

  // What is enqueued from now on comes after what is on that stream.
  virtual Status follow(CUstream_st* stream) = 0;
  // Seconds that the work takes are added to *seconds when it is done.
  virtual Result<WorkPtr> commit(std::shared_ptr<double> seconds) = 0;
  // Sees what is done. Error: the GPU is lost; then nothing is under way any more.
  virtual Status poll() = 0;
  virtual bool is_idle() const = 0;  // nothing that was committed is under way
  // Waits for all.
  virtual Status settle() = 0;
};

std::unique_ptr<Processor> host_processor();
// Of the current GPU; messages have that home. Errors: unsupported, in a build without CUDA and on a machine
// without a GPU.
Result<std::unique_ptr<Processor>> gpu_processor(Home home);

}  // namespace homz
