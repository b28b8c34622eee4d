#include "RewriteExp2.h"
using namespace mlir;
using namespace mamba;
unsigned mamba::foldWeights(RewriterBase &, Operation *) { return 0; }
