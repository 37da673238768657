// Something under way that moves on a step at a time, so that it need not block.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/status.hpp"

namespace homz {

class Operation {
 public:
  virtual ~Operation() = default;
  // Does what can be done without waiting; true when all is done. Not called again after that, or an error.
  virtual Result<bool> advance() = 0;
};

// Operations one after another; each is made when the one before it is done.
class Sequence final : public Operation {
 public:
  using Stage = std::function<Result<std::unique_ptr<Operation>>()>;  // null: nothing to do

  explicit Sequence(std::vector<Stage> stages) : stages_(std::move(stages)) {}

  Result<bool> advance() override {
    while (true) {
      if (current_) {
        HOMZ_ASSIGN(const bool is_done, current_->advance());
        if (!is_done) return false;
        current_.reset();
      }
      if (next_ == stages_.size()) return true;
      HOMZ_ASSIGN(current_, stages_[next_++]());
    }
  }

 private:
  std::vector<Stage> stages_;
  std::size_t next_ = 0;
  std::unique_ptr<Operation> current_;
};

}  // namespace homz
