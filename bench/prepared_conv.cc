// bench/prepared_conv.cc: see prepared_conv.h.
#include "bench/prepared_conv.h"

#include <span>
#include <utility>

#include "kernels/conv/problem.h"

namespace rafter::bench {

Result<std::unique_ptr<PreparedConv>> PreparedConv::Make(const ConvDesc& desc, const ConvOptions& options,
                                                         uint64_t seed) {
  const Result<ConvProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  Result<Conv> conv = Conv::Create(desc, options);
  if (!conv.ok()) return conv.status();
  std::unique_ptr<PreparedConv> made(new PreparedConv(std::move(conv).value()));
  Result<CaseTensors> tensors = MakeCaseTensors(*problem, seed);
  if (!tensors.ok()) return tensors.status();
  made->tensors_ = std::move(tensors).value();
  Result<PackedWeights> packed = made->conv_.PackWeights(made->tensors_.oihw.data(), made->tensors_.bias_or_null());
  if (!packed.ok()) return packed.status();
  made->packed_ = std::move(packed).value();
  made->scratch_ = TensorBuffer((made->conv_.scratch_bytes() + sizeof(float) - 1) / sizeof(float));
  if (made->scratch_.data() == nullptr) return Status::OutOfMemory();
  made->residuals_ = made->tensors_.residual_pointers();
  return made;
}

void PreparedConv::Run() noexcept {
  RunOptions options;
  options.scratch = std::as_writable_bytes(scratch_.span());
  options.residuals = residuals_;
  static_cast<void>(conv_.Run(tensors_.src.data(), packed_, tensors_.dst.data(), options).ok());
}

}  // namespace rafter::bench
