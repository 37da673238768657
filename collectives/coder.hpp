// Encodes, decodes and combines pieces as payloads of one codec, all with the same parameters, which ranks
// have agreed on: so payloads travel without stream headers.
#pragma once

#include <span>
#include <vector>

#include "collectives/block.hpp"
#include "collectives/handling.hpp"
#include "core/codec.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

struct Coding {
  CodecChoice choice;
  Dtype dtype = Dtype::f32;
  double share = 0;               // error of an encoding, at most
  double step = 0;                // between quanta, if not 0 and the codec can be told
  bool combines = false;          // payloads are operands: always coded
  std::uint64_t piece_bytes = 0;  // of values, at most
  unsigned threads = 1;
  Processor* processor = nullptr;  // of the values
};

class Coder {
 public:
  // Messages are taken from the pool.
  static Result<Coder> make(const Coding& coding, BlockPool& pool);

  Dtype dtype() const { return coding_.dtype; }
  std::uint64_t capacity() const { return capacity_; }
  Processor& processor() const { return *coding_.processor; }
  Home home() const { return processor().home(); }
  Result<Values> room(std::uint64_t bytes) { return processor().room(bytes); }

  // What these return is used here at once; to be sent it must be made. On a GPU they enqueue, but wait for
  // operands that are still in the making.

  // Raw where the codec does not make it smaller, unless payloads are to be combined. `owner`, of the values,
  // is kept as long as need be; without one they stay until the block is made.
  Result<BlockPtr> encode(ConstBytes values, Values owner = {});
  Status decode(const BlockPtr& block, Bytes values);
  // Sum. All coded.
  Result<BlockPtr> sum(std::span<const BlockPtr> blocks, std::uint64_t bytes);
  Result<BlockPtr> extremum(Extremum which, const BlockPtr& a, const BlockPtr& b, std::uint64_t bytes);
  // The block plus values; `decoded` as in homomorphic/arithmetic.hpp.
  Result<BlockPtr> accumulate(const BlockPtr& block, ConstBytes values, Bytes decoded);

  // Whether frame and payload are there.
  Result<bool> is_made(const BlockPtr& block);
  Status finish(const BlockPtr& block);  // waits for that
  // Nothing is under way any more.
  Result<bool> is_settled();
  Status settle();

  Times times() const { return *times_; }

 private:
  // A block that a GPU works on.
  class Stopwatch;
  struct Making {
    BlockPtr block = {};
    WorkPtr work = {};
    bool order_matters = false;
    ConstBytes values = {};  // what it is encoded from, and their owner
    Values owner = {};
    bool is_raw = false;
  };

  // Bytes of the values as they are coded; `values` filled up with zeros so far, in tail_ if need be.
  std::uint64_t padded(std::uint64_t bytes) const;
  Result<ConstBytes> pad(ConstBytes values);
  Result<BlockPtr> raw_block(ConstBytes values);  // a copy
  Status store_raw(Making& making);
  Status store_coded(const Making& making);
  Result<bool> advance(Making& making);
  Encoding encoding(std::uint64_t bytes) const;
  Result<OpenStream> open(const BlockPtr& block, std::uint64_t bytes);
  // Zeros that kernels want in front of the scratch, by the Footprint that needs() tells; the host wants
  // none.
  template <class Needs>
  Result<std::uint64_t> zeros_of(Needs&& needs);
  // A message with the payload that `work(payload, report)` enqueues or makes, raw if need be.
  template <class Make>
  Result<BlockPtr> make_payload(Making making, double Times::*time, std::uint64_t zeros, Make&& make);
  Result<WorkPtr> commit(double Times::*time);
  Status collect();
  Status check_coded(const Block& block) const;
  Status settled(Status status);
  Exec exec() const { return coding_.processor->exec(coding_.threads); }

  Coding coding_;
  CodecParams params_{};
  const CodecArithmetic* arithmetic_ = nullptr;
  std::uint64_t capacity_ = 0;
  Values scratch_, tail_;  // memory that is kept from call to call
  BlockPool* pool_ = nullptr;
  std::vector<Making> making_;
  std::vector<WorkPtr> works_;  // of which it is not known yet whether they went well
  std::shared_ptr<Times> times_ = std::make_shared<Times>();
};

}  // namespace homz
