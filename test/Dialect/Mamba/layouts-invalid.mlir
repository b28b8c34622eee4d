// RUN: mamba-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected a linear layout}}
func.func private @text() attributes {l = #mamba.layout<"register[">}

// -----

// expected-error @+1 {{expected inputs register, lane and warp, got 'offset'}}
func.func private @input() attributes {l = #mamba.layout<"offset[1] -> dim0[2]">}

// -----

func.func @rank(%v: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error @+1 {{expected a layout of 2 dimensions, got 1}}
  %r = mamba.convert_layout %v to <"register[1] -> dim0[2]"> : vector<2x2xf32>
  return %r : vector<2x2xf32>
}

// -----

func.func @size(%v: vector<3xf32>) -> vector<3xf32> {
  // expected-error @+1 {{expected size 4 of dimension 0 of the layout, got 2}}
  %r = mamba.convert_layout %v to <"register[1] -> dim0[2]"> : vector<3xf32>
  return %r : vector<3xf32>
}
