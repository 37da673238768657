#include "homomorphic/homcomp/engine.hpp"

#include <atomic>

#include "codecs/homcomp/payload_reader.hpp"
#include "codecs/homcomp/payload_writer.hpp"
#include "codecs/homcomp/step.hpp"
#include "homomorphic/linear_of.hpp"

namespace homz::homcomp {
namespace {

std::uint64_t largest_payload(const Field& field, const Grid& grid) {
  return Layout(grid.chunks()).data + field.bytes();
}

// A group of chunks of every operand, and where the next chunk of each begins.
struct Operand {
  Group group;
  const std::byte* at;
};

struct WorkerSpace {
  SumSpace sum;
  Operand* operands;
  ChunkRef* chunks;

  void take(Arena& arena, std::size_t count, std::size_t reader_bytes) {
    sum.readers = arena.take<std::byte>((count + 1) * reader_bytes);  // one more for values
    operands = arena.take<Operand>(count);
    chunks = arena.take<ChunkRef>(count);
  }
};

struct CombineSpace {
  WriterSpace writer;
  WorkerSpace* workers;

  CombineSpace(Arena& arena, const Grid& grid, std::uint64_t value_bytes, std::size_t operands,
               std::size_t reader_bytes, unsigned threads)
      : writer(arena, grid, value_bytes, threads), workers(arena.take<WorkerSpace>(writer.workers)) {
    WorkerSpace counted;
    for (unsigned i = 0; i < writer.workers; ++i)
      (workers == nullptr ? counted : workers[i]).take(arena, operands, reader_bytes);
  }
};

// What a payload is written from: `work(box, chunks, space, to)` on the operands' chunks at each place.
template <class Work>
class ChunksOfOperands {
 public:
  ChunksOfOperands(const Grid& grid, std::uint64_t value_bytes, std::span<const OpenStream> operands,
                   WorkerSpace* workers, Work work)
      : grid_(grid), value_bytes_(value_bytes), operands_(operands), workers_(workers), work_(work) {}

  Status begin(std::uint64_t index, std::uint64_t worker) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Operand& operand = workers_[worker].operands[i];
      const PayloadReader reader(grid_, value_bytes_, operands_[i].payload);
      HOMZ_TRY(reader.find(index, operand.group));
      ChecksumState unused;
      HOMZ_TRY(reader.verify(index, operand.group, unused));
      operand.at = operand.group.data;
    }
    return Status();
  }

  Result<ChunkSize> write(std::uint64_t chunk, std::uint64_t worker, std::byte* to) {
    const Box box = grid_.box(chunk);
    WorkerSpace& space = workers_[worker];
    const std::uint64_t raw_bytes = box.count() * value_bytes_;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Operand& operand = space.operands[i];
      const std::uint64_t size = 4 * std::uint64_t{operand.group.sizes[chunk - operand.group.first]};
      const ConstBytes payload = operands_[i].payload;
      space.chunks[i] = {
          {operand.at, size != 0 ? size : raw_bytes}, size == 0, payload.data() + payload.size()};
      operand.at += space.chunks[i].bytes.size();
    }
    const ChunkResult result =
        work_(box, std::span<const ChunkRef>(space.chunks, operands_.size()), space.sum, to);
    if (result.wrong != nullptr) return corrupt(result.wrong);
    if (result.has_exact) order_matters_.store(true, std::memory_order_relaxed);
    return ChunkSize{result.words != 0 ? 4 * std::uint64_t{result.words} : raw_bytes, result.words == 0};
  }

  bool order_matters() const { return order_matters_.load(std::memory_order_relaxed); }

 private:
  const Grid& grid_;
  const std::uint64_t value_bytes_;
  const std::span<const OpenStream> operands_;
  WorkerSpace* const workers_;
  const Work work_;
  std::atomic<bool> order_matters_{false};
};

// The step that all operands have, whose tables are verified.
Result<double> common_step(const Grid& grid, Dtype dtype, std::span<const OpenStream> operands) {
  double step = 0;
  for (const OpenStream& each : operands) {
    const PayloadReader reader(grid, size_of(dtype), each.payload);
    HOMZ_TRY(reader.open());
    HOMZ_TRY(reader.verify_tables());
    HOMZ_ASSIGN(const double own, reader.step(dtype));
    if (&each == operands.data()) step = own;
    HOMZ_TRY(check_step(own, step));
  }
  return step;
}

// The payload of what `work` makes.
template <class T, class Work>
Status write_payload(const Field& field, const Grid& grid, const SumKernels& kernels, const Linear<T>& linear,
                     std::span<const OpenStream> operands, Work work, Bytes payload, Bytes scratch,
                     Combined* combined, unsigned threads) {
  Arena arena(scratch);
  const CombineSpace space(arena, grid, sizeof(T), operands.size(), kernels.reader_bytes, threads);
  if (!arena.fits() || payload.size() < largest_payload(field, grid))
    return Status(Code::capacity, "payload or scratch buffer too small");
  ChunksOfOperands source(grid, sizeof(T), operands, space.workers, work);
  HOMZ_TRY(PayloadWriter(grid, static_cast<double>(linear.scaled_step), sizeof(T), source, payload.data(),
                         space.writer)
               .write(&combined->encoded));
  combined->order_matters = source.order_matters();
  return Status();
}

template <class T>
Status combine_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                  const Combination& combination, std::span<const OpenStream> operands, Bytes payload,
                  Bytes scratch, Combined* combined, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  HOMZ_ASSIGN(const double step, common_step(grid, encoding.field.dtype, operands));
  HOMZ_ASSIGN(const Linear<T> linear, linear_of<T>(encoding, combination, step));
  const auto work = [&linear, kernel = kernels.combine<T>()](const Box& box, std::span<const ChunkRef> chunks,
                                                             SumSpace& space, std::byte* to) {
    return kernel(linear, box, chunks, space, to);
  };
  return write_payload(encoding.field, grid, kernels, linear, operands, work, payload, scratch, combined,
                       threads);
}

template <class T>
Status extremum_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, Extremum which,
                   std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                   unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  HOMZ_ASSIGN(const double step, common_step(grid, encoding.field.dtype, operands));
  HOMZ_ASSIGN(const Linear<T> linear, linear_of<T>(encoding, Combination{}, step));
  const auto work = [&linear, which, kernel = kernels.extremum<T>()](
                        const Box& box, std::span<const ChunkRef> chunks, SumSpace& space, std::byte* to) {
    return kernel(linear, which == Extremum::greatest, box, chunks[0], chunks[1], space, to);
  };
  return write_payload(encoding.field, grid, kernels, linear, operands, work, payload, scratch, combined,
                       threads);
}

template <class T>
Status accumulate_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                     const OpenStream& stream, ConstBytes data, Bytes payload, Bytes decoded, Bytes scratch,
                     Combined* combined, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const std::span<const OpenStream> operands(&stream, 1);
  HOMZ_ASSIGN(const double step, common_step(grid, encoding.field.dtype, operands));
  const std::int32_t ones[] = {1, 1};
  HOMZ_ASSIGN(const Linear<T> linear, linear_of<T>(encoding, Combination{ones}, step));
  const Coding<T> coding{quantiser_of(linear.step, encoding.abs_error), linear.has_fill, linear.fill};
  const auto work = [&, kernel = kernels.accumulate<T>()](const Box& box, std::span<const ChunkRef> chunks,
                                                          SumSpace& space, std::byte* to) {
    return kernel(coding, linear, box, data.data(), chunks[0], space, to, decoded.data());
  };
  return write_payload(encoding.field, grid, kernels, linear, operands, work, payload, scratch, combined,
                       threads);
}

}  // namespace

Result<double> step_of(const Encoding& encoding, const Plan& plan, ConstBytes payload) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const PayloadReader reader(grid, size_of(encoding.field.dtype), payload);
  HOMZ_TRY(reader.open());
  return reader.step(encoding.field.dtype);
}

Footprint combine_footprint(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                            std::size_t operands, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  Arena arena;
  CombineSpace(arena, grid, size_of(encoding.field.dtype), operands, kernels.reader_bytes, threads);
  return Footprint{0, largest_payload(encoding.field, grid), arena.needed(), 0};
}

Status combine(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
               const Combination& combination, std::span<const OpenStream> operands, Bytes payload,
               Bytes scratch, Combined* combined, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return combine_as<decltype(zero)>(encoding, plan, kernels, combination, operands, payload, scratch,
                                      combined, threads);
  });
}

Status extremum(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, Extremum which,
                std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return extremum_as<decltype(zero)>(encoding, plan, kernels, which, operands, payload, scratch, combined,
                                       threads);
  });
}

Status accumulate(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                  const OpenStream& stream, ConstBytes data, Bytes payload, Bytes decoded, Bytes scratch,
                  Combined* combined, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return accumulate_as<decltype(zero)>(encoding, plan, kernels, stream, data, payload, decoded, scratch,
                                         combined, threads);
  });
}

}  // namespace homz::homcomp
