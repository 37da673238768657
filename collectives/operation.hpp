// Something under way that moves on a step at a time, so that it need not block.
#pragma once

#include <memory>

#include "core/status.hpp"

namespace homz {

class Operation {
 public:
  virtual ~Operation() = default;
  // Does what can be done without waiting; true when all is done. Not called again after that, or an error.
  virtual Result<bool> advance() = 0;
};

// Operations one after another; each is made when the one before it is done.
class Sequence : public Operation {
 public:
  Result<bool> advance() final {
    while (true) {
      if (current_) {
        HOMZ_ASSIGN(const bool is_done, current_->advance());
        if (!is_done) return false;
        current_.reset();
      }
      if (next_ == stages_) return true;
      HOMZ_ASSIGN(current_, stage(next_++));
    }
  }

 protected:
  explicit Sequence(unsigned stages) : stages_(stages) {}
  // For destructors: what is under way may refer to members of derived classes, which go first.
  void drop() { current_.reset(); }

 private:
  // From 0 on; null: nothing to wait for.
  virtual Result<std::unique_ptr<Operation>> stage(unsigned number) = 0;

  unsigned stages_, next_ = 0;
  std::unique_ptr<Operation> current_;
};

}  // namespace homz
