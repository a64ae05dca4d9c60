import { visibleJson, visibleLines } from "../../base/visible-text.ts"
import { holdsFile } from "../../types/holds-file.ts"
import { mayBeLeftOut } from "../../types/relations.ts"
import type { Field, RecordType, Type, TypeTable } from "../../types/types.ts"
import { declaredSchemas, schemaNames, UniqueNames, type SideNames, type WorkflowTypes } from "./declared-names.ts"

const head = "// Written by `wire types`: do not edit. `wire types --check` says when it is out of date.\n"

/** The inputs and outputs of workflows as TypeScript, with one type `Workflows` of all of them. */
export function printTypeScript(workflows: readonly WorkflowTypes[]): string {
  const names = new UniqueNames()
  names.take("Workflows")
  names.take("GivenFile")
  const declarations: string[] = []
  const rows: string[] = []
  for (const workflow of workflows) {
    const own = names.take(workflow.name)
    const input = names.take(own, "Input")
    const output = names.take(own, "Output")
    const { fields: answers } = workflow.answers
    const taken = { ...workflow.input, fields: [...workflow.input.fields, ...answers] }
    const sides = schemaNames({ ...workflow, input: taken }, own, names)
    const [given, made] = sides.map((side) => new Printer(side, workflow.types))
    declarations.push(given?.declare(input, workflow.input) ?? "", made?.declare(output, workflow.output) ?? "")
    for (const [side, name, named] of declaredSchemas(workflow, sides)) {
      declarations.push(new Printer(side, workflow.types).declare(name, named.type, named.doc))
    }
    const asked = answers.map(({ name, type }) => {
      const answer = names.take(own, name, "Answer")
      declarations.push(given?.declare(answer, type) ?? "")
      return `${key(name)}: ${answer}`
    })
    const known = asked.length === 0 ? "" : `; answers: { ${asked.join("; ")} }`
    rows.push(
      `${comment(workflow.description, "  ")}  ${visibleJson(workflow.name)}: { input: ${input}; output: ${output}${known} }\n`,
    )
  }
  const takesFiles = workflows.some(({ input, types }) => holdsFile(input, types))
  const all = [head, `export interface Workflows {\n${rows.join("")}}\n`, ...declarations].join("\n")
  return takesFiles ? `${all}${givenFile}` : all
}

const madeFile = "{ file_id: string; name: string; media_type: string; bytes: number; sha256: string }"
const givenFile = `
/** A file as an input: a data URL, or how the service finds it. The client sends the last four, of which the last is a \`LocalFile\`. */
export type GivenFile =
  | string
  | { file_id: string }
  | { url: string }
  | { data: string; media_type?: string; name?: string }
  | Blob
  | Uint8Array
  | ReadableStream<Uint8Array>
  | { readonly path: string; readonly options: { readonly name?: string; readonly media_type?: string } }
`

class Printer {
  readonly #side: SideNames
  readonly #types: TypeTable

  constructor(side: SideNames, types: TypeTable) {
    this.#side = side
    this.#types = types
  }

  declare(name: string, type: Type, doc: string | null = null): string {
    const body = this.#print(type, "")
    // Records are aliases too: only those are assignable where any object will do.
    return `${comment(doc, "")}export type ${name} = ${body}\n`
  }

  #print(type: Type, indent: string): string {
    switch (type.kind) {
      case "string":
      case "boolean":
      case "null":
        return type.kind
      case "number":
      case "integer":
        return "number"
      case "object":
        return "{ [key: string]: unknown }"
      case "file":
        return this.#side.isInput ? `(GivenFile | ${madeFile})` : madeFile
      case "any":
      case "asset":
      case "error":
        return "unknown"
      case "literal":
        return visibleJson(type.value)
      case "enum":
        return union(type.values.map((value) => visibleJson(value)))
      case "array":
        return this.#array(type.element, type.length, indent)
      case "map":
        return `{ [key: string]: ${this.#print(type.value, indent)} }`
      case "tuple":
        return `[${type.elements.map((element) => this.#print(element, indent)).join(", ")}]`
      case "record":
        return this.#record(type, indent)
      case "union":
        return union(type.members.map((member) => this.#print(member, indent)))
      case "variant":
        return union(
          type.cases.map(({ name, fields }) => {
            const tag: Field = { name: type.tag, type: { kind: "literal", value: name } }
            return this.#record({ kind: "record", fields: [tag, ...fields] }, indent)
          }),
        )
      case "ref":
        return this.#side.names.get(type.name) ?? "unknown"
    }
  }

  #array(element: Type, length: number | undefined, indent: string): string {
    const one = this.#print(element, indent)
    // A tuple says how many elements there are; a long one would be unreadable.
    if (length !== undefined && length <= 16) return `[${Array.from({ length }, () => one).join(", ")}]`
    return /[|{]/.test(one) ? `(${one})[]` : `${one}[]`
  }

  #record({ fields }: RecordType, indent: string): string {
    if (fields.length === 0) return "{ [key: string]: never }"
    const inner = `${indent}  `
    const lines = fields.map((field) => {
      const { name, type, doc } = field
      const mark = this.#side.isInput && mayBeLeftOut(field, this.#types) ? "?" : ""
      return `${comment(doc ?? null, inner)}${inner}${key(name)}${mark}: ${this.#print(type, inner)}\n`
    })
    return `{\n${lines.join("")}${indent}}`
  }
}

function union(members: readonly string[]): string {
  return members.length === 0 ? "never" : [...new Set(members)].join(" | ")
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : visibleJson(name)
}

function comment(text: string | null, indent: string): string {
  if (text === null || text === "") return ""
  const lines = visibleLines(text).replaceAll("*/", "*\\/").split("\n")
  if (lines.length === 1) return `${indent}/** ${lines[0] ?? ""} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`
}
