"""The interface in LLVM IR, over the functions of `core`: the same table, and no compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.exchange.fmu.glue_c import CORE
from holdfast.exchange.fmu.interface import MAKERS, Entry, entries

TYPES = {"p": "ptr", "i": "i32", "b": "i8", "z": "i64", "d": "double"}
CORE_TYPES = {"time": "d", "put_states": "pz", "states": "pz", "rates": "pz", "nominals": "pz", "advance": "dd"}
STATEMENTS = {
    "zero4": "store i32 0, ptr %a{0}",
    "zero1": "store i8 0, ptr %a{0}",
    "zero20": "store [5 x i32] zeroinitializer, ptr %a{0}",
    "none": "store i64 0, ptr %a{0}",
    "many": "store i64 {states}, ptr %a{0}",
    "ok": "ret i32 0",
    "fail": "ret i32 3",
    "empty": "%none = icmp eq i64 %a{0}, 0\n  %said = select i1 %none, i32 0, i32 3\n  ret i32 %said",
    "get": "%said = call i32 @hf_get(ptr %a{0}, ptr %a{1}, i64 %a{2}, ptr %a{3})\n  ret i32 %said",
    "set": "%said = call i32 @hf_set(ptr %a{0}, ptr %a{1}, i64 %a{2}, ptr %a{3})\n  ret i32 %said",
    "save": "%said = call i32 @hf_save(ptr %a{0}, ptr %a{1})\n  ret i32 %said",
    "restore": "%kept = call ptr @memcpy(ptr %a{0}, ptr %a{1}, i64 {bytes})\n  ret i32 0",
    "drop": "%kept = load ptr, ptr %a{0}\n  call void @free(ptr %kept)\n  store ptr null, ptr %a{0}\n  ret i32 0",
    "advanced": "%long = call i64 @fmu_advance(ptr %a{0}, double %a{1}, double %a{2})\n"
    "  %now = load double, ptr %a{0}\n  store double %now, ptr %a{3}\n"
    "  %said = trunc i64 %long to i32\n  ret i32 %said",
}

HELPERS = """declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @strcmp(ptr, ptr)

define internal i32 @hf_get(ptr %m, ptr %vr, i64 %n, ptr %values) {{
entry:
  call void @fmu_refresh(ptr %m)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %good ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %look, label %done
look:
  %at = getelementptr i32, ptr %vr, i64 %i
  %short = load i32, ptr %at
  %place = zext i32 %short to i64
  %known = icmp ult i64 %place, {variables}
  br i1 %known, label %good, label %unknown
good:
  %from = getelementptr double, ptr %m, i64 %place
  %value = load double, ptr %from
  %to = getelementptr double, ptr %values, i64 %i
  store double %value, ptr %to
  %next = add i64 %i, 1
  br label %head
done:
  ret i32 0
unknown:
  ret i32 3
}}

define internal i32 @hf_set(ptr %m, ptr %vr, i64 %n, ptr %values) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %good ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %look, label %done
look:
  %at = getelementptr i32, ptr %vr, i64 %i
  %short = load i32, ptr %at
  %place = zext i32 %short to i64
  %first = sub i64 %place, 1
  %known = icmp ult i64 %first, {settable}
  br i1 %known, label %good, label %unknown
good:
  %from = getelementptr double, ptr %values, i64 %i
  %value = load double, ptr %from
  %to = getelementptr double, ptr %m, i64 %place
  store double %value, ptr %to
  %stale = getelementptr double, ptr %m, i64 {stale}
  store double 1.0, ptr %stale
  %next = add i64 %i, 1
  br label %head
done:
  ret i32 0
unknown:
  ret i32 3
}}

define internal ptr @hf_create(ptr %token) {{
entry:
  %given = icmp ne ptr %token, null
  br i1 %given, label %look, label %none
look:
  %differs = call i32 @strcmp(ptr %token, ptr @hf_token)
  %same = icmp eq i32 %differs, 0
  br i1 %same, label %make, label %none
make:
  %m = call ptr @calloc(i64 {size}, i64 8)
  %made = icmp ne ptr %m, null
  br i1 %made, label %fill, label %none
fill:
  %said = call i64 @fmu_reset(ptr %m)
  ret ptr %m
none:
  ret ptr null
}}

define internal i32 @hf_save(ptr %m, ptr %at) {{
entry:
  %old = load ptr, ptr %at
  %none = icmp eq ptr %old, null
  br i1 %none, label %make, label %copy
make:
  %new = call ptr @calloc(i64 {size}, i64 8)
  store ptr %new, ptr %at
  %missing = icmp eq ptr %new, null
  br i1 %missing, label %failed, label %copy
copy:
  %to = load ptr, ptr %at
  %kept = call ptr @memcpy(ptr %to, ptr %m, i64 {bytes})
  ret i32 0
failed:
  ret i32 3
}}
"""


def glue(version: int, token: str, sizes: Mapping[str, int]) -> Iterator[str]:
    """The text behind the core; `sizes` are states, variables, settable, stale, size and bytes."""
    yield _text("hf_token", token)
    yield _text("hf_version", f"{version}.0")
    yield HELPERS.format(**sizes)
    yield f"define ptr @fmi{version}GetVersion() {{\n  ret ptr @hf_version\n}}"
    if version == 2:
        yield _text("hf_platform", "default")
        yield "define ptr @fmi2GetTypesPlatform() {\n  ret ptr @hf_platform\n}"
    for name, (kinds, place) in MAKERS[version].items():
        made = f"%m = call ptr @hf_create(ptr %a{place})\n  ret ptr %m" if place >= 0 else "ret ptr null"
        yield f"define ptr @fmi{version}{name}({_arguments(tuple(kinds.split()))}) {{\n  {made}\n}}"
    yield f"define void @fmi{version}FreeInstance(ptr %a0) {{\n  call void @free(ptr %a0)\n  ret void\n}}"
    for entry in entries(version):
        yield _function(entry, sizes)


def _text(name: str, text: str) -> str:
    size = len(text.encode("ascii")) + 1
    return f'@{name} = private unnamed_addr constant [{size} x i8] c"{text}\\00"'


def _arguments(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"{TYPES[kind]} %a{k}" for k, kind in enumerate(kinds))


def _function(entry: Entry, sizes: Mapping[str, int]) -> str:
    lines = []
    for word, *numbers in entry.actions:
        if word in CORE:
            kinds = "p" + CORE_TYPES.get(word, "")
            given = ", ".join(f"{TYPES[kind]} %a{k}" for kind, k in zip(kinds, numbers, strict=True))
            lines.append(f"%long = call i64 @fmu_{word}({given})\n  %said = trunc i64 %long to i32\n  ret i32 %said")
        else:
            lines.append(STATEMENTS[word].format(*numbers, **sizes))
    body = "\n  ".join(lines)
    return f"define i32 @{entry.name}({_arguments(entry.arguments)}) {{\n  {body}\n}}"
