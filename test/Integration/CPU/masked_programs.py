"""Random tile programs with masks, as text, and what they compute.

out[i] = sum over j with mask(i, j) of w(i, j) * v[j], in tiles of rows and
columns, where w is s[i, j] * exp(g[i] - g[j]) or a part of that.
"""

from dataclasses import dataclass

import numpy as np

MAPS = """
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
"""

# Comparisons `lhs P rhs` of column + offset and row, and which side is first.
ORDERS = {
    "le": ("sle", False), "lt": ("slt", False), "ge": ("sge", False), "gt": ("sgt", False),
    "ule": ("ule", False), "ugt": ("ugt", False),
    "row_ge": ("sge", True), "row_gt": ("ugt", True), "row_le": ("sle", True),
    "row_lt": ("slt", True),
}
COMPARE = {"le": np.less_equal, "lt": np.less, "ge": np.greater_equal, "gt": np.greater}


@dataclass(frozen=True)
class MaskedProgram:
    """A program; sizes of tiles are in elements, the length is an argument."""

    rows: int = 4
    columns: int = 4
    order: str = "le"
    offset: int = 0  # added to the column
    weight: str = "decay"  # scores, decay, bounded, product, before
    negated: bool = False  # selected to be 0 where the opposite holds
    also: bool = False  # a second condition, of the row only

    def mask(self, length):
        predicate, is_row_first = ORDERS[self.order]
        column, row = np.arange(length)[None, :] + self.offset, np.arange(length)[:, None]
        lhs, rhs = (row, column) if is_row_first else (column, row)
        mask = COMPARE[predicate[-2:]](lhs, rhs)
        return mask & (np.arange(length)[:, None] % 3 != 0) if self.also else mask

    def text(self):
        """The function `masked`: (s, g, v) -> out."""
        predicate, is_row_first = ORDERS[self.order]
        if self.negated:
            opposite = {"le": "gt", "gt": "le", "lt": "ge", "ge": "lt"}
            predicate = predicate[:-2] + opposite[predicate[-2:]]
        sides = "%row, %column" if is_row_first else "%column, %row"
        weights = {
            "scores": "%p = arith.mulf %sij, %one : f32",
            "decay": "%p = math.exp %d : f32",
            "bounded": "%e = math.exp %low : f32\n%p = arith.mulf %sij, %e : f32",
            "product": "%e = math.exp %d : f32\n%p = arith.mulf %sij, %e : f32",
            "before": "%p = arith.mulf %sij, %one : f32",
        }
        chosen = "%zero, %p" if self.negated else "%p, %zero"
        condition = "%order"
        second = ""
        if self.also:
            condition = "%both"
            second = f"""
          %three = arith.constant 3 : index
          %rest = arith.remui %row, %three : index
          %c0i = arith.constant 0 : index
          %other = arith.cmpi {"eq" if self.negated else "ne"}, %rest, %c0i : index
          %both = arith.{"ori" if self.negated else "andi"} %order, %other : i1"""
        final = "%masked"
        after = ""
        if self.weight == "before":
            final, after = "%t", "%e = math.exp %d : f32\n%t = arith.mulf %masked, %e : f32"
        return MAPS + f"""
func.func @masked(%s: tensor<?x?xf32>, %g: tensor<?xf32>, %v: tensor<?x5xf32>) -> tensor<?x5xf32> {{
  %c0 = arith.constant 0 : index
  %crows = arith.constant {self.rows} : index
  %ccolumns = arith.constant {self.columns} : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %length = tensor.dim %v, %c0 : tensor<?x5xf32>
  %empty = tensor.empty(%length) : tensor<?x5xf32>
  %out = scf.for %i0 = %c0 to %length step %crows iter_args(%o = %empty) -> (tensor<?x5xf32>) {{
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, {self.rows})>(%i0)[%length]
    %gi = tensor.extract_slice %g[%i0] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %e0 = tensor.empty(%m) : tensor<?x5xf32>
    %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x5xf32>) -> tensor<?x5xf32>
    %sum = scf.for %j0 = %c0 to %length step %ccolumns iter_args(%acc = %f0) -> (tensor<?x5xf32>) {{
      %n = affine.min affine_map<(d0)[s0] -> (s0 - d0, {self.columns})>(%j0)[%length]
      %gj = tensor.extract_slice %g[%j0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
      %sij = tensor.extract_slice %s[%i0, %j0] [%m, %n] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
      %vj = tensor.extract_slice %v[%j0, 0] [%n, 5] [1, 1] : tensor<?x5xf32> to tensor<?x5xf32>
      %e1 = tensor.empty(%m, %n) : tensor<?x?xf32>
      %w = linalg.generic {{indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]}}
          ins(%sij, %gi, %gj : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%e1 : tensor<?x?xf32>) {{
        ^bb0(%sij_: f32, %gi_: f32, %gj_: f32, %old: f32):
          %d = arith.subf %gi_, %gj_ : f32
          %low = arith.minimumf %d, %zero : f32
          {weights[self.weight].replace("%sij", "%sij_")}
          %i = linalg.index 0 : index
          %j = linalg.index 1 : index
          %row = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
          %column = affine.apply affine_map<(d0)[s0] -> (d0 + s0 + {self.offset})>(%j)[%j0]
          %order = arith.cmpi {predicate}, {sides} : index{second}
          %masked = arith.select {condition}, {chosen} : f32
          {after}
          linalg.yield {final} : f32
      }} -> tensor<?x?xf32>
      %next = linalg.matmul ins(%w, %vj : tensor<?x?xf32>, tensor<?x5xf32>) outs(%acc : tensor<?x5xf32>) -> tensor<?x5xf32>
      scf.yield %next : tensor<?x5xf32>
    }}
    %new = tensor.insert_slice %sum into %o[%i0, 0] [%m, 5] [1, 1] : tensor<?x5xf32> into tensor<?x5xf32>
    scf.yield %new : tensor<?x5xf32>
  }}
  return %out : tensor<?x5xf32>
}}
"""

    def compute(self, s, g, v):
        """The result in f64; what is masked may be anything."""
        mask = self.mask(len(g))
        s, g, v = (array.astype(np.float64) for array in (s, g, v))
        with np.errstate(all="ignore"):
            exponent = g[:, None] - g[None, :]
            decay = np.exp(np.minimum(exponent, 0) if self.weight == "bounded" else exponent)
            weight = {"scores": s, "decay": decay}.get(self.weight, s * decay)
            return np.where(mask, weight, 0) @ v


def random_program(rng):
    """A program with a mask of some form."""
    order = str(rng.choice(list(ORDERS)))
    return MaskedProgram(
        rows=int(rng.choice([1, 3, 4, 8])), columns=int(rng.choice([1, 2, 4, 6])), order=order,
        offset=int(rng.integers(0, 3) if ORDERS[order][0][0] == "u" else rng.integers(-3, 4)),
        weight=str(rng.choice(["scores", "decay", "bounded", "product", "before"])),
        negated=bool(rng.integers(2)), also=bool(rng.integers(2)))
