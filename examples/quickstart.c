/* The quick start in plain C: a 3x3 convolution with ReLU over a 56x56 image of 64 channels (NHWC). */
#include <stdio.h>
#include <stdlib.h>

#include <rafter/rafter_c.h>

static float* filled(size_t count, float value) {
  float* data = malloc(count * sizeof *data);
  for (size_t i = 0; data != NULL && i < count; ++i) data[i] = value;
  return data;
}

int main(void) {
  const rafter_post_op relu = {.kind = RAFTER_RELU};
  rafter_conv_desc desc;
  rafter_conv_desc_init(&desc);
  desc.ic = desc.oc = 64;
  desc.in_h = desc.in_w = 56;
  desc.kernel_h = desc.kernel_w = 3;
  desc.pad_top = desc.pad_left = desc.pad_bottom = desc.pad_right = 1;
  desc.post_ops = &relu;
  desc.num_post_ops = 1;

  float* src = filled(56 * 56 * 64, 1.0f);
  float* dst = filled(56 * 56 * 64, 0.0f);
  float* oihw = filled(64 * 64 * 3 * 3, 0.01f);
  float* bias = filled(64, 0.5f);
  if (src == NULL || dst == NULL || oihw == NULL || bias == NULL) return 1;

  rafter_conv* conv = NULL;
  rafter_packed_weights* weights = NULL;
  if (rafter_conv_create(&desc, NULL, &conv) != RAFTER_OK ||
      rafter_pack_weights(conv, oihw, bias, 0, &weights) != RAFTER_OK ||
      rafter_conv_run(conv, src, weights, dst, NULL) != RAFTER_OK) {
    fprintf(stderr, "%s\n", rafter_last_error());
    return 1;
  }

  const float centre = dst[(28 * 56 + 28) * 64]; /* 64 * 9 * 0.01 + 0.5 */
  printf("%s on %d threads: %.2f\n", rafter_conv_kernel_name(conv), (int)rafter_conv_threads(conv),
         centre);

  rafter_packed_weights_destroy(weights);
  rafter_conv_destroy(conv);
  free(bias);
  free(oihw);
  free(dst);
  free(src);
  return centre > 6.25f && centre < 6.27f ? 0 : 1;
}
