// Values in the memory of the host.
#include <algorithm>

#include "collectives/operate.hpp"
#include "collectives/processor.hpp"
#include "collectives/sample.hpp"

namespace homz {
namespace {

class HostProcessor final : public Processor {
 public:
  Space space() const noexcept override { return Space::host; }
  Home home() const noexcept override { return Home::host; }
  Exec exec(unsigned threads) noexcept override { return host(threads); }

  Result<Values> room(std::uint64_t bytes) override {
    const BlockPtr block = pool_.take(bytes);
    return Values{block->room().first(bytes), block};
  }
  Status copy(ConstBytes from, Bytes to) override {
    copy_values(from, to);
    return Status();
  }
  Status copy_rows(const std::byte* from, std::uint64_t stride, std::uint64_t row_bytes, std::uint64_t rows,
                   Bytes to) override {
    for (std::uint64_t i = 0; i < rows; ++i)
      copy_values({from + i * stride, row_bytes}, to.subspan(i * row_bytes, row_bytes));
    return Status();
  }
  Status zero(Bytes values) override {
    std::ranges::fill(values, std::byte{0});
    return Status();
  }
  Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) override {
    homz::operate(op, dtype, left, right, to);
    return Status();
  }
  Status divide(Dtype dtype, Bytes values, int ranks) override {
    homz::divide(dtype, values, ranks);
    return Status();
  }
  Status seek_magnitude(Dtype dtype, ConstBytes values) override {
    largest_ = homz::largest_magnitude(dtype, values);
    return Status();
  }
  Result<double> largest_magnitude() override { return largest_; }

  Result<Combined*> report() override {
    work_ = std::make_shared<Work>();
    work_->is_done = true;
    return &work_->report;
  }
  Result<Bytes> output(const BlockPtr& message) override { return message->room(); }
  Result<ConstBytes> input(const BlockPtr& message) override { return ConstBytes(message->payload()); }
  void hold(const BlockPtr&) override {}

  Status follow(CUstream_st*) override { return Status(); }
  Result<WorkPtr> commit(std::shared_ptr<double>) override { return WorkPtr(work_); }
  Status poll() override { return Status(); }
  bool is_idle() const override { return true; }
  Status settle() override { return Status(); }

 private:
  BlockPool pool_;
  std::shared_ptr<Work> work_;
  double largest_ = 0;
};

}  // namespace

std::unique_ptr<Processor> host_processor() {
  return std::make_unique<HostProcessor>();
}

}  // namespace homz
