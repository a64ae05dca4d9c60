import type { Program } from "../check/program.ts"
import type { DiagnosticCode } from "../source/codes.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { fixAccess, fixNullableText } from "./fixes/access.ts"
import type { Fix } from "./fixes/fix.ts"
import { addAssetKind, addAssetType, addBranches, addOutput, addPrice, addProperty } from "./fixes/add.ts"
import { fixArgument, fixFunction, fixLength } from "./fixes/functions.ts"
import { fixName } from "./fixes/names.ts"
import { fixObsolete } from "./fixes/obsolete.ts"
import { fixCase, fixForeignWord, fixMismatch, removeCondition, removeSetting } from "./fixes/operators.ts"
import { removeBranch, removeDeclaration, removeRepeatedModel } from "./fixes/remove.ts"
import { addToRepeat } from "./fixes/repeat.ts"
import { bindSecret, moveToSecrets, signWebhook } from "./fixes/secrets.ts"
import { takeFromInput } from "./fixes/steered.ts"
import { addRequires, fixUntrusted } from "./fixes/trust.ts"
import { fixSpelling } from "./fixes/spelling.ts"

/** A change that an editor offers for a diagnostic. */
export interface CodeAction extends Fix {
  readonly diagnostic: Diagnostic
}

type Fixer = (program: Program, diagnostic: Diagnostic) => readonly Fix[]

/** The fixes for each code. "Did you mean …?" works for every code. */
const fixers: Readonly<Partial<Record<DiagnosticCode, Fixer>>> = {
  "nullable-access": (program, diagnostic) => [...fixArgument(diagnostic), ...fixAccess(program, diagnostic)],
  "unknown-function": fixFunction,
  "wrong-arguments": fixFunction,
  "unknown-reference": fixLength,
  "array-access": (program, diagnostic) => {
    const fixes = fixLength(program, diagnostic)
    return fixes.length > 0 ? fixes : fixAccess(program, diagnostic)
  },
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
    ...fixForeignWord(program, diagnostic),
    ...fixName(program, diagnostic),
    ...(diagnostic.message === "Functions are not values" ? fixFunction(program, diagnostic) : []),
  ],
  "type-mismatch": (program, diagnostic) => [...fixMismatch(program, diagnostic), ...fixArgument(diagnostic)],
  "guessed-asset": addAssetType,
  "ignored-setting": removeSetting,
  "unknown-property": (program, diagnostic) =>
    diagnostic.hint?.startsWith("Remove it") === true ? removeSetting(program, diagnostic) : [],
  "unknown-case": fixCase,
  "constant-condition": removeCondition,
}

/** What can be done about the diagnostics that touch the span, the likeliest first. */
export function codeActions(program: Program, diagnostics: readonly Diagnostic[], span: Span): readonly CodeAction[] {
  return diagnostics
    .filter((one) => one.span.start <= span.end && span.start <= one.span.end)
    .flatMap((diagnostic) => fixesOf(program, diagnostic).map((fix) => ({ ...fix, diagnostic })))
}

function fixesOf(program: Program, diagnostic: Diagnostic): readonly Fix[] {
  return [...fixSpelling(program, diagnostic), ...(fixers[diagnostic.code]?.(program, diagnostic) ?? [])]
}
