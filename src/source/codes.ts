/** What each diagnostic code stands for. Codes are stable: one is added, none is renamed. */
interface CodeEntry {
  readonly severity: "error" | "warning"
  /** What is wrong, in one sentence. */
  readonly summary: string
  /** What the author does about it. */
  readonly fix: string
}

const entry = (severity: CodeEntry["severity"], summary: string, fix: string): CodeEntry => ({
  severity,
  summary,
  fix,
})

export const codes = {
  "syntax-error": entry("error", "The text is not a workflow at this place.", "Write what the message expects there."),
  "duplicate-declaration": entry(
    "error",
    "Two declarations of one kind share a name, or a block that is allowed once appears twice.",
    "Rename one of them, or join the two blocks.",
  ),
  "duplicate-field": entry(
    "error",
    "A field, property or case is written twice in one block.",
    "Remove or rename one.",
  ),
  "missing-property": entry("error", "A declaration lacks a property that it needs.", "Add the property."),
  "unknown-property": entry(
    "error",
    "A block has a property that does not exist there.",
    "Use one of the properties that the hint lists.",
  ),
  "unknown-reference": entry(
    "error",
    "A reference names something that is not declared.",
    "Declare it, or fix the name.",
  ),
  "misplaced-declaration": entry(
    "error",
    "A test stands in a workflow, or a declaration of a workflow in a test file.",
    "Keep tests in `*.test.wire` files, and everything that runs in the workflow.",
  ),
  "unknown-type": entry(
    "error",
    "A type is neither built in nor a declared schema.",
    "Fix the name, or declare a schema.",
  ),
  "unknown-provider-kind": entry(
    "error",
    "A provider is of a kind that does not exist.",
    "Write one that does: `openai`, `openai_chat`, `anthropic`, `google`, or a product such as `ollama`.",
  ),
  "type-mismatch": entry("error", "A value has another type than its place needs.", "Give a value of that type."),
  "nullable-access": entry(
    "error",
    "A field is read through a value that may be null.",
    "Write `?.`, or give a default with `??`.",
  ),
  "variant-access": entry(
    "error",
    "A field of a variant is read without saying which case is meant.",
    "Write `value#case.field`, or `match`.",
  ),
  "array-access": entry(
    "error",
    "A field is read from an array as if it were one element.",
    "Write `.*.field` for all elements, or `[0]` for one.",
  ),
  "unknown-case": entry("error", "A variant has no case of that name.", "Use one of the cases that the hint lists."),
  "non-exhaustive-match": entry("error", "A match leaves cases out.", "Add the missing cases, or `_` for the rest."),
  "mixed-branches": entry("error", "The branches of a match have different types.", "Make all branches one type."),
  "not-iterable": entry("error", "A loop or pluck runs over something that is not an array.", "Use an array there."),
  "dependency-cycle": entry("error", "Values wait for each other in a circle.", "Remove one of the references."),
  "infinite-type": entry(
    "error",
    "A schema contains itself without an end.",
    "Refer to itself through an array, `maybe` or a variant case.",
  ),
  "secret-exposed": entry(
    "error",
    "An expression would pass a secret to a model or a caller.",
    "Keep secrets in endpoints, keys, headers and the bindings of tools and resources.",
  ),
  "hardcoded-secret": entry(
    "error",
    "A credential is written in the source.",
    "Declare it in `secrets { }` and refer to it.",
  ),
  "unsupported-asset": entry(
    "error",
    "An asset is at a place where no model can take it.",
    "List its kind in the model's `assets`, and use it in an instruction.",
  ),
  "unpriced-model": entry(
    "error",
    "A limit on cost governs a model that has no price.",
    "Add `price { input: … output: … }` to the model, or remove the limit on cost.",
  ),
  "empty-type": entry("error", "An enum or variant has no members.", "Add at least one."),
  "obsolete-syntax": entry("error", "An old spelling.", "Write it the way the hint says."),
  "misplaced-expression": entry(
    "error",
    "An expression of this form is not allowed here.",
    "Move it to a `dynamic` value and refer to that.",
  ),
  "invalid-value": entry("error", "A value is out of its range.", "Give a value that the message allows."),
  "invalid-header": entry(
    "error",
    "A header frames the message, or its name or value is not one.",
    "Remove the header, or the character from it.",
  ),
  "ignored-setting": entry(
    "warning",
    "A setting in `inference` does not exist in the provider's API, and is not sent.",
    "Remove it, or write the field of the backend in `extra { }`.",
  ),
  "unused-declaration": entry("warning", "Nothing refers to this declaration.", "Remove it, or use it."),
  "nullable-interpolation": entry(
    "warning",
    "A value that may be null is written into text, where it would read `null`.",
    "Give a default with `??`.",
  ),
  "missing-output": entry(
    "warning",
    "The workflow has no `output` block, so its result is empty.",
    "Add `output { }`.",
  ),
  "constant-condition": entry(
    "warning",
    "The result of a comparison or condition is known before the run.",
    "Remove it, or compare something else.",
  ),
  "unreachable-branch": entry("warning", "A default or branch can never be chosen.", "Remove it."),
  "suspicious-braces": entry(
    "warning",
    "A reference stands in single braces in a text, which is plain text.",
    "Write `{{ … }}`, with two braces.",
  ),
  "suspicious-literal": entry(
    "warning",
    "A type is a text that reads like the name of a type.",
    "Write the type without quotes.",
  ),
} as const satisfies Record<string, CodeEntry>

export type DiagnosticCode = keyof typeof codes

export function severityOf(code: DiagnosticCode): "error" | "warning" {
  return codes[code].severity
}
