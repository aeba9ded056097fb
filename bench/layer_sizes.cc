// bench/layer_sizes.cc: the formulas, one function per kind of layer. Reading numbers is in layer_fields.h.
#include "bench/layer_sizes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/descriptor.h"
#include "bench/layer_fields.h"
#include "bench/printable.h"
#include "kernels/cost/conv_cost.h"
#include "kernels/sizes.h"
#include "rafter/cost.h"
#include "runtime/system_files.h"

namespace rafter::bench {
namespace {

struct ElementRule {
  std::string_view name;
  int flops;
  int inputs;
};
constexpr ElementRule kElementRules[] = {
    {"relu", 1, 1},         {"leaky_relu", 4, 1}, {"clip", 2, 1},   {"relu6", 2, 1}, {"hard_swish", 5, 1},
    {"hard_sigmoid", 4, 1}, {"sigmoid", 26, 1},   {"swish", 28, 1}, {"silu", 28, 1}, {"tanh", 28, 1},
    {"gelu", 45, 1},        {"elu", 29, 1},       {"copy", 0, 1},   {"add", 1, 2},   {"mul", 1, 2},
};

const ElementRule* FindElementRule(std::string_view name) noexcept {
  const auto* found = std::find_if(std::begin(kElementRules), std::end(kElementRules),
                                   [&](const ElementRule& rule) { return rule.name == name; });
  return found == std::end(kElementRules) ? nullptr : found;
}

void SetMacs(double macs, double nominal, LayerSizes& sizes) {
  sizes.macs = macs;
  sizes.macs_nominal = nominal;
  sizes.flops = 2 * macs;
  sizes.flops_nominal = 2 * nominal;
}

// `transposed`: the cost of the adjoint convolution, with source and destination in each other's place.
Result<LayerSizes> ConvSizes(ConvDesc desc, bool transposed) {
  desc.bias = false;
  const Result<ConvCost> cost = rafter::CostOf(desc);
  if (!cost.ok()) return cost.status();
  LayerSizes sizes;
  SetMacs(cost->macs_valid, cost->flops_nominal / 2, sizes);
  // The bias belongs to the output's channels.
  const double bias = static_cast<double>(transposed ? desc.ic : desc.oc);
  sizes.parameters = static_cast<double>(cost->parameters) + bias;
  sizes.read_bytes = (transposed ? cost->dst_bytes : cost->src_bytes) + cost->weights_bytes + bias * kFloat;
  sizes.write_bytes = cost->dst_bytes;
  // The whole output of a transposed convolution is written, reached by taps or not.
  if (transposed) sizes.write_bytes = kFloat * static_cast<double>(desc.n * desc.ic * desc.in.h * desc.in.w);
  sizes.footprint_bytes = cost->footprint_bytes + bias * kFloat;
  return sizes;
}

Result<LayerSizes> DeconvSizes(const Fields& fields) {
  ConvDesc adjoint;  // from the big image to the small one
  adjoint.n = fields.Get("mb", 2);
  adjoint.groups = fields.Get("g", 1);
  adjoint.ic = fields.Get("oc");
  adjoint.oc = fields.Get("ic");
  const Size2 small = fields.Pair("i"), kernel = fields.Pair("k"), stride = fields.Pair("s", 1);
  const Size2 pad = fields.Pair("p", 0), dilation = fields.Pair("d", 0);
  const auto big = [](int64_t in, int64_t k, int64_t s, int64_t p, int64_t d) {
    return (in - 1) * s - 2 * p + (k - 1) * (d + 1) + 1;
  };
  adjoint.in = {big(small.h, kernel.h, stride.h, pad.h, dilation.h),
                big(small.w, kernel.w, stride.w, pad.w, dilation.w)};
  adjoint.kernel = kernel;
  adjoint.stride = stride;
  adjoint.dilation = {dilation.h + 1, dilation.w + 1};
  adjoint.pad = {pad.h, pad.w, pad.h, pad.w};
  return ConvSizes(adjoint, true);
}

LayerSizes FcSizes(const Fields& fields) {
  const Size2 image = fields.Pair("i", 1);
  const auto mb = static_cast<double>(fields.Get("mb", 2));
  const double ic = static_cast<double>(fields.Get("ic")) * static_cast<double>(image.h * image.w);
  const auto oc = static_cast<double>(fields.Get("oc"));
  LayerSizes sizes;
  SetMacs(mb * ic * oc, mb * ic * oc, sizes);
  sizes.parameters = ic * oc + oc;
  sizes.read_bytes = kFloat * (mb * ic + sizes.parameters);
  sizes.write_bytes = kFloat * mb * oc;
  sizes.footprint_bytes = sizes.bytes();
  return sizes;
}

Result<LayerSizes> MatmulSizes(const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() != a.size()) return Wrong("two tensors of equal rank, at least 2: 64x128:128x256");
  const size_t last = a.size() - 1;
  if (a[last] != b[last - 1]) return Wrong("as many columns of the first as rows of the second");
  double batches = 1, batches_a = 1, batches_b = 1;
  for (size_t i = 0; i + 1 < last; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return Wrong("batch dimensions that are equal or 1");
    batches *= static_cast<double>(std::max(a[i], b[i]));
    batches_a *= static_cast<double>(a[i]);
    batches_b *= static_cast<double>(b[i]);
  }
  const auto m = static_cast<double>(a[last - 1]), k = static_cast<double>(a[last]), n = static_cast<double>(b[last]);
  LayerSizes sizes;
  SetMacs(batches * m * n * k, batches * m * n * k, sizes);
  sizes.read_bytes = kFloat * (batches_a * m * k + batches_b * k * n);
  sizes.write_bytes = kFloat * batches * m * n;
  sizes.footprint_bytes = sizes.bytes();
  return sizes;
}

// Per step, layer and direction: four gates of (inputs + hidden) products, then 3 sigmoids, 2 tanh and the update of
// the cell (3 multiplications, 1 addition).
LayerSizes LstmSizes(const Fields& fields) {
  const auto steps = static_cast<double>(fields.Get("t")), mb = static_cast<double>(fields.Get("mb", 2));
  const auto inputs = static_cast<double>(fields.Get("ic")), hidden = static_cast<double>(fields.Get("hc"));
  const auto layers = static_cast<double>(fields.Get("l", 1)), directions = static_cast<double>(fields.Get("d", 1));
  LayerSizes sizes;
  double macs = 0;
  for (double layer = 0; layer < layers; ++layer) {
    const double from = layer == 0 ? inputs : hidden * directions;
    macs += directions * steps * mb * 4 * hidden * (from + hidden);
    sizes.parameters += directions * (4 * hidden * (from + hidden) + 4 * hidden);
  }
  SetMacs(macs, macs, sizes);
  const double cells = layers * directions * steps * mb * hidden;
  const double extra = cells * (4 + 3 * FlopsPerElement("sigmoid") + 2 * FlopsPerElement("tanh") + 4);
  sizes.flops += extra;
  sizes.flops_nominal += extra;
  const double states = 2 * layers * directions * mb * hidden;  // h and c, read at the start, written at the end
  sizes.read_bytes = kFloat * (steps * mb * inputs + sizes.parameters + states);
  sizes.write_bytes = kFloat * (steps * mb * hidden * directions + states);
  sizes.footprint_bytes = sizes.bytes();
  return sizes;
}

Result<LayerSizes> PoolSizes(const Fields& fields, bool average) {
  ConvDesc desc;  // depthwise of the same window: its counts are the pool's
  desc.n = fields.Get("mb", 2);
  desc.ic = desc.oc = desc.groups = fields.Get("ic");
  desc.in = fields.Pair("i");
  desc.kernel = fields.Pair("k");
  desc.stride = fields.Pair("s", 1);
  const Size2 pad = fields.Pair("p", 0), dilation = fields.Pair("d", 0);
  desc.dilation = {dilation.h + 1, dilation.w + 1};
  desc.pad = {pad.h, pad.w, pad.h, pad.w};
  desc.bias = false;
  const Result<ConvCost> cost = rafter::CostOf(desc);
  if (!cost.ok()) return cost.status();
  const double outputs = cost->dst_bytes / kFloat;
  LayerSizes sizes;
  // Of k values, k - 1 comparisons or additions, and one multiplication of an average.
  sizes.flops = cost->macs_valid - (average ? 0 : outputs);
  sizes.flops_nominal = cost->flops_nominal / 2 - (average ? 0 : outputs);
  sizes.read_bytes = cost->src_bytes;
  sizes.write_bytes = cost->dst_bytes;
  sizes.footprint_bytes = kFloat * static_cast<double>(desc.n * desc.ic * desc.in.h * desc.in.w) + cost->dst_bytes;
  return sizes;
}

LayerSizes ElementSizes(const ElementRule& rule, const Shape& shape) {
  const double elements = Elements(shape);
  LayerSizes sizes;
  sizes.flops = sizes.flops_nominal = elements * rule.flops;
  sizes.read_bytes = kFloat * elements * rule.inputs;
  sizes.write_bytes = kFloat * elements;
  sizes.footprint_bytes = sizes.bytes();
  return sizes;
}

Result<LayerSizes> ConcatSizes(const std::vector<Shape>& shapes) {
  if (shapes.size() < 2) return Wrong("at least two tensors: 1x64x56x56:1x32x56x56");
  LayerSizes sizes;
  for (const Shape& shape : shapes) {
    if (shape.size() != shapes[0].size()) return Wrong("tensors of equal rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != 1 && shape[i] != shapes[0][i]) return Wrong("tensors that differ in their second dimension only");
    }
    sizes.read_bytes += kFloat * Elements(shape);
  }
  sizes.write_bytes = sizes.read_bytes;
  sizes.footprint_bytes = sizes.bytes();
  return sizes;
}

Result<LayerSizes> PadSizes(Shape shape, const Shape& pad) {
  if (shape.size() != 4 || pad.size() != 4) return Wrong("a tensor of rank 4 and top,left,bottom,right");
  LayerSizes sizes;
  sizes.read_bytes = kFloat * Elements(shape);
  shape[2] += pad[0] + pad[2];
  shape[3] += pad[1] + pad[3];
  sizes.write_bytes = kFloat * Elements(shape);
  sizes.footprint_bytes = sizes.bytes();
  return sizes;
}

Result<LayerSizes> TensorSizes(std::string_view kind, std::string_view rest) {
  const bool pads = kind == "pad";
  const std::vector<std::string_view> pieces = SplitText(rest, ':');
  std::vector<Shape> shapes;
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::optional<Shape> shape = ReadShape(pieces[i], pads && i == 1 ? ',' : 'x', pads && i == 1 ? 0 : 1);
    if (!shape) return Wrong("sizes such as 1x64x56x56");
    shapes.push_back(std::move(*shape));
  }
  if (kind == "concat") return ConcatSizes(shapes);
  if (pads) return shapes.size() == 2 ? PadSizes(shapes[0], shapes[1]) : Wrong("1x3x224x224:3,3,3,3");
  if (kind == "matmul") return shapes.size() == 2 ? MatmulSizes(shapes[0], shapes[1]) : Wrong("64x128:128x256");
  if (shapes.size() != 1) return Wrong("one tensor");
  return ElementSizes(*FindElementRule(kind), shapes[0]);
}

Result<LayerSizes> Compute(std::string_view kind, std::string_view rest) {
  if (kind == "conv") {
    Result<Descriptor> descriptor = ParseDescriptor(rest);
    if (!descriptor.ok()) return descriptor.status();
    return ConvSizes(descriptor->desc, false);
  }
  if (kind == "concat" || kind == "pad" || kind == "matmul" || FindElementRule(kind) != nullptr) {
    return TensorSizes(kind, rest);
  }
  const bool pool = kind == "maxpool" || kind == "avgpool";
  if (kind != "fc" && kind != "lstm" && kind != "deconv" && !pool) {
    return Status::InvalidArgument("'" + Printable(kind) +
                                   "' is no kind of layer; allowed: conv deconv fc matmul lstm maxpool avgpool concat "
                                   "pad copy add mul, and the names of post-ops (rafter list)");
  }
  Result<Fields> fields = Fields::Parse(rest);
  if (!fields.ok()) return fields.status();
  Result<LayerSizes> sizes = kind == "fc"     ? Result<LayerSizes>(FcSizes(*fields))
                             : kind == "lstm" ? Result<LayerSizes>(LstmSizes(*fields))
                             : pool           ? PoolSizes(*fields, kind == "avgpool")
                                              : DeconvSizes(*fields);
  if (Status status = fields->CheckUse(); !status.ok()) return status;
  return sizes;
}

}  // namespace

int FlopsPerElement(std::string_view name) noexcept {
  const ElementRule* rule = FindElementRule(name);
  return rule != nullptr ? rule->flops : -1;
}

Result<LayerSizes> SizesOf(std::string_view layer) {
  const size_t colon = layer.find(':');
  // A name behind an 'n' may hold colons: then it is a descriptor all the same.
  const bool bare =
      colon == std::string_view::npos || layer.substr(0, colon).find_first_of("0123456789") != std::string_view::npos;
  const std::string kind(bare ? "conv" : layer.substr(0, colon));
  Result<LayerSizes> sizes = Compute(kind, bare ? layer : layer.substr(colon + 1));
  if (!sizes.ok()) {
    return Status::InvalidArgument("layer: '" + Printable(layer) + "': " + std::string(sizes.status().message()));
  }
  sizes->kind = kind;
  sizes->text = std::string(layer);
  return sizes;
}

LayerSizes SumOf(std::span<const LayerSizes> layers) {
  LayerSizes sum;
  sum.kind = "sum";
  for (const LayerSizes& one : layers) {
    sum.flops += one.flops;
    sum.flops_nominal += one.flops_nominal;
    sum.macs += one.macs;
    sum.macs_nominal += one.macs_nominal;
    sum.parameters += one.parameters;
    sum.read_bytes += one.read_bytes;
    sum.write_bytes += one.write_bytes;
    sum.footprint_bytes = std::max(sum.footprint_bytes, one.footprint_bytes);
  }
  return sum;
}

}  // namespace rafter::bench
