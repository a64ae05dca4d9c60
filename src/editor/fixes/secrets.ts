import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { Edit } from "../edit.ts"
import { atStart } from "./add.ts"
import { declareField } from "./declare-field.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"

/**
 * Declares a secret and refers to it in place of the literal, or of the part of a text. The literal is gone then: it has leaked already.
 * None where secrets may not stand.
 */
export function moveToSecrets(program: Program, { span, path, data }: Diagnostic<"hardcoded-secret">): readonly Fix[] {
  if (data?.kind !== "movable") return []
  const { text } = program.tree
  const { isPart } = data
  const written = text.slice(span.start, span.end)
  if (!isPart && (!written.startsWith('"') || written.startsWith('"""') || written.includes("{{"))) return []
  const taken = new Set(program.secrets?.type.fields.map((field) => field.name))
  const name = freeName(path, taken)
  const [, scheme] = /^"((?:Bearer|Basic|Token|ApiKey)\s+)/i.exec(written) ?? []
  const inText = `{{ secrets.${name} }}`
  const reference = isPart ? inText : scheme === undefined ? `secrets.${name}` : `"${scheme}${inText}"`
  return [
    {
      title: `Move it to \`secrets.${name}\``,
      edits: [replaceWith(span, reference), declareField(program, "secrets", name, "string")],
      preferred: true,
    },
  ]
}

/** Adds what says who may start the runs of a webhook, with a secret of its own. */
export function signWebhook(program: Program, { span }: Diagnostic): readonly Fix[] {
  const declaration = program.tree.declarations.find((one) => one.kind === "webhook" && one.name.start === span.start)
  if (declaration?.kind !== "webhook") return []
  const { body } = declaration
  const taken = new Set(program.secrets?.type.fields.map((field) => field.name))
  const lines = propertyOf(body, "verify") === undefined ? ["verify: github"] : []
  const name = ["hook_secret", `${declaration.name.text}_secret`].find((one) => !taken.has(one)) ?? "webhook_secret"
  const lacksSecret = propertyOf(body, "secret") === undefined
  if (lacksSecret) lines.push(`secret: secrets.${name}`)
  const edits = [
    atStart(program.tree.text, body, lines.join("\n")),
    ...(lacksSecret ? [declareField(program, "secrets", name, "string")] : []),
  ]
  return [{ title: `Add \`${lines.join("` and `")}\``, edits, preferred: true }]
}

/** `provider.llm.api_key` → `llm_api_key` unless `api_key` is free. */
function freeName(path: string, taken: ReadonlySet<string>): string {
  const [, owner = "", ...rest] = path.split(".")
  const last = rest.at(-1) ?? ""
  const short = last === "api_key" ? "api_key" : `${owner}_token`
  const names = [short, `${owner}_${last}`.toLowerCase().replace(/[^a-z0-9_]/g, "_")]
  for (let count = 2; ; count++) {
    const free = names.find((name) => /^[A-Za-z_]\w*$/.test(name) && !taken.has(name))
    if (free !== undefined) return free
    names.push(`secret_${count}`)
  }
}

/** Binds a secret that another file needs, and declares it here where that is needed. */
export function bindSecret(program: Program, { span, data }: Diagnostic<"missing-secret">): readonly Fix[] {
  const declaration = program.tree.declarations.find(({ start }) => start === span.start)
  if (data?.kind !== "secret" || (declaration?.kind !== "file-import" && declaration?.kind !== "workflow")) return []
  const { name, type } = data
  const edits = [
    bindingOf(declaration, name),
    ...(type === undefined ? [] : [declareField(program, "secrets", name, type)]),
  ]
  return [{ title: `Bind \`secrets.${name}\``, edits, preferred: true }]
}

function bindingOf({ body, file }: Syntax.FileImportDeclaration | Syntax.WorkflowDeclaration, name: string): Edit {
  const binding = `${name}: secrets.${name}`
  if (body === undefined) return insertAt(file.end, ` {\n    secrets {\n        ${binding}\n    }\n}`)
  const value = propertyOf(body, "secrets")?.value
  if (value?.kind !== "values") return insertAt(body.open.end, `\n    secrets {\n        ${binding}\n    }\n`)
  const last = value.block.items.at(-1)
  return last === undefined ? insertAt(value.block.open.end, ` ${binding} `) : insertAt(last.end, `, ${binding}`)
}
