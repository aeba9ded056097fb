// bench/baseline.h: a library to compare with, behind one interface. A new one is a file like
// bench/baseline_onednn.cc and a line in MakeBaseline.
#ifndef RAFTER_BENCH_BASELINE_H_
#define RAFTER_BENCH_BASELINE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cache_mode.h"
#include "rafter/conv.h"
#include "rafter/status.h"

namespace rafter::bench {

// In which layout the other library works.
enum class BaselineLayout {
  kSame,     // source and destination exactly as the case has them, in the same buffers
  kAny,      // the library chooses
  kNchw16c,  // blocks of 16 channels
};

// "same", "any", "NCHW16c".
const char* BaselineLayoutName(BaselineLayout layout) noexcept;

// Buffers belong to the caller and outlive the run.
struct BaselineRequest {
  const ConvDesc* desc = nullptr;  // layouts and bias included; dense
  BaselineLayout layout = BaselineLayout::kSame;
  int threads = 1;
  const float* oihw = nullptr;  // dense weights
  const float* bias = nullptr;  // oc values when desc->bias
  const float* src = nullptr;   // in the case's layout; used in place where the library agrees
  float* dst = nullptr;
  std::vector<const float*> residuals;  // in dst's layout, one per kResidualAdd
  const std::function<void()>* ours = nullptr;  // one call of ours: what "self" runs again
};

// A prepared convolution of the other library: weights packed, buffers filled.
class BaselineRun {
 public:
  virtual ~BaselineRun() = default;
  virtual const std::string& implementation() const noexcept = 0;  // "brgconv:avx2"
  virtual const std::string& layout() const noexcept = 0;  // resolved: "NHWC", "NCHW->NCHW16c"
  virtual double create_us() const noexcept = 0;           // median, without packing of weights
  // One call, as in an inference, on the calling thread's OpenMP team: let it have the request's
  // size (bench/omp_team.h). Errors are kept and returned by status().
  virtual void Run() noexcept = 0;
  virtual Status status() const = 0;
  // The last output as dense NCHW, n * oc * oh * ow values.
  virtual Status ReadOutput(std::vector<float>& nchw) = 0;
  // What a call reads and writes beyond the request's buffers: packed weights, and unless `weights_only` tensors and
  // scratch of its own. For flushing (cache_mode.h).
  virtual void AppendMemory(bool weights_only, std::vector<Memory>& memory) const = 0;
};

struct OpCase;     // op_descriptor.h
struct OpTensors;  // op_work.h

// A memory-bound operator on the case's own tensors, which outlive the run.
struct OpRequest {
  const OpCase* op = nullptr;
  Layout layout = Layout::kNhwc;  // of all tensors but a reorder's
  int threads = 1;
  const OpTensors* tensors = nullptr;
};

class Baseline {
 public:
  virtual ~Baseline() = default;
  virtual const std::string& name() const noexcept = 0;     // "oneDNN"
  virtual const std::string& version() const noexcept = 0;  // "3.12.1", of the loaded library
  // Too old for any claim about speed; the table says so.
  virtual bool too_old() const noexcept = 0;
  // Runs the calls of ours again, on the same memory: has the case's layout only.
  virtual bool is_self() const noexcept { return false; }
  virtual Result<std::unique_ptr<BaselineRun>> Prepare(const BaselineRequest& request) = 0;
  // kUnsupported for operators that the library does not have.
  virtual Result<std::unique_ptr<BaselineRun>> PrepareOp(const OpRequest& request) {
    (void)request;
    return Status(StatusCode::kUnsupported, "operators are not compared with this");
  }
};

// The names that MakeBaseline knows and that are built into this program.
std::vector<std::string> AvailableBaselines();
// Whether MakeBaseline takes it here, and what it takes, for messages.
bool IsBaseline(std::string_view name);
std::string AllowedBaselines();

// `isa` caps what the other library may use; it must be made before that library is used for
// anything else, and only one cap per process works. kInvalidArgument: unknown name. kUnsupported:
// not built in, or the library refused the cap.
Result<std::unique_ptr<Baseline>> MakeBaseline(std::string_view name, Isa isa);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_H_
