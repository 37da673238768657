// The calls under way on a communicator. They move on together, whichever is waited for: ranks may wait for
// theirs in different orders.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/operation.hpp"
#include "collectives/wire.hpp"

namespace homz {

class Watched;

class Calls {
 public:
  explicit Calls(Wire& wire) : wire_(wire) {}
  ~Calls();  // the other ranks are told of calls under way
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // The last call of the wire, as launched.
  Result<std::unique_ptr<Operation>> watch(Result<std::unique_ptr<Operation>> launched);
  // Moves all on; what they come to stays with them.
  void advance();
  // From now on calls move on with this GPU as the current one.
  void work_on(int gpu) { gpu_ = gpu; }
  int gpu() const { return gpu_; }  // -1: none
  bool any() const { return !all_.empty(); }
  // Whether calls of lower numbers are under way.
  bool any_before(std::uint32_t call) const;
  // Gives all up, without a word to the other ranks.
  void drop(const char* why) noexcept;

 private:
  friend class Watched;
  Wire& wire_;
  int gpu_ = -1;
  std::vector<Watched*> all_;  // by rising number
};

// One of them. If it fails, or is given up before it is done, the other ranks are told.
class Watched final : public Operation {
 public:
  Watched(Calls& calls, std::unique_ptr<Operation> operation);
  ~Watched() override;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Moves all calls on. May be called again after an error, and says the same.
  Result<bool> advance() override;

 private:
  friend class Calls;
  void step() noexcept;

  Calls* calls_;  // null: dropped
  std::uint32_t call_;
  std::unique_ptr<Operation> operation_;  // null: has come to its end
  Status outcome_;
};

}  // namespace homz
