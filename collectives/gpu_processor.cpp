// Values in the memory of a GPU. Kernels run on one stream, one after another; copies between the GPU and
// messages in pinned memory run beside them.
#include <algorithm>
#include <array>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include "collectives/gpu_operate.hpp"
#include "collectives/processor.hpp"
#include "core/bits.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {
namespace {

// Memory of the GPU that is used again and again: to take it takes long, and to give it back makes the GPU
// wait.
class Pool {
 public:
  Result<Values> take(std::uint64_t bytes) {
    const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 1);
    const auto spare = [&](const auto& each) {
      return each->size() < wanted ? UINT64_MAX : each->size() - wanted;
    };
    const auto best = std::ranges::min_element(*free_, {}, spare);
    std::unique_ptr<gpu::Memory> memory;
    if (best != free_->end() && spare(*best) <= 3 * wanted) {
      memory = std::move(*best);
      free_->erase(best);
    } else {
      auto fresh = gpu::Memory::on_device(wanted);
      if (!fresh.ok() && !free_->empty()) {  // what lies here is too small, or far too large
        free_->clear();
        fresh = gpu::Memory::on_device(wanted);
      }
      HOMZ_TRY(fresh.status());
      memory = std::make_unique<gpu::Memory>(std::move(*fresh));
    }
    const Bytes room = memory->bytes().first(bytes);
    return Values{room, std::shared_ptr<gpu::Memory>(memory.release(), [free = free_](gpu::Memory* done) {
                    std::unique_ptr<gpu::Memory> back(done);
                    try {
                      free->push_back(std::move(back));
                    } catch (const std::bad_alloc&) {  // then it is freed
                    }
                  })};
  }

 private:
  using Free = std::vector<std::unique_ptr<gpu::Memory>>;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

class GpuProcessor final : public Processor {
 public:
  static Result<std::unique_ptr<Processor>> make(Home home);
  ~GpuProcessor() override { static_cast<void>(settle()); }

  Space space() const noexcept override { return Space::device; }
  Home home() const noexcept override { return home_; }
  Exec exec(unsigned) noexcept override { return device(kernels_.get(), &desk_->faults[next_.slot]); }

  Result<Values> room(std::uint64_t bytes) override { return pool_.take(bytes); }
  Status copy(ConstBytes from, Bytes to) override {
    is_loose_ = true;
    return gpu::copy(from, to, kernels_.get());
  }
  Status copy_rows(const std::byte* from, std::uint64_t stride, std::uint64_t row_bytes, std::uint64_t rows,
                   Bytes to) override {
    is_loose_ = true;
    return gpu::copy_rows(from, stride, row_bytes, rows, to, kernels_.get());
  }
  Status zero(Bytes values) override {
    is_loose_ = true;
    return gpu::fill(values, std::byte{0}, kernels_.get());
  }
  Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) override {
    is_loose_ = true;
    return to.empty() ? Status() : gpu::operate(op, dtype, left, right, to, kernels_.get());
  }
  Status divide(Dtype dtype, Bytes values, int ranks) override {
    is_loose_ = true;
    return values.empty() ? Status() : gpu::divide(dtype, values, ranks, kernels_.get());
  }
  Status seek_magnitude(Dtype dtype, ConstBytes values) override {
    sought_ = dtype;
    desk_->largest = 0;
    if (values.empty()) return Status();
    auto* const bits = reinterpret_cast<std::uint64_t*>(largest_.bytes().data());
    HOMZ_TRY(gpu::largest_magnitude(dtype, values, bits, kernels_.get()));
    return copy(largest_.bytes(), std::as_writable_bytes(std::span(&desk_->largest, 1)));
  }
  Result<double> largest_magnitude() override {
    HOMZ_TRY(settle());
    return with_dtype(sought_, [&](auto zero) {
      using T = decltype(zero);
      return static_cast<double>(value_of<T>(static_cast<BitsOf<T>>(desk_->largest)));
    });
  }

  Result<Combined*> report() override {
    HOMZ_TRY(begin());
    next_.reports = true;
    Combined& report = desk_->reports[next_.slot];
    report = Combined{};
    report.encoded.bytes = Codec::kIncompressible;
    return &report;
  }
  Result<Bytes> output(const BlockPtr& message) override {
    HOMZ_TRY(begin());
    hold(message);
    if (home_ == Home::device) return message->room();
    HOMZ_ASSIGN(next_.output, staging_.take(message->capacity()));
    next_.to = message;
    return next_.output.bytes;
  }
  Result<ConstBytes> input(const BlockPtr& message) override;
  void hold(const BlockPtr& message) override { next_.held.push_back(message); }

  Status follow(CUstream_st* stream) override {
    HOMZ_TRY(arrived_.record(stream));
    return arrived_.hold(kernels_.get());
  }
  Result<WorkPtr> commit(std::shared_ptr<double> seconds) override;
  Status poll() override;
  bool is_idle() const override { return under_way_.empty() && !is_loose_; }
  Status settle() override;

 private:
  static constexpr unsigned kSlots = 64;

  // What kernels write for the host.
  struct Desk {
    std::array<Combined, kSlots> reports;
    std::array<std::uint32_t, kSlots> faults;  // kernels of other work clear theirs
    std::uint64_t largest;                     // bits of a magnitude
  };
  struct Slot {
    gpu::Event begun, done, copied;
  };
  struct UnderWay {
    std::shared_ptr<Work> work;
    unsigned slot = 0;
    bool has_begun = false, reports = false, is_copying = false;
    BlockPtr to;  // its payload goes there from `output`, once its length is known
    Values output;
    std::vector<std::shared_ptr<const void>> held;  // until the work is done
    std::shared_ptr<double> seconds;
  };

  explicit GpuProcessor(Home home) : home_(home) {}
  Status begin();
  Status see(UnderWay& each);
  Status give_up(const Status& why);

  Home home_;
  gpu::Memory memory_, largest_;
  Desk* desk_ = nullptr;
  std::array<Slot, kSlots> slots_;
  gpu::Event arrived_;
  gpu::Stream kernels_, in_, out_;
  Pool pool_;     // of what only kernels use: as soon as it is given back, for the next ones
  Pool staging_;  // of what is copied, too: given back when work is done
  UnderWay next_;
  std::deque<UnderWay> under_way_;
  unsigned commits_ = 0;
  Dtype sought_ = Dtype::f32;
  bool is_loose_ = false;  // something was enqueued behind the last commit
};

Result<std::unique_ptr<Processor>> GpuProcessor::make(Home home) {
  HOMZ_TRY(gpu::ready());
  std::unique_ptr<GpuProcessor> made(new GpuProcessor(home));
  HOMZ_ASSIGN(made->memory_, gpu::Memory::pinned(sizeof(Desk)));
  made->desk_ = new (made->memory_.bytes().data()) Desk{};
  HOMZ_ASSIGN(made->largest_, gpu::Memory::on_device(sizeof(std::uint64_t)));
  for (gpu::Stream* const stream : {&made->kernels_, &made->in_, &made->out_}) {
    HOMZ_ASSIGN(*stream, gpu::Stream::make());
  }
  HOMZ_ASSIGN(made->arrived_, gpu::Event::make());
  for (Slot& slot : made->slots_)
    for (gpu::Event* const event : {&slot.begun, &slot.done, &slot.copied}) {
      HOMZ_ASSIGN(*event, gpu::Event::make());
    }
  return std::unique_ptr<Processor>(std::move(made));
}

// Of what will be committed next: a slot for it.
Status GpuProcessor::begin() {
  if (next_.has_begun) return Status();
  while (under_way_.size() == kSlots) HOMZ_TRY(poll());
  next_.slot = commits_ % kSlots;
  next_.has_begun = true;
  desk_->faults[next_.slot] = 0;
  return slots_[next_.slot].begun.record(kernels_.get());
}

Result<ConstBytes> GpuProcessor::input(const BlockPtr& message) {
  HOMZ_TRY(begin());
  hold(message);
  const ConstBytes payload = message->payload();
  if (home_ == Home::device || payload.empty()) return payload;
  HOMZ_ASSIGN(Values there, staging_.take(payload.size()));
  HOMZ_TRY(gpu::copy(payload, there.bytes, in_.get()));
  HOMZ_TRY(arrived_.record(in_.get()));
  HOMZ_TRY(arrived_.hold(kernels_.get()));
  next_.held.push_back(there.owner);
  return ConstBytes(there.bytes);
}

Result<WorkPtr> GpuProcessor::commit(std::shared_ptr<double> seconds) {
  HOMZ_TRY(begin());
  next_.work = std::make_shared<Work>();
  next_.seconds = std::move(seconds);
  under_way_.push_back(std::move(next_));
  next_ = UnderWay{};
  ++commits_;
  is_loose_ = false;
  HOMZ_TRY(slots_[under_way_.back().slot].done.record(kernels_.get()));
  return WorkPtr(under_way_.back().work);
}

Status GpuProcessor::see(UnderWay& each) {
  Slot& slot = slots_[each.slot];
  if (!each.is_copying) {
    HOMZ_ASSIGN(const bool is_done, slot.done.is_done());
    if (!is_done) return Status();
    if (each.reports) each.work->report = desk_->reports[each.slot];
    const std::uint64_t bytes = each.work->report.encoded.bytes;
    if (each.to && bytes != Codec::kIncompressible) {
      if (bytes > each.output.bytes.size())
        return Status(Code::internal, "a payload that is longer than its codec told");
      HOMZ_TRY(gpu::copy(each.output.bytes.first(bytes), each.to->room(), out_.get()));
      HOMZ_TRY(slot.copied.record(out_.get()));
      each.is_copying = true;
    }
  }
  if (each.is_copying) {
    HOMZ_ASSIGN(const bool is_copied, slot.copied.is_done());
    if (!is_copied) return Status();
  }
  if (each.seconds) {
    HOMZ_ASSIGN(const double seconds, slot.done.seconds_since(slot.begun));
    *each.seconds += seconds;
  }
  const std::uint32_t fault = desk_->faults[each.slot];
  if (fault != 0)
    each.work->status = Status(static_cast<Code>(fault), "a message that the codec cannot read on the GPU");
  each.work->is_done = true;
  each.held.clear();
  each.to.reset();
  each.output.reset();
  return Status();
}

Status GpuProcessor::poll() {
  if (under_way_.empty() && is_loose_ && !next_.has_begun) HOMZ_TRY(commit(nullptr).status());
  for (UnderWay& each : under_way_) {
    const Status seen = each.work->is_done ? Status() : see(each);
    if (!seen.ok()) return give_up(seen);
  }
  while (!under_way_.empty() && under_way_.front().work->is_done) under_way_.pop_front();
  return Status();
}

// Nothing that was enqueued can be relied on.
Status GpuProcessor::give_up(const Status& why) {
  for (const gpu::Stream* const stream : {&kernels_, &in_, &out_})
    static_cast<void>(gpu::wait(stream->get()));
  for (UnderWay& each : under_way_) {
    each.work->is_done = true;
    each.work->status = why;
  }
  under_way_.clear();
  is_loose_ = false;
  return why;
}

// What a failed call has begun, but not committed, is let go when nothing can use it any more.
Status GpuProcessor::settle() {
  Status status = gpu::wait(kernels_.get());
  if (!status.ok()) static_cast<void>(give_up(status));
  while (status.ok() && !under_way_.empty()) status = poll();
  next_ = UnderWay{};
  is_loose_ = false;
  return status;
}

}  // namespace

Result<std::unique_ptr<Processor>> gpu_processor(Home home) {
  return GpuProcessor::make(home);
}

}  // namespace homz
