import type { JsonObject } from "../../src/base/json-value.ts"
import type { Compiled } from "../../src/compile.ts"
import { compile } from "../../src/compile.ts"
import { codeActions } from "../../src/editor/code-actions.ts"
import { complete } from "../../src/editor/complete.ts"
import type { Completions } from "../../src/editor/completion.ts"
import { definition } from "../../src/editor/definition.ts"
import type { Edit } from "../../src/editor/edit.ts"
import type { Hover } from "../../src/editor/hover.ts"
import { hover } from "../../src/editor/hover.ts"
import type { Refusal } from "../../src/editor/rename.ts"
import { prepareRename, rename } from "../../src/editor/rename.ts"
import type { SignatureHelp } from "../../src/editor/signature-help.ts"
import { signatureHelp } from "../../src/editor/signature-help.ts"
import type { NodeChange } from "../../src/plan/compare-plans.ts"
import { comparePlans } from "../../src/plan/compare-plans.ts"
import type { RunState } from "../../src/log/run-state.ts"
import { originPaths, type OriginPath } from "../../src/origins/origin-paths.ts"
import type { TextRange } from "../../src/origins/shared-words.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { LineMap } from "../../src/source/line-map.ts"
import type { Span } from "../../src/source/span.ts"
import type { Reach } from "../../src/trust/reach-shape.ts"
import { reachOf } from "../../src/trust/reach.ts"
import type { Analysis, Source } from "./analysis.ts"
import { analysisOf, isSameSource } from "./analysis.ts"
import { onlySpan } from "../../src/check/declared-places.ts"

// What the page asks about a text. A program is large, and has functions in it: it stays here, and what leaves is plain data.

/** An analysis on its way to the page: the plan as JSON, which costs the page nothing where it is the one that it has. */
export type SentAnalysis = Omit<Analysis, "plan"> & { readonly plan: string | undefined }

export interface QuickFix {
  readonly title: string
  readonly edits: readonly Edit[]
}

/** Fixes of more problems than this are not looked for: a list of so many is not read to its end. */
const maxWithFixes = 40

/** The text as it is and as it was a moment ago, a part of it, and that of the run to compare with. */
const maxKept = 4
const kept: { readonly source: Source; readonly compiled: Compiled }[] = []

function compiledOf(source: Source): Compiled {
  const at = kept.findIndex((one) => isSameSource(one.source, source))
  const [found = { source, compiled: compile(source.text, source) }] = at < 0 ? [] : kept.splice(at, 1)
  kept.unshift(found)
  kept.length = Math.min(kept.length, maxKept)
  return found.compiled
}

export const answers = {
  analyse(sources: readonly Source[]): readonly SentAnalysis[] {
    return sources.map((source) => {
      const { plan, diagnostics, ...analysis } = analysisOf(compiledOf(source))
      return { ...analysis, diagnostics: diagnostics.map(plainDiagnostic), plan: plan && JSON.stringify(plan) }
    })
  },
  complete(source: Source, at: number): Completions | undefined {
    const found = complete(compiledOf(source).program, at)
    if (found === undefined) return undefined
    const items = found.items.map(({ edits, ...item }) => ({ ...item, ...(edits && { edits: plainEdits(edits) }) }))
    return { span: onlySpan(found.span), items }
  },
  hover(source: Source, at: number): Hover | undefined {
    const found = hover(compiledOf(source).program, at)
    return found && { ...found, span: onlySpan(found.span) }
  },
  signatureHelp(source: Source, at: number): SignatureHelp | undefined {
    const found = signatureHelp(compiledOf(source).program, at)
    return found && { ...found, span: onlySpan(found.span) }
  },
  /** The name of what the word at this place refers to, where that is in the same file. */
  definition(source: Source, at: number): Span | undefined {
    const { targets = [] } = definition(compiledOf(source).program, at) ?? {}
    const name = targets.find(({ file }) => file === undefined)?.name
    return name && onlySpan(name)
  },
  prepareRename(source: Source, at: number): { readonly name: string } | Refusal {
    const found = prepareRename(compiledOf(source).program, at)
    return "problem" in found ? { problem: found.problem } : { name: found.name }
  },
  rename(source: Source, at: number, to: string): { readonly edits: readonly Edit[] } | Refusal {
    const found = rename(compiledOf(source).program, at, to)
    return "problem" in found ? { problem: found.problem } : { edits: plainEdits(found.edits) }
  },
  /** What can be done about each problem, the likeliest first. */
  fixes(source: Source): readonly (readonly QuickFix[])[] {
    const { program, diagnostics } = compiledOf(source)
    return diagnostics
      .slice(0, maxWithFixes)
      .map((found) =>
        codeActions(program, [found], found.span).map(({ title, edits }) => ({ title, edits: plainEdits(edits) })),
      )
  },
  reach: (source: Source): Reach => reachOf(compiledOf(source).program),
  /** Where a value of a run's output came from; null where the text has no plan, or the output no such path. */
  origins(
    source: Source,
    { input, state, path, part }: { input: JsonObject; state: RunState; path: string; part: Partial<TextRange> },
  ): readonly OriginPath[] | null {
    const { program, plan } = compiledOf(source)
    if (plan === undefined) return null
    const traced = { program, plan, lines: new LineMap(source.text) }
    const { ways } = reachOf(program)
    return originPaths({ traced, file: source.file ?? "main.wire", input, state, ways }, path, part)
  },
  /** How each node differs from an earlier text; null where one of the two has no plan. */
  changes(
    source: Source,
    before: Source,
    input: { readonly before: JsonObject; readonly after: JsonObject },
  ): ReadonlyMap<string, NodeChange> | null {
    const [{ plan: earlier }, { plan }] = [compiledOf(before), compiledOf(source)]
    return earlier === undefined || plan === undefined ? null : comparePlans(earlier, plan, input)
  },
}

// A span may be a node of the tree, with all that hangs on it.

function plainEdits(edits: readonly Edit[]): readonly Edit[] {
  return edits.map(({ span, text }) => ({ span: onlySpan(span), text }))
}

function plainDiagnostic(found: Diagnostic): Diagnostic {
  const { related } = found
  return {
    ...found,
    span: onlySpan(found.span),
    ...(related && { related: related.map((one) => ({ ...one, span: onlySpan(one.span) })) }),
  }
}

export type Answers = typeof answers

/** A question to the worker. */
export interface Question<Name extends keyof Answers = keyof Answers> {
  readonly id: number
  readonly name: Name
  readonly asked: Parameters<Answers[Name]>
}

export type Reply = { readonly id: number; readonly answer: unknown } | { readonly id: number; readonly failed: string }

export function answer<Name extends keyof Answers>({ name, asked }: Question<Name>): ReturnType<Answers[Name]> {
  const work = answers[name] as (...given: Parameters<Answers[Name]>) => ReturnType<Answers[Name]>
  return work(...asked)
}
