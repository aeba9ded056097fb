// bench/op_work.cc: tensors and checks that all operators share; each operator is in op_work_kinds.cc.
#include "bench/op_work.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "bench/result_pages.h"

namespace rafter::bench {

void OpWork::Run() noexcept {
  Status status;
  if (setup_.pages == Pages::kKept || in_place_) {
    status = Call(tensors_.dst);
  } else {
    const ResultPages result(setup_.pages, static_cast<size_t>(result_floats_) * sizeof(float), pool_);
    status = result.data() != nullptr ? Call(static_cast<float*>(result.data())) : Status::OutOfMemory();
  }
  if (!status.ok()) status_ = std::move(status);
}

Status OpWork::AddInput(int64_t floats) {
  buffers_.emplace_back(static_cast<size_t>(floats));
  if (buffers_.back().data() == nullptr) return Status::OutOfMemory();
  FillRandom(buffers_.back().span(), setup_.seed + buffers_.size());
  tensors_.inputs.push_back(buffers_.back().data());
  return {};
}

Status OpWork::MakeResult(int64_t floats) {
  result_floats_ = floats;
  if (in_place_) {
    tensors_.dst = const_cast<float*>(tensors_.inputs[0]);
    return {};
  }
  buffers_.emplace_back(static_cast<size_t>(floats));
  tensors_.dst = buffers_.back().data();
  return tensors_.dst != nullptr ? Status() : Status::OutOfMemory();
}

void OpWork::ForgetResult() noexcept {
  // No float of a result is -NaN of this pattern: what was not written is found.
  std::memset(tensors_.dst, 0xff, static_cast<size_t>(result_floats_) * sizeof(float));
}

Result<OpWork::Verified> OpWork::Verify() {
  wanted_ = TensorBuffer(static_cast<size_t>(result_floats_));
  if (wanted_.data() == nullptr) return Status::OutOfMemory();
  Reference(wanted_.data());
  if (!in_place_) ForgetResult();
  const Pages pages = std::exchange(setup_.pages, Pages::kKept);
  Run();
  setup_.pages = pages;
  if (!status_.ok()) return status_;
  return CompareResult();
}

Result<OpWork::Verified> OpWork::CompareResult(double least_tolerance) const {
  const double allowed = std::max(tolerance(), least_tolerance);
  Verified verified{result_floats_, 0};
  for (int64_t i = 0; i < result_floats_; ++i) {
    const float want = wanted_.data()[i], got = tensors_.dst[i];
    if (std::memcmp(&want, &got, sizeof want) == 0 || (std::isnan(want) && std::isnan(got))) continue;
    const double error = std::fabs(static_cast<double>(got) - static_cast<double>(want));
    if (!(error <= allowed * (1 + std::fabs(static_cast<double>(want))))) {
      return Status::Internal("wrong result: element " + std::to_string(i) + " is " + std::to_string(got) +
                              ", wanted " + std::to_string(want));
    }
    verified.max_error = std::max(verified.max_error, error);
  }
  return verified;
}

}  // namespace rafter::bench
