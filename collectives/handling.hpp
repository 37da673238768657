// What a scheme does with a piece of the data at each point of its way.
#pragma once

#include <memory>
#include <vector>

#include "collectives/block.hpp"
#include "collectives/processor.hpp"
#include "core/memory.hpp"

namespace homz {

class Wire;

// A stretch of the data that is coded, sent and operated on at once. What lies in it belongs to the scheme.
struct Piece {
  std::uint32_t id = 0;
  ConstBytes in;            // this rank's contribution, or what it is the source of; may be empty
  Bytes out;                // where the result is wanted; may be empty. May be `in`
  std::uint64_t bytes = 0;  // of values

  // ---- On the way
  BlockPtr held;                  // what this rank has, as a message
  Values values;                  // what this rank has, as values, where that is not `in` any more
  std::vector<BlockPtr> waiting;  // contributions that will be operated on at once
  bool is_decoded = false;        // out has what `held` decodes to
};

// Seconds of this rank.
struct Times {
  double encode = 0, combine = 0, decode = 0;
};

// What follows a join: another one, a message, or nothing: then the piece is complete.
enum class Next : std::uint8_t { join, send, complete };

class Handling {
 public:
  virtual ~Handling() = default;
  // Bytes of payload that a message of a piece may have.
  virtual std::uint64_t capacity(std::uint64_t piece_bytes) const = 0;
  virtual Home home() const { return Home::host; }  // of messages, received ones included

  // Work that can be done ahead for a piece that this rank contributes to; true if something was done.
  virtual Result<bool> prepare(Piece&) { return false; }
  // Whether prepare() is called for all pieces before anything else; else when nothing else is to be done.
  virtual bool prepares_all() const { return false; }

  // A message of what this rank has. `again`: it is used here, too, afterwards.
  virtual Result<BlockPtr> contribute(Piece& piece, bool again) = 0;
  // `is_lower`: it comes from a lower rank, and is the left operand.
  virtual Status join(Piece& piece, BlockPtr received, bool is_lower, Next next) = 0;
  // All is in: what this rank has becomes the result. `travels`: some rank gets it as a message; then all
  // must use what that message says.
  virtual Status complete(Piece& piece, bool travels) = 0;
  // A message of the result.
  virtual Result<BlockPtr> deliver(Piece& piece) = 0;
  // The result as another rank has it. `passed_on`: deliver() follows.
  virtual Status take(Piece& piece, BlockPtr received, bool passed_on) = 0;
  // The result to `out`, which is not empty; once, before or after it is delivered, when nobody waits for
  // this rank.
  virtual Status write(Piece& piece) = 0;

  // Of a message that was handed out: whether it can be sent. A GPU may still work on it.
  virtual Result<bool> is_made(const BlockPtr&) { return true; }
  // Whether nothing is under way any more; settle() waits for that.
  virtual Result<bool> is_settled() { return true; }
  virtual Status settle() { return Status(); }

  virtual Times times() const { return {}; }
};

}  // namespace homz
