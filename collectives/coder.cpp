#include "collectives/coder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/checksum.hpp"

namespace homz {
namespace {

constexpr std::size_t kOperands = 32;  // that are combined at once, on GPUs too; more take several passes

// A few values are stored as they are where that takes fewer bytes than quanta, and then add up as floats, in
// an order that depends on the algorithm. So the last chunk of what is combined has at least so many values.
constexpr std::uint64_t kChunk = 4096, kLeast = 256;

}  // namespace

// Of work of the host.
class Coder::Stopwatch {
 public:
  Stopwatch(Coder& coder, double Times::*time)
      : total_(coder.processor().space() == Space::host ? &(coder.times_.get()->*time) : nullptr),
        start_(Clock::now()) {}
  ~Stopwatch() {
    if (total_ != nullptr) *total_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double* total_;
  Clock::time_point start_;
};

Result<Coder> Coder::make(const Coding& coding, BlockPool& pool) {
  Coder coder;
  coder.coding_ = coding;
  coder.pool_ = &pool;
  coder.params_ = coding.choice.params;
  coder.arithmetic_ = find_arithmetic(coding.choice.codec->info().id);
  if (coding.combines && (coder.arithmetic_ == nullptr || !coding.choice.codec->codes_all()))
    return Status(Code::unsupported,
                  fmt::format("codec {} has no arithmetic on its streams: choose homcomp, or a "
                              "scheme that decodes (ccoll, cprp2p)",
                              coding.choice.codec->info().name));
  // A step of their own would depend on the data: then values would move when they are encoded again.
  if (coder.arithmetic_ != nullptr && coding.step > 0) {
    HOMZ_ASSIGN(coder.params_, coder.arithmetic_->with_step(coding.choice.params, coding.step));
  }
  const std::uint64_t most = std::max(coder.padded(coding.piece_bytes), kLeast * size_of(coding.dtype));
  if (coding.combines) {
    HOMZ_ASSIGN(coder.tail_, coder.room(most));
  }
  const Encoding encoding = coder.encoding(most);
  HOMZ_ASSIGN(const Footprint codec, coding.choice.codec->footprint(encoding, coder.exec()));
  Footprint all = codec;
  if (coding.combines) {
    HOMZ_ASSIGN(const Footprint sums, coder.arithmetic_->footprint(encoding, kOperands, coder.exec()));
    all.max_payload = std::max(all.max_payload, sums.max_payload);
    all.encode_scratch = std::max(all.encode_scratch, sums.encode_scratch);
  }
  coder.capacity_ = std::max(all.max_payload, most);
  HOMZ_ASSIGN(coder.scratch_, coder.room(std::max(all.encode_scratch, all.decode_scratch)));
  return coder;
}

Encoding Coder::encoding(std::uint64_t bytes) const {
  Encoding encoding;
  encoding.field = Field::flat(coding_.dtype, bytes / size_of(coding_.dtype));
  encoding.abs_error = coding_.share;
  encoding.params = params_;
  encoding.always_coded = coding_.combines;
  return encoding;
}

std::uint64_t Coder::padded(std::uint64_t bytes) const {
  const std::uint64_t size = size_of(coding_.dtype), count = bytes / size, last = count % kChunk;
  return coding_.combines && last != 0 && last < kLeast ? (count - last + kLeast) * size : bytes;
}

Result<ConstBytes> Coder::pad(ConstBytes values) {
  const std::uint64_t bytes = padded(values.size());
  if (bytes == values.size()) return values;
  const Bytes tail = tail_.bytes.first(bytes);
  HOMZ_TRY(processor().zero(tail.subspan(values.size())));
  HOMZ_TRY(processor().copy(values, tail));
  return ConstBytes(tail);
}

// ---- Blocks that are made: on a GPU while others work

Result<BlockPtr> Coder::raw_block(ConstBytes values) {
  Making making{.values = values};
  HOMZ_ASSIGN(making.block, pool_->take(std::max<std::uint64_t>(capacity_, values.size()), home()));
  HOMZ_TRY(store_raw(making));
  HOMZ_ASSIGN(const bool is_made, advance(making));
  if (!is_made) making_.push_back(making);
  return making.block;
}

Status Coder::store_raw(Making& making) {
  Block& block = *making.block;
  block.frame.content = Content::raw;
  block.frame.payload_bytes = static_cast<std::uint32_t>(making.values.size());
  making.is_raw = true;
  HOMZ_ASSIGN(Combined* const report, processor().report());
  report->encoded.bytes = making.values.size();
  HOMZ_TRY(processor().copy(making.values, block.room()));
  processor().hold(making.block);
  HOMZ_ASSIGN(making.work, commit(&Times::encode));
  return Status();
}

Status Coder::store_coded(const Making& making) {
  Block& block = *making.block;
  const Combined& made = making.work->report;
  if (made.encoded.bytes > block.capacity())
    return Status(Code::internal, "a payload that is longer than its codec told");
  block.frame.content = Content::coded;
  block.frame.order_matters = making.order_matters || made.order_matters;
  block.frame.payload_bytes = static_cast<std::uint32_t>(made.encoded.bytes);
  return Status();
}

// True when the block is made.
Result<bool> Coder::advance(Making& making) {
  if (!making.work->is_done) return false;
  HOMZ_TRY(making.work->status);
  Block& block = *making.block;
  const Encoded& made = making.work->report.encoded;
  if (!making.is_raw && made.bytes == Codec::kIncompressible) {
    HOMZ_TRY(store_raw(making));
    return advance(making);
  }
  if (!making.is_raw) HOMZ_TRY(store_coded(making));
  if (block.home() == Home::device) return true;  // the host does not see the payload
  const Codec& codec = *coding_.choice.codec;
  const bool has_sums =
      !making.is_raw && (processor().space() == Space::device ? codec.sums_on_device() : codec.takes_sums());
  block.frame.has_checksum = true;
  block.frame.payload_checksum = has_sums ? made.sums.finish(made.bytes) : checksum(block.payload());
  return true;
}

Result<bool> Coder::is_made(const BlockPtr& block) {
  const auto making = std::ranges::find(making_, block, &Making::block);
  if (making == making_.end()) return true;
  HOMZ_TRY(processor().poll());
  HOMZ_ASSIGN(const bool is_made, advance(*making));
  if (is_made) making_.erase(making);
  return is_made;
}

Status Coder::finish(const BlockPtr& block) {
  while (true) {
    HOMZ_ASSIGN(const bool is_made, this->is_made(block));
    if (is_made) return Status();
    if (processor().is_idle()) return Status(Code::internal, "work on a message that was given up");
  }
}

// What is done went well, or is told.
Status Coder::collect() {
  for (const WorkPtr& work : works_)
    if (work->is_done) HOMZ_TRY(work->status);
  std::erase_if(works_, [](const WorkPtr& work) { return work->is_done; });
  return Status();
}

Result<bool> Coder::is_settled() {
  HOMZ_TRY(processor().poll());
  HOMZ_TRY(collect());
  return works_.empty() && processor().is_idle();
}

Status Coder::settle() {
  HOMZ_TRY(processor().settle());
  return collect();
}

// After an error nothing that was enqueued is under way any more.
Status Coder::settled(Status status) {
  if (!status.ok()) static_cast<void>(processor().settle());
  return status;
}

// Only GPUs tell how long they take: of the host, the caller's clock does.
Result<WorkPtr> Coder::commit(double Times::*time) {
  HOMZ_ASSIGN(WorkPtr work, processor().commit(std::shared_ptr<double>(times_, &(times_.get()->*time))));
  if (processor().space() == Space::host) return work;
  HOMZ_TRY(collect());
  works_.push_back(work);
  return work;
}

template <class Needs>
Result<std::uint64_t> Coder::zeros_of(Needs&& needs) {
  if (processor().space() == Space::host) return std::uint64_t{0};
  HOMZ_ASSIGN(const Footprint footprint, needs());
  return footprint.encode_zeros;
}

template <class Make>
Result<BlockPtr> Coder::make_payload(Making making, double Times::*time, std::uint64_t zeros, Make&& make) {
  std::erase_if(making_, [](const Making& each) { return each.block.use_count() == 1; });  // not wanted
  HOMZ_ASSIGN(making.block, pool_->take(capacity_, home()));
  HOMZ_ASSIGN(Combined* const report, processor().report());
  HOMZ_ASSIGN(const Bytes payload, processor().output(making.block));
  if (processor().space() == Space::device) HOMZ_TRY(processor().zero(scratch_.bytes.first(zeros)));
  HOMZ_TRY(settled(make(payload, report)));
  HOMZ_ASSIGN(making.work, commit(time));
  HOMZ_ASSIGN(const bool is_made, advance(making));
  if (!is_made) making_.push_back(making);
  return making.block;
}

Result<BlockPtr> Coder::encode(ConstBytes values, Values owner) {
  const Stopwatch watch(*this, &Times::encode);
  if (values.empty()) return raw_block(values);
  HOMZ_ASSIGN(const ConstBytes coded, pad(values));
  const Encoding how = encoding(coded.size());
  HOMZ_ASSIGN(const Footprint needs, coding_.choice.codec->footprint(how, exec()));
  return make_payload({.values = values, .owner = std::move(owner)}, &Times::encode, needs.encode_zeros,
                      [&](Bytes room, Combined* report) {
                        const Bytes payload = room.first(std::min(room.size(), needs.max_payload));
                        return coding_.choice.codec->encode(how, coded, payload, scratch_.bytes,
                                                            &report->encoded, exec());
                      });
}

Status Coder::decode(const BlockPtr& block, Bytes values) {
  const Stopwatch watch(*this, &Times::decode);
  HOMZ_TRY(finish(block));
  const Frame& frame = block->frame;
  if (frame.content == Content::raw) {
    if (frame.payload_bytes != values.size())
      return Status(Code::corrupt_stream, fmt::format("a message of {} bytes of values, {} are wanted",
                                                      frame.payload_bytes, values.size()));
    HOMZ_TRY(processor().copy(block->payload(), values));
    processor().hold(block);
    return commit(&Times::decode).status();
  }
  HOMZ_TRY(check_coded(*block));
  if (values.empty()) return Status(Code::corrupt_stream, "a message of coded values where there are none");
  const bool is_padded = padded(values.size()) != values.size();
  const Bytes to = is_padded ? tail_.bytes.first(padded(values.size())) : values;
  const Encoding how = encoding(to.size());
  HOMZ_ASSIGN(const Footprint needs, coding_.choice.codec->footprint(how, exec()));
  if (frame.payload_bytes < needs.min_payload || frame.payload_bytes > needs.max_payload)
    return Status(Code::corrupt_stream, fmt::format("a payload of {} bytes", frame.payload_bytes));
  HOMZ_ASSIGN(const ConstBytes payload, processor().input(block));
  if (processor().space() == Space::device)
    HOMZ_TRY(processor().zero(scratch_.bytes.first(needs.decode_zeros)));
  HOMZ_TRY(settled(coding_.choice.codec->decode(how, payload, to, scratch_.bytes, exec())));
  if (is_padded) HOMZ_TRY(processor().copy(to.first(values.size()), values));
  return commit(&Times::decode).status();
}

Status Coder::check_coded(const Block& block) const {
  if (block.frame.content == Content::coded) return Status();
  return Status(Code::corrupt_stream, "a message of other content than coded values");
}

Result<OpenStream> Coder::open(const BlockPtr& block, std::uint64_t bytes) {
  HOMZ_TRY(finish(block));
  HOMZ_TRY(check_coded(*block));
  const Encoding how = encoding(padded(bytes));
  OpenStream stream;
  stream.header.codec = coding_.choice.codec->info().id;
  stream.header.codec_version = coding_.choice.codec->info().version;
  stream.header.field = how.field;
  stream.header.abs_error = how.abs_error;
  stream.header.params = how.params;
  stream.header.payload_bytes = block->frame.payload_bytes;
  stream.header.payload_checksum = block->frame.payload_checksum;
  stream.header.order_matters = block->frame.order_matters;
  stream.codec = coding_.choice.codec;
  HOMZ_ASSIGN(stream.payload, processor().input(block));
  return stream;
}

Result<BlockPtr> Coder::sum(std::span<const BlockPtr> blocks, std::uint64_t bytes) {
  if (bytes == 0) return raw_block({});
  const Stopwatch watch(*this, &Times::combine);
  const Encoding how = encoding(padded(bytes));
  BlockPtr total;
  for (std::size_t first = 0; first < blocks.size();) {
    std::vector<OpenStream> operands;
    bool order_matters = false;
    const auto add = [&](const BlockPtr& block) -> Status {
      HOMZ_ASSIGN(operands.emplace_back(), open(block, bytes));
      order_matters |= block->frame.order_matters;
      return Status();
    };
    if (total) HOMZ_TRY(add(total));
    for (; first < blocks.size() && operands.size() < kOperands; ++first) HOMZ_TRY(add(blocks[first]));
    const std::vector<std::int32_t> ones(operands.size(), 1);
    HOMZ_ASSIGN(const std::uint64_t zeros,
                zeros_of([&] { return arithmetic_->footprint(how, operands.size(), exec()); }));
    HOMZ_ASSIGN(total, make_payload({.order_matters = order_matters}, &Times::combine, zeros,
                                    [&](Bytes payload, Combined* report) {
                                      return arithmetic_->combine(how, Combination{ones}, operands, payload,
                                                                  scratch_.bytes, report, exec());
                                    }));
  }
  return total;
}

Result<BlockPtr> Coder::extremum(Extremum which, const BlockPtr& a, const BlockPtr& b, std::uint64_t bytes) {
  if (bytes == 0) return raw_block({});
  const Stopwatch watch(*this, &Times::combine);
  HOMZ_ASSIGN(const OpenStream left, open(a, bytes));
  HOMZ_ASSIGN(const OpenStream right, open(b, bytes));
  const Encoding how = encoding(padded(bytes));
  HOMZ_ASSIGN(const std::uint64_t zeros, zeros_of([&] { return arithmetic_->footprint(how, 2, exec()); }));
  return make_payload({}, &Times::combine, zeros, [&](Bytes payload, Combined* report) {
    return arithmetic_->extremum(how, which, left, right, payload, scratch_.bytes, report, exec());
  });
}

Result<BlockPtr> Coder::accumulate(const BlockPtr& block, ConstBytes values, Bytes decoded) {
  if (values.empty()) return raw_block({});
  const Stopwatch watch(*this, &Times::combine);
  HOMZ_ASSIGN(const OpenStream stream, open(block, values.size()));
  HOMZ_ASSIGN(const ConstBytes operand, pad(values));
  const bool is_padded = operand.size() != values.size() && !decoded.empty();
  const Bytes into = is_padded ? tail_.bytes.first(operand.size()) : decoded;
  const Encoding how = encoding(operand.size());
  HOMZ_ASSIGN(const std::uint64_t zeros, zeros_of([&] { return arithmetic_->footprint(how, 1, exec()); }));
  return make_payload({.order_matters = block->frame.order_matters}, &Times::combine, zeros,
                      [&](Bytes payload, Combined* report) -> Status {
                        HOMZ_TRY(arithmetic_->accumulate(how, stream, operand, payload, into, scratch_.bytes,
                                                         report, exec()));
                        if (!is_padded) return Status();
                        return processor().copy(into.first(decoded.size()), decoded);
                      });
}

}  // namespace homz
