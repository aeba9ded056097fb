// tests/fuzz/conv_desc_fuzz.cc: any description must be refused with a message or planned, quickly
// and without memory in proportion to its sizes; and what is small enough to run must give exactly
// the reference's result, by every algorithm on every instruction set of the machine.
//
// The comparison itself (guard pages, padding lanes, gaps of slices, exactness on integer data) is
// that of tests/support/conv_tester.h. A violation prints the case and aborts, which is what
// libFuzzer looks for.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rafter/rafter.h"
#include "tests/fuzz/conv_desc_input.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"

namespace rafter::fuzz {
namespace {

std::string ToText(const char* name, const TensorFormat& format) {
  std::string text = std::string(" ") + name + "=" + LayoutName(format.layout);
  if (format.strides) {
    for (const int64_t s :
         {format.strides->n, format.strides->c, format.strides->h, format.strides->w}) {
      text += "," + std::to_string(s);
    }
  }
  return text;
}

std::string ToText(const ConvDesc& desc) {
  std::string text = "n=" + std::to_string(desc.n) + " groups=" + std::to_string(desc.groups) +
                     " ic=" + std::to_string(desc.ic) + " oc=" + std::to_string(desc.oc);
  const auto add = [&text](const char* name, const Size2& size) {
    text += std::string(" ") + name + "=" + std::to_string(size.h) + "x" + std::to_string(size.w);
  };
  add("in", desc.in);
  add("kernel", desc.kernel);
  add("stride", desc.stride);
  add("dilation", desc.dilation);
  add("pad_begin", {desc.pad.top, desc.pad.left});
  add("pad_end", {desc.pad.bottom, desc.pad.right});
  text += ToText("src", desc.src) + ToText("dst", desc.dst) + " post_ops=";
  for (const PostOp& op : desc.post_ops) text += std::string(PostOpName(op.kind)) + " ";
  return text;
}

[[noreturn]] void Fail(const ConvDesc& desc, const std::string& what) {
  std::fprintf(stderr, "%s\n  %s\n", ToText(desc).c_str(), what.c_str());
  std::abort();
}

// All ways to ask about a description agree on whether it is valid; an error carries a text.
Status CheckCreation(const ConvDesc& desc) {
  const size_t mapped_before = MemoryPool::Default().stats().mapped_bytes;
  const Result<Conv> conv = Conv::Create(desc);
  if (MemoryPool::Default().stats().mapped_bytes != mapped_before)
    Fail(desc, "Create mapped memory");
  const Result<ConvCost> cost = CostOf(desc);
  const Result<std::string> listing = Explain(desc);
  if (cost.ok() != conv.ok() || listing.ok() != conv.ok()) {
    Fail(desc, "Create, CostOf and Explain disagree: " + std::string(conv.status().message()) +
                   " | " + std::string(cost.status().message()) + " | " +
                   std::string(listing.status().message()));
  }
  if (!conv.ok()) {
    if (conv.status().code() != StatusCode::kInvalidArgument) {
      Fail(desc, std::string("refused with ") + StatusCodeName(conv.status().code()) + ": " +
                     std::string(conv.status().message()));
    }
    if (conv.status().message().empty()) Fail(desc, "refused without a message");
    return conv.status();
  }
  if (!(cost->flops_valid >= 0 && cost->flops_valid <= cost->flops_nominal)) {
    Fail(desc, "FLOPs out of order: " + std::to_string(cost->flops_valid) + " valid of " +
                   std::to_string(cost->flops_nominal));
  }
  return {};
}

ParallelFor* Workers() {
  static const std::unique_ptr<WorkerPool> workers = [] {
    auto pool = WorkerPool::Create({.threads = 3, .pin = false});
    return pool.ok() ? std::move(pool).value() : nullptr;
  }();
  return workers.get();
}

// Runs by `algorithm` (empty: the library's choice) with the cap of instruction set that is in
// force.
void CheckRun(const FuzzCase& fuzz_case, Isa isa, const char* algorithm) {
  const Result<Conv> conv = Conv::Create(fuzz_case.desc, {.algorithm = algorithm});
  if (!conv.ok()) {
    if (conv.status().code() == StatusCode::kUnsupported && *algorithm != '\0') return;
    Fail(fuzz_case.desc, std::string(algorithm) + ": " + std::string(conv.status().message()));
  }
  testing::ConvTester tester(fuzz_case.desc);
  tester.Algorithm(algorithm)
      .Transforms()
      .Threads(fuzz_case.threads)
      .Bias(fuzz_case.with_bias)
      .Seed(fuzz_case.seed);
  if (fuzz_case.own_workers) tester.Pool(Workers());
  const ::testing::AssertionResult result = tester.Run();
  if (!result)
    Fail(fuzz_case.desc, std::string(IsaName(isa)) + " " + algorithm + ": " + result.message());
}

void RunOne(const uint8_t* data, size_t size) {
  ByteReader reader(data, size);
  const FuzzCase fuzz_case = ReadFuzzCase(reader);
  if (!CheckCreation(fuzz_case.desc).ok() || !fuzz_case.runnable) return;
  for (const Isa isa : testing::TestedIsas()) {
    const testing::ScopedMaxIsa cap(isa);
    for (const char* algorithm :
         {"", "direct", "pointwise", "widthwise", "gemm", "direct+reorder", "splitk", "grouped", "winograd"})
      CheckRun(fuzz_case, isa, algorithm);
  }
}

}  // namespace
}  // namespace rafter::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rafter::fuzz::RunOne(data, size);
  return 0;
}
