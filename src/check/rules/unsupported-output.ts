import { wordOrString, expressionIn } from "../../syntax/property-of.ts"
import { isWordOf } from "../../syntax/property-table.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { elementType } from "../../types/element-type.ts"
import { holdsFile } from "../../types/holds-file.ts"
import { plainType } from "../../types/relations.ts"
import type { Field, RecordType } from "../../types/types.ts"
import { apiOf, wireApiIn } from "../api-of.ts"
import type { CheckContext } from "../check-context.ts"
import type { ModelReference } from "../check-model-reference.ts"
import { modelApis, type ApiName } from "../provider-kinds.ts"

const nobody = {
  ask: {
    code: "type-mismatch",
    message: "An answer to a question has no files",
    hint: "Take the file as an `input` of the workflow.",
  },
  wait: {
    code: "type-mismatch",
    message: "An event has no files",
    hint: "Take the file as an `input` of the workflow.",
  },
  secrets: { code: "type-mismatch", message: "A file is not a secret", hint: "Declare it in `input { }`." },
} as const

/** Reports fields of files where nobody gives any. */
export function refuseFileFields(
  checking: CheckContext,
  fields: RecordType,
  where: keyof typeof nobody,
  path: string,
): void {
  for (const field of fields.fields) {
    const node = checking.fieldNodes.get(field)
    if (node?.kind !== "type-field" || !holdsFile(field.type, checking.types)) continue
    const { code, message, hint } = nobody[where]
    checking.report(code, `${path}.${field.name}`, node.type, message, hint)
  }
}

export type MediaKind = "image" | "audio"

/** What a model makes besides text: what its `outputs` lists. One that speaks makes sound in any case. */
export function outputsOfModel({ body }: Syntax.ModelDeclaration): MediaKind[] {
  const list = expressionIn(body, "outputs")
  const listed = list?.kind === "array" ? list.items.flatMap((item) => wordOrString(item) ?? []) : []
  const known = listed.filter((word) => isWordOf("media", word))
  return wireApiIn(body) === "speech" && !known.includes("audio") ? [...known, "audio"] : known
}

/** Reports `outputs` of a model that its API cannot make. */
export function checkListedOutputs(checking: CheckContext, model: Syntax.ModelDeclaration, path: string): void {
  const api = apiOfModel(checking, model)
  const list = expressionIn(model.body, "outputs")
  if (api === undefined || list?.kind !== "array") return
  const { makes, label } = modelApis[api]
  for (const item of list.items) {
    const word = wordOrString(item)
    if (!isWordOf("media", word) || makes.includes(word)) continue
    const message = `${label} makes no ${word === "image" ? "images" : "sound"} here`
    checking.report("unsupported-output", `${path}.outputs`, item, message, makers[word])
  }
}

const makers: Readonly<Record<MediaKind, string>> = {
  image: "Images come from models of the kinds `openai` and `google`.",
  audio: 'Sound comes from models of the kind `google`, and from those with `wire_api: "speech"`.',
}

/** Reports an output that the models of an agent cannot give: files that they do not make, or anything beside them but one string. */
export function checkAgentOutput(
  checking: CheckContext,
  output: RecordType,
  models: readonly ModelReference[],
  path: string,
): void {
  const types = checking.types
  const withFiles = output.fields.filter(({ type }) => holdsFile(type, types))
  const report = (field: Field | undefined, message: string, hint: string): void => {
    const node = field && checking.fieldNodes.get(field)
    const span = node?.kind === "type-field" ? node.type : models[0]?.reference
    if (span === undefined) return
    checking.report("unsupported-output", field === undefined ? path : `${path}.${field.name}`, span, message, hint)
  }
  for (const { declaration: model } of models) {
    const api = apiOfModel(checking, model)
    const name = model.name.text
    if (api === "transcription" && !isOneString(checking, output)) {
      report(
        output.fields[0],
        `The model \`${name}\` transcribes: its agents give one string`,
        "Write one field, such as `words: string`.",
      )
      return
    }
    if (api === "speech" && withFiles.length === 0) {
      report(
        output.fields[0],
        `The model \`${name}\` speaks: its agents give a file`,
        "Write one field of the type `file`.",
      )
      return
    }
    if (
      withFiles.length === 0 ||
      outputsOfModel(model).length > 0 ||
      checking.skipped.isIncomplete(model.body, "outputs")
    )
      continue
    const [made] = api === undefined ? [] : modelApis[api].makes
    const hint =
      made === undefined
        ? "Let the agent write text, and make the file of it: `make_file(name, text)`."
        : `Add \`outputs: ["${made}"]\` to \`model ${name}\`, or let the agent write text, and make the file of it: \`make_file(name, text)\`.`
    for (const field of withFiles) report(field, `The model \`${name}\` makes no files`, hint)
    return
  }
  if (withFiles.length === 0) return
  const misfit = withFiles.find((field) => !isMedia(checking, field)) ?? withFiles[1]
  const others = output.fields.filter((field) => !withFiles.includes(field))
  const second = others.find(({ type }) => plainType(type, types).kind !== "string") ?? others[1]
  const wrong = misfit ?? second
  if (wrong === undefined) return
  const message =
    "An agent whose model makes files has one field of the type `file` or `[file]`, and at most one string beside it"
  report(wrong, message, "Let another agent give the rest.")
}

function isMedia(checking: CheckContext, { type }: Field): boolean {
  const plain = plainType(type, checking.types)
  if (plain.kind === "file") return true
  const element = elementType(plain, checking.types)
  return element !== undefined && plainType(element, checking.types).kind === "file"
}

function isOneString(checking: CheckContext, { fields }: RecordType): boolean {
  return fields.length === 1 && fields.every(({ type }) => plainType(type, checking.types).kind === "string")
}

function apiOfModel(checking: CheckContext, model: Syntax.ModelDeclaration): ApiName | undefined {
  const provider = checking.providers.get(model.provider?.text ?? "")
  return provider && apiOf(provider, model)
}
