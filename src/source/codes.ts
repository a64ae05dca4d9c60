/** What each diagnostic code stands for. Codes are stable: one is added, none is renamed. */
interface CodeEntry {
  readonly severity: "error" | "warning"
  /** Says what is wrong, in one sentence. */
  readonly summary: string
  /** What the author does about it. */
  readonly fix: string
}

// Without side effects, so that a bundler may leave the texts out: a compiler in a browser has no use for them.

/* @__NO_SIDE_EFFECTS__ */
function error(summary: string, fix: string) {
  return { severity: "error", summary, fix } as const
}

/* @__NO_SIDE_EFFECTS__ */
function warning(summary: string, fix: string) {
  return { severity: "warning", summary, fix } as const
}

export const codes = {
  "syntax-error": error("The text is not a workflow at this place.", "Write what the message expects there."),
  "duplicate-declaration": error(
    "Two declarations of one kind share a name, or a block that is allowed once appears twice.",
    "Rename one of them, or join the two blocks.",
  ),
  "duplicate-field": error("A field, property or case is written twice in one block.", "Remove or rename one."),
  "duplicate-binding": error("An argument is bound that the import has bound.", "Remove one of the two bindings."),
  "conflicting-properties": error("Two properties say the same thing in different ways.", "Remove one of the two."),
  "missing-property": error("A declaration lacks a property that it needs.", "Add the property."),
  "unknown-property": error(
    "A block has a property that does not exist there.",
    "Use one of the properties that the hint lists.",
  ),
  "unknown-reference": error("A reference names something that is not declared.", "Declare it, or fix the name."),
  "misplaced-declaration": error(
    "A test stands in a workflow, or a declaration of a workflow in a test file.",
    "Keep tests in `*.test.wire` files, and everything that runs in the workflow.",
  ),
  "misplaced-release": error(
    "A `release` block stands in a file that is no candidate.",
    "Move it to `NAME.next.wire` beside the file, or remove it.",
  ),
  "orphan-candidate": error(
    "A candidate (`NAME.next.wire`) has no current file beside it.",
    "Add `NAME.wire`, or rename the candidate to it.",
  ),
  "incompatible-candidate": error(
    "A candidate breaks the contract of the current file: its callers would notice.",
    "Take back what the message lists, or put the file in place of the current one.",
  ),
  "invalid-score": error(
    "A `score` block does not say what is judged, or cannot be judged after the run.",
    "Give it either `value`, or `judge` with `of`, `model` and `output`.",
  ),
  "mixed-keys": error("An object has names and computed keys.", "Write every key in brackets, or none."),
  "unknown-function": error("A function of this name does not exist.", "Use the function that the hint shows."),
  "recursive-function": error(
    "A function calls itself, or functions call each other in a circle or too deep.",
    "Go over a list instead: `[… for x in list]`.",
  ),
  "wrong-arguments": error(
    "A function has too few or too many arguments, or the name of a field or timezone that is not written out.",
    "Write one of its forms.",
  ),
  "unknown-export": error(
    "A code file has no export of the function's name and no default, or it is no function.",
    "Export a function of this name from the file.",
  ),
  "invalid-code": error(
    "A code file cannot be loaded: its syntax is wrong, it throws, it imports what it may not, or the function is asynchronous.",
    "Fix the file at the place that the message names.",
  ),
  "code-not-allowed": error(
    "A file has code, and the service takes none from there (WIRE_CODE).",
    "Serve the workflow from a folder, or ask the operator for `WIRE_CODE=all`.",
  ),
  "invalid-pattern": error(
    "A pattern is not written out, or is not one of RE2's syntax.",
    "Write the pattern in quotes, with two backslashes for each one.",
  ),
  "invalid-default": error(
    "A default is not a constant of its field's type, or stands where none may.",
    "Write a value of the type out, in `input { }` or in a schema that only inputs use.",
  ),
  "unknown-type": error("A type is neither built in nor a declared schema.", "Fix the name, or declare a schema."),
  "unknown-provider-kind": error(
    "A provider is of a kind that does not exist.",
    "Write one that does: `openai`, `openai_chat`, `anthropic`, `google`, or a product such as `ollama`.",
  ),
  "type-mismatch": error("A value has another type than its place needs.", "Give a value of that type."),
  "nullable-access": error(
    "A field is read through a value that may be null.",
    "Write `?.`, or give a default with `??`.",
  ),
  "variant-access": error(
    "A field of a variant is read without saying which case is meant.",
    "Write `value#case.field`, or `match`.",
  ),
  "array-access": error(
    "A field is read from an array as if it were one element.",
    "Write `.*.field` for all elements, or `[0]` for one.",
  ),
  "unknown-case": error("A variant has no case of that name.", "Use one of the cases that the hint lists."),
  "non-exhaustive-match": error("A match leaves cases out.", "Add the missing cases, or `_` for the rest."),
  "mixed-branches": error("The branches of a match have different types.", "Make all branches one type."),
  "not-iterable": error("A loop or pluck runs over something that is not an array.", "Use an array there."),
  "dependency-cycle": error("Values wait for each other in a circle.", "Remove one of the references."),
  "infinite-type": error(
    "A schema contains itself without an end.",
    "Refer to itself through an array, `maybe` or a variant case.",
  ),
  "secret-exposed": error(
    "An expression would pass a secret to a model or a caller.",
    "Keep secrets in endpoints, keys, headers and the bindings of tools and resources.",
  ),
  "hardcoded-secret": error("A credential is written in the source.", "Declare it in `secrets { }` and refer to it."),
  "unsupported-asset": error(
    "An asset is at a place where no model can take it.",
    "List its kind in the model's `assets`, and use it in an instruction.",
  ),
  "unsupported-output": error(
    "An agent's output has a file, and its model makes none.",
    "Let the agent write text, and make the file with `make_file`.",
  ),
  "unpriced-model": error(
    "A limit on cost governs a model that has no price.",
    "Add `price { input: … output: … }` to the model, or remove the limit on cost.",
  ),
  "invalid-batch": error(
    "An agent with `batch` makes calls that no batch API takes.",
    "Give the agent a `for`, one model, and no tools or context; or remove `batch`.",
  ),
  "unsigned-webhook": error(
    "A webhook lacks `verify` or `secret`: anyone could start its runs.",
    "Say how the sender signs with `verify`, and name the secret: `secret: secrets.name`.",
  ),
  "untrusted-action": error(
    "Words that strangers may have written could choose or fill a call that acts on the world, or say where calls go.",
    "Let an agent without tools read them and answer with an enum or booleans, bind the arguments, or require approval.",
  ),
  "private-leak": error(
    "Private data reaches a model, tool, person or address that is not cleared for it.",
    'Add `cleared: private` to what may have it, leave it out, or write `release … because "reason"`.',
  ),
  "undeclared-effect": warning(
    "An agent that reads strangers' words uses a tool that does not say whether it acts on the world.",
    "Add `requires: trusted`, `strict`, a list of arguments, or `requires: none` to the tool.",
  ),
  "needless-exception": warning(
    "`trust` or `release` stands before a value that has no such label.",
    "Write the value alone.",
  ),
  "unknown-file": error(
    "The path of another file does not lead to a file that may be used.",
    "Write a path that begins with `./` or `../`, ends in `.wire` and stays within the root.",
  ),
  "import-cycle": error("A file leads back to itself through other files.", "Remove one of the imports."),
  "invalid-import": error("A file that is used here has errors.", "Fix the errors of that file."),
  "input-in-import": error(
    "A declaration that is imported refers to the `input` of its own file.",
    "Write the value out there, or declare it here.",
  ),
  "missing-secret": error(
    "A declaration of another file needs a secret that is not bound.",
    "Bind it: `{ secrets { name: secrets.own_name } }` after the path.",
  ),
  "empty-type": error("An enum or variant has no members.", "Add at least one."),
  "obsolete-syntax": error("An old spelling.", "Write it the way the hint says."),
  "misplaced-expression": error(
    "An expression of this form is not allowed here.",
    "Move it to a `dynamic` value and refer to that.",
  ),
  "call-in-condition": error(
    "A `call`, `read` or `render` stands where a value is only computed: in a requirement, or in the condition or key of a list.",
    "Make a `dynamic` value of the call, and use that.",
  ),
  "division-by-zero": error("A number is divided by a written zero.", "Divide by another number."),
  "invalid-value": error("A value is out of its range.", "Give a value that the message allows."),
  "invalid-header": error(
    "A header belongs to the framing of messages, or its name or value is not valid in a header.",
    "Remove the header, or the character from it.",
  ),
  "guessed-asset": warning(
    "The kind of an asset is known only when the workflow runs.",
    'Add `type: "image"`, "document", "video" or "audio".',
  ),
  "ignored-setting": warning(
    "A setting does not exist in the API that the model is called by, and is not sent.",
    "Remove it. What only your backend knows goes into `extra { }` of `inference`.",
  ),
  "reserved-setting": warning(
    "`extra` sets a key that the service sets itself, so it is not sent.",
    "Write the property that the hint names.",
  ),
  "cache-breaking": warning(
    "A value that differs from item to item stands before much text that stays the same, which no cache can keep.",
    "Put the value after that text.",
  ),
  "unused-declaration": warning("Nothing refers to this declaration.", "Remove it, or use it."),
  "nullable-interpolation": warning(
    "A value that may be null is written into text, where it would read `null`.",
    "Give a default with `??`.",
  ),
  "missing-output": warning("The workflow has no `output` block, so its result is empty.", "Add `output { }`."),
  "constant-condition": warning(
    "The result of a comparison or condition is known before the run.",
    "Remove it, or compare something else.",
  ),
  "constant-requirement": warning(
    "A requirement does not mention `result`, so that no output changes whether it holds.",
    "Refer to `result`, or give the step a condition with `when`.",
  ),
  "untyped-access": warning(
    "A field of a webhook's body is read that a delivery may lack.",
    "Give a default with `??`, or read it with `?.`.",
  ),
  "unreachable-branch": warning("A default or branch can never be chosen.", "Remove it."),
  "suspicious-braces": warning(
    "A reference stands in single braces in a text, which is plain text.",
    "Write `{{ … }}`, with two braces.",
  ),
  "suspicious-literal": warning(
    "A type is a text that reads like the name of a type.",
    "Write the type without quotes.",
  ),
} as const satisfies Record<string, CodeEntry>

export type DiagnosticCode = keyof typeof codes

type Warning = {
  [Code in DiagnosticCode]: (typeof codes)[Code]["severity"] extends "warning" ? Code : never
}[DiagnosticCode]

/** The codes of warnings, without their texts. */
const warnings: Readonly<Record<Warning, true>> = {
  "undeclared-effect": true,
  "needless-exception": true,
  "guessed-asset": true,
  "ignored-setting": true,
  "reserved-setting": true,
  "cache-breaking": true,
  "unused-declaration": true,
  "nullable-interpolation": true,
  "missing-output": true,
  "constant-condition": true,
  "constant-requirement": true,
  "untyped-access": true,
  "unreachable-branch": true,
  "suspicious-braces": true,
  "suspicious-literal": true,
}

export function severityOf(code: DiagnosticCode): "error" | "warning" {
  return Object.hasOwn(warnings, code) ? "warning" : "error"
}
