#include "RewriteExp2.h"
using namespace mlir;
using namespace mamba;
unsigned mamba::separateFactors(RewriterBase &, Operation *) { return 0; }
