// Memory and threads: encoding and decoding take none of their own, and where the system gives none, that is
// an error and not a crash. This program counts, and can fail, every allocation and every start of a thread.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"

namespace {

std::atomic<long> allocations = 0;
std::atomic<long> fail_allocation = -1;  // the one with this number fails
std::atomic<int> threads_allowed = -1;   // -1: any number

[[maybe_unused]] bool allocation_fails() {
  return allocations.fetch_add(1) == fail_allocation.load();
}

}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOMZ_CAN_INTERPOSE 1
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  return allocation_fails() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  return allocation_fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  return allocation_fails() ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return allocation_fails() ? nullptr : __libc_memalign(alignment, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_allowed == 0) return EAGAIN;
  if (threads_allowed > 0) --threads_allowed;
  return create(thread, attributes, start, argument);
}
}
#else
#define HOMZ_CAN_INTERPOSE 0
#endif

namespace homz::test {
namespace {

#define SKIP_WITHOUT_INTERPOSITION() \
  if (!HOMZ_CAN_INTERPOSE) GTEST_SKIP() << "allocations cannot be counted in this build"

class Resources : public testing::TestWithParam<std::string> {
 protected:
  bool allocates_by_itself() const { return GetParam().starts_with("zstd"); }  // the contexts of its library
};
INSTANTIATE_TEST_SUITE_P(Codecs, Resources, testing::ValuesIn(all_choices()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(Resources, EncodeAndDecodeAllocateNothing) {
  SKIP_WITHOUT_INTERPOSITION();
  if (allocates_by_itself()) GTEST_SKIP() << "wraps a library that allocates";
  for (const std::string_view input : {"walk", "nan_tenth", "random_bits", "fill_blocks", "constant"})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      const Sample sample = make_sample(input, dtype, {2, 211, 223});
      const Compression compression = compression_of(GetParam(), sample, common_bounds_for(sample)[0]);
      const auto needs = footprint(compression, host());
      if (!needs.ok()) continue;
      std::vector<std::byte> stream(needs->stream_bytes), scratch(needs->scratch_bytes),
          data(sample.data.size());
      std::uint64_t size = 0;
      const long before = allocations;
      const Status encoded = encode_stream(compression, sample.bytes(), stream, scratch, &size, host());
      const long between = allocations;
      ASSERT_TRUE(encoded.ok()) << encoded.message();
      EXPECT_EQ(between - before, 0) << "by encode_stream of " << input;
      const auto open = open_stream(registry(), ConstBytes(stream).first(size), host());
      ASSERT_TRUE(open.ok()) << open.status().message();
      scratch.resize(open->scratch_bytes);
      const long opened = allocations;
      const Status decoded = decode_stream(*open, data, scratch, host());
      EXPECT_EQ(allocations - opened, 0) << "by decode_stream of " << input;
      EXPECT_TRUE(decoded.ok()) << decoded.message();
    }
}

// H1: each allocation in turn fails.
TEST_P(Resources, AFailedAllocationIsAnError) {
  SKIP_WITHOUT_INTERPOSITION();
  const Sample sample = make_sample("walk", Dtype::f32, {10, 50, 120});
  const Compression compression = compression_of(GetParam(), sample, 1e-3);
  const auto good =
      compress(compression.choice, sample.field, sample.bytes(), compression.requested, {}, host(3));
  ASSERT_TRUE(good.ok()) << good.status().message();
  int refused = 0, refused_to_decode = 0;
  for (long which = 0; which < 40; ++which) {
    fail_allocation = allocations + which;
    const auto made =
        compress(compression.choice, sample.field, sample.bytes(), compression.requested, {}, host(3));
    fail_allocation = -1;
    if (made.ok()) {
      EXPECT_TRUE(std::ranges::equal(made->stream(), good->stream()));
    }
    if (!made.ok()) {
      EXPECT_EQ(made.status().code(), Code::out_of_memory) << made.status().message();
    }
    refused += !made.ok();
    fail_allocation = allocations + which;
    const auto back = decompress(registry(), good->stream(), host(3));
    fail_allocation = -1;
    if (!back.ok()) {
      EXPECT_EQ(back.status().code(), Code::out_of_memory) << back.status().message();
    }
    refused_to_decode += !back.ok();
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(refused_to_decode, 0);
}

// H2: fewer threads, or none, do the same work.
TEST_P(Resources, WhereNoThreadCanBeStartedFewerDoTheWork) {
  SKIP_WITHOUT_INTERPOSITION();
  const Sample sample = make_sample("walk", Dtype::f32, {10, 100, 220});
  const auto expected = check_round_trip(GetParam(), sample, 1e-3);
  for (const int allowed : {0, 1, 2}) {
    threads_allowed = allowed;
    EXPECT_EQ(check_round_trip(GetParam(), sample, 1e-3, {.threads = 8}), expected) << allowed;
    threads_allowed = -1;
  }
}

// H7: the caller's stack may be that of a worker thread of some other library.
TEST_P(Resources, ASmallStackSuffices) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more stack than programs do";
  struct Call {
    const Compression* compression;
    const Sample* sample;
    Status status;
  };
  const Sample sample = make_sample("nan_tenth", Dtype::f64, {2, 211, 223});
  const Compression compression = compression_of(GetParam(), sample, 1e-3);
  if (!footprint(compression, host()).ok()) GTEST_SKIP() << "options do not suit the field";
  if (allocates_by_itself()) GTEST_SKIP() << "wraps a library with needs of its own";
  Call call{&compression, &sample, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    Call& call = *static_cast<Call*>(argument);
    const auto made = compress(call.compression->choice, call.sample->field, call.sample->bytes(),
                               call.compression->requested, {}, host());
    call.status = made.ok() ? decompress(registry(), made->stream(), host()).status() : made.status();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &call), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(call.status.ok()) << call.status.message();
}

}  // namespace
}  // namespace homz::test
