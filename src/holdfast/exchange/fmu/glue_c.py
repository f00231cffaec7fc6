"""The interface in C, over the functions of `core`."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.exchange.fmu.interface import MAKERS, Entry, entries

TYPES = {"p": "void *", "i": "int ", "b": "unsigned char ", "z": "size_t ", "d": "double "}
CORE = frozenset("begin reset time put_states states rates nominals advance".split())
STATEMENTS = {
    "zero4": "*(int *)a{0} = 0;",
    "zero1": "*(unsigned char *)a{0} = 0;",
    "zero20": "memset(a{0}, 0, 20);",
    "none": "*(size_t *)a{0} = 0;",
    "many": "*(size_t *)a{0} = HF_STATES;",
    "ok": "return 0;",
    "fail": "return 3;",
    "empty": "return a{0} ? 3 : 0;",
    "get": "return hf_get(a{0}, a{1}, a{2}, a{3});",
    "set": "return hf_set(a{0}, a{1}, a{2}, a{3});",
    "save": "return hf_save(a{0}, a{1});",
    "restore": "memcpy(a{0}, a{1}, HF_SIZE * sizeof(double)); return 0;",
    "drop": "return hf_drop(a{0});",
    "advanced": "{{ const int64_t said = hf_fmu_advance(a{0}, a{1}, a{2}); *(double *)a{3} = *(double *)a{0};"
    " return (int)said; }}",
}

HELPERS = """static int hf_get(double *m, const uint32_t *vr, size_t n, double *values)
{
    size_t i;
    hf_fmu_refresh(m);
    for (i = 0; i < n; i++) {
        if (vr[i] >= HF_VARIABLES) return 3;
        values[i] = m[vr[i]];
    }
    return 0;
}

static int hf_set(double *m, const uint32_t *vr, size_t n, const double *values)
{
    size_t i;
    for (i = 0; i < n; i++) {
        if (vr[i] < 1 || vr[i] > HF_SETTABLE) return 3;
        m[vr[i]] = values[i];
        m[HF_STALE] = 1.0;
    }
    return 0;
}

static void *hf_create(const char *token)
{
    double *m;
    if (!token || strcmp(token, HF_TOKEN)) return 0;
    m = (double *)calloc(HF_SIZE, sizeof(double));
    if (m) (void)hf_fmu_reset(m);
    return m;
}

static int hf_save(const double *m, void **place)
{
    if (!*place) *place = calloc(HF_SIZE, sizeof(double));
    if (!*place) return 3;
    memcpy(*place, m, HF_SIZE * sizeof(double));
    return 0;
}

static int hf_drop(void **place)
{
    free(*place);
    *place = 0;
    return 0;
}
"""


def glue(version: int) -> Iterator[str]:
    """The text behind the core."""
    yield HELPERS
    yield f'HF_EXPORT const char *fmi{version}GetVersion(void) {{ return "{version}.0"; }}'
    if version == 2:
        yield 'HF_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }'
    for name, (kinds, token) in MAKERS[version].items():
        made = f"hf_create((const char *)a{token})" if token >= 0 else "0"
        listed, unused = _arguments(tuple(kinds.split()))
        yield f"HF_EXPORT void *fmi{version}{name}({listed}) {{ {unused} return {made}; }}"
    yield f"HF_EXPORT void fmi{version}FreeInstance(void *a0) {{ free(a0); }}"
    yield from map(_function, entries(version))


def _arguments(kinds: tuple[str, ...]) -> tuple[str, str]:
    listed = ", ".join(f"{TYPES[kind]}a{k}" for k, kind in enumerate(kinds))
    return listed, " ".join(f"(void)a{k};" for k in range(len(kinds)))


def _function(entry: Entry) -> str:
    listed, unused = _arguments(entry.arguments)
    done = []
    for word, *numbers in entry.actions:
        if word in CORE:
            done.append(f"return (int)hf_fmu_{word}({', '.join(f'a{k}' for k in numbers)});")
        else:
            done.append(STATEMENTS[word].format(*numbers))
    return f"HF_EXPORT int {entry.name}({listed}) {{ {unused} {' '.join(done)} }}"
