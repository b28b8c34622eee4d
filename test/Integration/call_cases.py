"""Small PTX kernels as in instruction_cases.py: calls of functions, dp2a, fns."""

from dataclasses import dataclass

from instruction_cases import Case, THREADS, inputs, module  # noqa: F401  (of all files)

FUNCTIONS = """
.func (.param .b32 func_retval0) {name}_square(.param .b32 {name}_square_0)
{{
 .reg .b32 %r<3>;
 ld.param.b32 %r0, [{name}_square_0];
 mul.lo.u32 %r1, %r0, %r0;
 st.param.b32 [func_retval0], %r1;
 ret;
}}
.func (.param .b64 func_retval0) {name}_collatz(.param .b32 {name}_collatz_0, .param .b32 {name}_collatz_1)
{{
 .reg .pred %p<3>;
 .reg .b32 %r<8>;
 .reg .b64 %rd<2>;
 ld.param.b32 %r0, [{name}_collatz_0];
 ld.param.b32 %r1, [{name}_collatz_1];
 mov.u32 %r2, 0;
$STEP:
 setp.le.u32 %p0, %r0, 1;
 setp.ge.or.u32 %p0, %r2, %r1, %p0;
 @%p0 bra $DONE;
 add.u32 %r2, %r2, 1;
 and.b32 %r3, %r0, 1;
 shr.u32 %r4, %r0, 1;
 mad.lo.u32 %r5, %r0, 3, 1;
 setp.eq.u32 %p1, %r3, 0;
 selp.b32 %r0, %r4, %r5, %p1;
 bra $STEP;
$DONE:
 mov.b64 %rd0, {{%r2, %r0}};
 st.param.b64 [func_retval0], %rd0;
 ret;
}}
.func (.reg .b32 {name}_r) {name}_early(.reg .b32 {name}_a, .reg .b32 {name}_b)
{{
 .reg .pred %p;
 mov.b32 {name}_r, 7;
 setp.lt.s32 %p, {name}_a, {name}_b;
 @%p ret;
 sub.s32 {name}_r, {name}_a, {name}_b;
 ret;
}}
"""


@dataclass(frozen=True)
class CallCase(Case):
    """A case whose body calls the functions above."""

    def text(self):
        return FUNCTIONS.format(name=self.name) + super().text()


def _call(function, results, arguments, name):
    """As LLVM writes a call; results and arguments are pairs of type and register."""
    lines = ["{"]
    for kind, pairs in (("param", arguments), ("retval", results)):
        lines += [f".param .{type_name} {kind}{i};" for i, (type_name, _) in enumerate(pairs)]
    lines += [f"st.param.{type_name} [param{i}], {register};"
              for i, (type_name, register) in enumerate(arguments)]
    names = ", ".join(f"param{i}" for i in range(len(arguments)))
    outs = ", ".join(f"retval{i}" for i in range(len(results)))
    lines += [f"call.uni ({outs}), {name}_{function}, ({names});"]
    lines += [f"ld.param.{type_name} {register}, [retval{i}];"
              for i, (type_name, register) in enumerate(results)]
    return "\n".join([*lines, "}"])


CASES = [
    CallCase("call_square", "u32", "b32", "\n".join([
        _call("square", [("b32", "%x32")], [("b32", "%a32")], "call_square"),
        _call("square", [("b32", "%y32")], [("b32", "%x32")], "call_square")])),
    # Lanes with different numbers of iterations.
    CallCase("call_loop", "u32", "b32", "and.b32 %r0, %a32, 1023;\n" + _call(
        "collatz", [("b64", "%rd1")], [("b32", "%r0"), ("b32", "50")], "call_loop") + """
        mov.b64 {%x32, %y32}, %rd1;
        activemask.b32 %z32;"""),
    CallCase("call_registers", "u32", "b32", """
        call (%x32), call_registers_early, (%a32, %b32);
        setp.gt.s32 %p2, %a32, %c32;
        @%p2 call (%y32), call_registers_early, (%a32, 5);"""),
    Case("dp2a_lo", "u32", "b32", """
        dp2a.lo.s32.s32 %x32, %a32, %b32, %c32;
        dp2a.lo.u32.s32 %y32, %a32, %b32, %c32;
        dp2a.lo.s32.u32 %z32, %a32, %b32, %c32;
        dp2a.lo.u32.u32 %w32, %a32, %b32, %c32;"""),
    Case("dp2a_hi", "u32", "b32", """
        dp2a.hi.s32.s32 %x32, %a32, %b32, %c32;
        dp2a.hi.u32.s32 %y32, %a32, %b32, %c32;
        dp2a.hi.s32.u32 %z32, %a32, %b32, %c32;
        dp2a.hi.u32.u32 %w32, %a32, %b32, %c32;"""),
    Case("fns", "u32", "b32", """
        and.b32 %r0, %b32, 31;
        rem.s32 %r1, %c32, 9;
        fns.b32 %x32, %a32, %r0, %r1;
        fns.b32 %y32, %a32, %r0, 0;
        fns.b32 %z32, %a32, 0, %r1;
        fns.b32 %w32, %a32, 31, -3;"""),
]
