// Values in the memory of a GPU. Messages are in pinned memory, which kernels read and write, too.
#include <algorithm>
#include <new>
#include <vector>

#include "collectives/gpu_operate.hpp"
#include "collectives/processor.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/value_range.hpp"

namespace homz {
namespace {

// Memory of the GPU that is used again and again: to take it and to give it back makes the GPU wait.
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
      HOMZ_ASSIGN(gpu::Memory fresh, gpu::Memory::on_device(wanted));
      memory = std::make_unique<gpu::Memory>(std::move(fresh));
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
  // What kernels write for the host.
  struct Desk {
    Combined report;
    ValueRange range;
    std::uint32_t fault;
  };

  GpuProcessor(gpu::Stream stream, gpu::Memory desk) : stream_(std::move(stream)), memory_(std::move(desk)) {
    desk_ = new (memory_.bytes().data()) Desk{};
  }

  Space space() const noexcept override { return Space::device; }
  Exec exec(unsigned) noexcept override { return device(stream_.get(), &desk_->fault); }

  Result<Values> room(std::uint64_t bytes) override { return pool_.take(bytes); }
  Status copy(ConstBytes from, Bytes to) override {
    if (from.empty()) return Status();
    HOMZ_TRY(gpu::copy(from, to, stream_.get()));
    return gpu::wait(stream_.get());
  }
  Status zero(Bytes values) override {
    return values.empty() ? Status() : gpu::fill(values, std::byte{0}, stream_.get());
  }
  Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) override {
    if (to.empty()) return Status();
    HOMZ_TRY(gpu::operate(op, dtype, left, right, to, stream_.get()));
    return gpu::wait(stream_.get());
  }
  Status divide(Dtype dtype, Bytes values, int ranks) override {
    if (values.empty()) return Status();
    HOMZ_TRY(gpu::divide(dtype, values, ranks, stream_.get()));
    return gpu::wait(stream_.get());
  }
  Result<double> largest_magnitude(Dtype dtype, ConstBytes values) override {
    if (values.empty()) return 0.0;
    HOMZ_ASSIGN(const Values range, pool_.take(sizeof(ValueRange)));
    const Field field = Field::flat(dtype, values.size() / size_of(dtype));
    HOMZ_TRY(gpu::enqueue_value_range(field, values, std::nullopt,
                                      reinterpret_cast<ValueRange*>(range.bytes.data()), exec(1)));
    HOMZ_TRY(gpu::copy(range.bytes, {reinterpret_cast<std::byte*>(&desk_->range), sizeof(ValueRange)},
                       stream_.get()));
    HOMZ_TRY(settle());
    return desk_->range.empty() ? 0.0 : std::max(-desk_->range.min, desk_->range.max);
  }

  Combined* report() override {
    desk_->report = Combined{};
    desk_->report.encoded.bytes = Codec::kIncompressible;
    return &desk_->report;
  }
  Result<Bytes> output(Block& message) override {
    HOMZ_ASSIGN(output_, pool_.take(message.capacity()));
    return output_.bytes;
  }
  Result<ConstBytes> input(const Block& message) override {
    HOMZ_ASSIGN(Values there, pool_.take(message.payload().size()));
    if (!there.bytes.empty()) HOMZ_TRY(gpu::copy(message.payload(), there.bytes, stream_.get()));
    inputs_.push_back(there);
    return ConstBytes(there.bytes);
  }
  Result<Combined> take(Block& message) override {
    const Values output = std::move(output_);
    output_.reset();
    HOMZ_TRY(settle());
    const Combined made = desk_->report;
    if (made.encoded.bytes != Codec::kIncompressible) {
      if (made.encoded.bytes > message.capacity())
        return Status(Code::internal, "a payload that is longer than its codec told");
      HOMZ_TRY(copy(output.bytes.first(made.encoded.bytes), message.room()));
    }
    return made;
  }
  Status settle() override {
    const Status waited = gpu::wait(stream_.get());
    inputs_.clear();
    const std::uint32_t fault = desk_->fault;
    desk_->fault = 0;
    HOMZ_TRY(waited);
    if (fault == 0) return Status();
    return Status(static_cast<Code>(fault), "a message that the codec cannot read on the GPU");
  }

 private:
  gpu::Stream stream_;
  gpu::Memory memory_;
  Desk* desk_;
  Pool pool_;
  Values output_;
  std::vector<Values> inputs_;
};

}  // namespace

Result<std::unique_ptr<Processor>> gpu_processor() {
  HOMZ_TRY(gpu::ready());
  HOMZ_ASSIGN(gpu::Stream stream, gpu::Stream::make());
  HOMZ_ASSIGN(gpu::Memory desk, gpu::Memory::pinned(sizeof(GpuProcessor::Desk)));
  return std::unique_ptr<Processor>(new GpuProcessor(std::move(stream), std::move(desk)));
}

}  // namespace homz
