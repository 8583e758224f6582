/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "nn/model.h"

/* The networks that other frameworks are timed on as well, so that figures are comparable, and a small one with batch norm to
 * begin with. Every text is an ordinary model file. */

#define LENET5                                                                                                                  \
  "{\n"                                                                                                                         \
  "  \"name\": \"LeNet5\",\n"                                                                                                   \
  "  \"input\": {\"shape\": [1, 32, 32], \"pad\": 2, \"mean\": 0.1307, \"std\": 0.3081},\n"                                     \
  "  \"init\": \"mindspore2\",\n"                                                                                               \
  "  \"cells\": [\n"                                                                                                            \
  "    {\"type\": \"Conv2d\", \"name\": \"conv1\", \"out_channels\": 6, \"kernel\": 5, \"pad_mode\": \"valid\", \"has_bias\": true},\n" \
  "    {\"type\": \"ReLU\", \"name\": \"relu1\"},\n"                                                                            \
  "    {\"type\": \"MaxPool2d\", \"name\": \"pool1\", \"kernel\": 2, \"stride\": 2},\n"                                         \
  "    {\"type\": \"Conv2d\", \"name\": \"conv2\", \"out_channels\": 16, \"kernel\": 5, \"pad_mode\": \"valid\", \"has_bias\": true},\n" \
  "    {\"type\": \"ReLU\", \"name\": \"relu2\"},\n"                                                                            \
  "    {\"type\": \"MaxPool2d\", \"name\": \"pool2\", \"kernel\": 2, \"stride\": 2},\n"                                         \
  "    {\"type\": \"Flatten\", \"name\": \"flatten\"},\n"                                                                       \
  "    {\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 120},\n"                                                      \
  "    {\"type\": \"ReLU\", \"name\": \"relu3\"},\n"                                                                            \
  "    {\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 84},\n"                                                       \
  "    {\"type\": \"ReLU\", \"name\": \"relu4\"},\n"                                                                            \
  "    {\"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 10}\n"                                                        \
  "  ]\n"                                                                                                                       \
  "}\n"

#define MLP                                                                                                                     \
  "{\n"                                                                                                                         \
  "  \"name\": \"MLP\",\n"                                                                                                      \
  "  \"input\": {\"shape\": [1, 28, 28], \"mean\": 0.1307, \"std\": 0.3081},\n"                                                 \
  "  \"init\": \"mindspore2\",\n"                                                                                               \
  "  \"cells\": [\n"                                                                                                            \
  "    {\"type\": \"Flatten\", \"name\": \"flatten\"},\n"                                                                       \
  "    {\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 512},\n"                                                      \
  "    {\"type\": \"ReLU\", \"name\": \"relu1\"},\n"                                                                            \
  "    {\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 512},\n"                                                      \
  "    {\"type\": \"ReLU\", \"name\": \"relu2\"},\n"                                                                            \
  "    {\"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 10}\n"                                                        \
  "  ]\n"                                                                                                                       \
  "}\n"

#define SMALL_BLOCK(n, channels)                                                                                                \
  "    {\"type\": \"Conv2d\", \"name\": \"conv" n "\", \"out_channels\": " channels ", \"kernel\": 3},\n"                       \
  "    {\"type\": \"BatchNorm2d\", \"name\": \"bn" n "\"},\n"                                                                   \
  "    {\"type\": \"ReLU\", \"name\": \"relu" n "\"},\n"                                                                        \
  "    {\"type\": \"MaxPool2d\", \"name\": \"pool" n "\", \"kernel\": 2, \"stride\": 2},\n"

#define SMALL_CNN                                                                                                               \
  "{\n"                                                                                                                         \
  "  \"name\": \"SmallCNN\",\n"                                                                                                 \
  "  \"input\": {\"shape\": [1, 28, 28], \"mean\": 0.1307, \"std\": 0.3081},\n"                                                 \
  "  \"init\": \"mindspore2\",\n"                                                                                               \
  "  \"cells\": [\n" SMALL_BLOCK ("1", "16") SMALL_BLOCK ("2", "32")                                                            \
  "    {\"type\": \"Conv2d\", \"name\": \"conv3\", \"out_channels\": 64, \"kernel\": 3},\n"                                     \
  "    {\"type\": \"BatchNorm2d\", \"name\": \"bn3\"},\n"                                                                       \
  "    {\"type\": \"ReLU\", \"name\": \"relu3\"},\n"                                                                            \
  "    {\"type\": \"GlobalAvgPool\", \"name\": \"pool3\"},\n"                                                                   \
  "    {\"type\": \"Dropout\", \"name\": \"dropout\", \"p\": 0.1},\n"                                                           \
  "    {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 10}\n"                                                         \
  "  ]\n"                                                                                                                       \
  "}\n"

#define CONV3(indent, name, channels, stride)                                                                                   \
  indent "{\"type\": \"Conv2d\", \"name\": \"" name "\", \"out_channels\": " channels ", \"kernel\": 3, \"stride\": " stride    \
         ", \"pad_mode\": \"pad\", \"padding\": 1},\n"
#define BLOCK(name, channels, stride, shortcut)                                                                                 \
  "      {\"type\": \"Residual\", \"name\": \"" name "\", \"activation\": \"relu\", \"body\": [\n"                              \
  CONV3 ("        ", "conv1", channels, stride)                                                                                 \
  "        {\"type\": \"BatchNorm2d\", \"name\": \"bn1\"},\n"                                                                   \
  "        {\"type\": \"ReLU\", \"name\": \"relu1\"},\n"                                                                        \
  CONV3 ("        ", "conv2", channels, "1")                                                                                    \
  "        {\"type\": \"BatchNorm2d\", \"name\": \"bn2\"}\n"                                                                    \
  "      ]" shortcut "}"
#define SHORTCUT(channels)                                                                                                      \
  ", \"shortcut\": [\n"                                                                                                         \
  "        {\"type\": \"Conv2d\", \"name\": \"0\", \"out_channels\": " channels ", \"kernel\": 1, \"stride\": 2, \"pad_mode\": \"valid\"},\n" \
  "        {\"type\": \"BatchNorm2d\", \"name\": \"1\"}\n"                                                                      \
  "      ]"
#define STAGE(name, channels, stride, shortcut)                                                                                 \
  "    {\"type\": \"SequentialCell\", \"name\": \"" name "\", \"cells\": [\n"                                                   \
  BLOCK ("0", channels, stride, shortcut) ",\n"                                                                                 \
  BLOCK ("1", channels, "1", "") "\n"                                                                                           \
  "    ]},\n"

#define RESNET18_CIFAR                                                                                                          \
  "{\n"                                                                                                                         \
  "  \"name\": \"ResNet18\",\n"                                                                                                 \
  "  \"input\": {\"shape\": [3, 32, 32], \"mean\": [0.4914, 0.4822, 0.4465], \"std\": [0.247, 0.2435, 0.2616]},\n"              \
  "  \"init\": \"mindspore2\",\n"                                                                                               \
  "  \"cells\": [\n"                                                                                                            \
  CONV3 ("    ", "conv1", "64", "1")                                                                                            \
  "    {\"type\": \"BatchNorm2d\", \"name\": \"bn1\"},\n"                                                                       \
  "    {\"type\": \"ReLU\", \"name\": \"relu\"},\n"                                                                             \
  STAGE ("layer1", "64", "1", "")                                                                                               \
  STAGE ("layer2", "128", "2", SHORTCUT ("128"))                                                                                \
  STAGE ("layer3", "256", "2", SHORTCUT ("256"))                                                                                \
  STAGE ("layer4", "512", "2", SHORTCUT ("512"))                                                                                \
  "    {\"type\": \"GlobalAvgPool\", \"name\": \"avgpool\"},\n"                                                                 \
  "    {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 10}\n"                                                         \
  "  ]\n"                                                                                                                       \
  "}\n"

static const struct
{
  const char *name, *text;
} presets[] = {
  { "lenet5", LENET5 },
  { "mlp", MLP },
  { "resnet18-cifar", RESNET18_CIFAR },
  { "small-cnn", SMALL_CNN },
};

const char *
tn_model_preset (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    if (strcmp (presets[i].name, name) == 0)
      return presets[i].text;
  return NULL;
}

const char *const *
tn_model_preset_names (void)
{
  static const char *const names[] = { "lenet5", "mlp", "resnet18-cifar", "small-cnn", NULL };
  return names;
}
