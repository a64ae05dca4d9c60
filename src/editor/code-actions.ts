import { cutText } from "../base/cut-text.ts"
import type { Program } from "../check/program.ts"
import type { DiagnosticCode } from "../source/codes.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { fixAccess, fixNullableText } from "./fixes/access.ts"
import { replaceWith, type Fix } from "./fixes/fix.ts"
import { addAssetKind, addAssetType, addBranches, addOutput, addPrice, addProperty } from "./fixes/add.ts"
import { fixMismatch, removeCondition, removeProperty, removeSetting } from "./fixes/operators.ts"
import { removeBranch, removeDeclaration, removeRepeatedModel } from "./fixes/remove.ts"
import { addToRepeat } from "./fixes/repeat.ts"
import { bindSecret, moveToSecrets, signWebhook } from "./fixes/secrets.ts"
import { fixCall, fixName, fixObsolete, removeWord } from "./fixes/spelling.ts"
import { takeFromInput } from "./fixes/steered.ts"
import { addRequires, fixUntrusted } from "./fixes/trust.ts"

/** A change that an editor offers for a diagnostic. */
export interface CodeAction extends Fix {
  readonly diagnostic: Diagnostic
}

type Fixer<Code extends DiagnosticCode> = (program: Program, diagnostic: Diagnostic<Code>) => readonly Fix[]

/** The fixes for each code, besides the code that a hint shows. */
const fixers: { readonly [Code in DiagnosticCode]?: Fixer<Code> } = {
  "nullable-access": fixAccess,
  "unknown-function": fixCall,
  "array-access": fixAccess,
  "variant-access": fixAccess,
  "not-iterable": fixAccess,
  "nullable-interpolation": fixNullableText,
  "obsolete-syntax": fixObsolete,
  "missing-property": (program, diagnostic) => [
    ...addProperty(program, diagnostic),
    ...addToRepeat(program, diagnostic),
  ],
  "non-exhaustive-match": addBranches,
  "missing-output": addOutput,
  "unsupported-asset": addAssetKind,
  "unpriced-model": addPrice,
  "untrusted-action": fixUntrusted,
  "undeclared-effect": addRequires,
  "duplicate-field": removeRepeatedModel,
  "unused-declaration": removeDeclaration,
  "unreachable-branch": removeBranch,
  "hardcoded-secret": moveToSecrets,
  "missing-secret": bindSecret,
  "secret-exposed": takeFromInput,
  "unsigned-webhook": signWebhook,
  "syntax-error": (program, diagnostic) => [
    ...removeWord(program, diagnostic),
    ...fixName(program, diagnostic),
    ...fixCall(program, diagnostic),
  ],
  "type-mismatch": fixMismatch,
  "guessed-asset": addAssetType,
  "ignored-setting": removeSetting,
  "invalid-batch": removeSetting,
  "invalid-score": (program, diagnostic) => removeProperty(program, diagnostic),
  "unknown-property": removeProperty,
  "constant-condition": removeCondition,
}

/** What can be done about the diagnostics that touch the span, the likeliest first. */
export function codeActions(program: Program, diagnostics: readonly Diagnostic[], span: Span): readonly CodeAction[] {
  return diagnostics
    .filter((one) => one.span.start <= span.end && span.start <= one.span.end)
    .flatMap((diagnostic) => fixesOf(program, diagnostic).map((fix) => ({ ...fix, diagnostic })))
}

function fixesOf(program: Program, diagnostic: Diagnostic): readonly Fix[] {
  const fixer = fixers[diagnostic.code] as Fixer<DiagnosticCode> | undefined
  return [...writeShown(diagnostic), ...(fixer?.(program, diagnostic) ?? [])]
}

/** The code that a hint shows, in place of what is written. */
function writeShown({ span, data }: Diagnostic): readonly Fix[] {
  if (data?.kind !== "write") return []
  const shown = cutText(data.text.replace(/\s+/g, " "), 160)
  const title = `${data.isSpelling === true ? "Change to" : "Write"} \`${shown}\``
  return [{ title, edits: [replaceWith(data.span ?? span, data.text)], preferred: true }]
}
