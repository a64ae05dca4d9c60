import { escapeHidden, visibleLines } from "../../base/visible-text.ts"
import { mayBeLeftOut } from "../../types/relations.ts"
import type { Field, RecordType, Type, TypeTable } from "../../types/types.ts"
import { declaredSchemas, schemaNames, UniqueNames, type SideNames, type WorkflowTypes } from "./declared-names.ts"

const head = `# Written by \`wire types\`: do not edit. \`wire types --check\` says when it is out of date.

from __future__ import annotations

from typing import Any, Dict, List, Literal, Tuple, TypedDict, Union
`

/** Python 3.11 has it; the package has it for those before. */
const optional = `
try:
    from typing import NotRequired
except ImportError:
    from typing_extensions import NotRequired
`

const keywords = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global if " +
    "import in is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
)

/** The inputs and outputs of workflows as Python's `TypedDict`s. */
export function printPython(workflows: readonly WorkflowTypes[]): string {
  const names = new UniqueNames()
  for (const taken of ["Any", "Dict", "List", "Literal", "NotRequired", "Tuple", "TypedDict", "Union"])
    names.take(taken)
  const printer = new Printer(names)
  for (const workflow of workflows) {
    const own = names.take(workflow.name)
    const [input, output] = [names.take(own, "Input"), names.take(own, "Output")]
    const sides = schemaNames(workflow, own, names)
    const [given, made] = sides
    printer.enter(given, workflow.types)
    printer.record(input, workflow.input, workflow.description)
    printer.enter(made, workflow.types)
    printer.record(output, workflow.output, null)
    for (const [side, name, named] of declaredSchemas(workflow, sides)) {
      printer.enter(side, workflow.types)
      printer.declare(name, named.type, named.doc ?? null)
    }
  }
  const isOptional = printer.declarations.some((one) => one.includes("NotRequired["))
  return [isOptional ? `${head}${optional}` : head, ...printer.declarations].join("\n\n")
}

class Printer {
  readonly declarations: string[] = []
  readonly #names: UniqueNames
  #side: SideNames = { isInput: false, names: new Map() }
  #types: TypeTable = {}

  constructor(names: UniqueNames) {
    this.#names = names
  }

  enter(side: SideNames, types: TypeTable): void {
    this.#side = side
    this.#types = types
  }

  declare(name: string, type: Type, doc: string | null): void {
    if (type.kind === "record") this.record(name, type, doc)
    // In quotes: a type may contain itself, or one that comes later.
    else this.declarations.push(`${hashes(doc, "")}${name} = ${this.#quoted(this.#print(type, name))}\n`)
  }

  record(name: string, { fields }: RecordType, doc: string | null): void {
    const isOptional = (field: Field): boolean => this.#side.isInput && mayBeLeftOut(field, this.#types)
    const printed = fields.map((field) => {
      const text = this.#print(field.type, `${name}/${field.name}`)
      return { field, text: isOptional(field) ? `NotRequired[${text}]` : text }
    })
    const plain = fields.every((field) => /^[A-Za-z_]\w*$/.test(field.name) && !keywords.has(field.name))
    if (plain) {
      const lines = printed.map(({ field, text }) => `${hashes(field.doc ?? null, "    ")}    ${field.name}: ${text}\n`)
      this.declarations.push(`${hashes(doc, "")}class ${name}(TypedDict):\n${lines.join("") || "    pass\n"}`)
      return
    }
    const entries = printed.map(({ field, text }) => `        ${pythonString(field.name)}: ${this.#quoted(text)},\n`)
    this.declarations.push(
      `${hashes(doc, "")}${name} = TypedDict(\n    "${name}",\n    {\n${entries.join("")}    },\n)\n`,
    )
  }

  #quoted(text: string): string {
    return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
  }

  #print(type: Type, place: string): string {
    switch (type.kind) {
      case "string":
        return "str"
      case "boolean":
        return "bool"
      case "null":
        return "None"
      case "number":
        return "float"
      case "integer":
        return "int"
      case "object":
        return "Dict[str, Any]"
      case "file":
        return this.#side.isInput ? "Union[str, Dict[str, Any]]" : "Dict[str, Any]"
      case "any":
      case "asset":
      case "error":
        return "Any"
      case "literal":
        return `Literal[${pythonString(type.value)}]`
      case "enum":
        return `Literal[${type.values.map((value) => pythonString(value)).join(", ")}]`
      case "array":
        return `List[${this.#print(type.element, place)}]`
      case "map":
        return `Dict[str, ${this.#print(type.value, place)}]`
      case "tuple":
        return `Tuple[${type.elements.map((element) => this.#print(element, place)).join(", ") || "()"}]`
      case "record":
        return this.#named(type, place)
      case "union":
        return `Union[${type.members.map((member) => this.#print(member, place)).join(", ")}]`
      case "variant":
        return `Union[${type.cases
          .map(({ name, fields }) => {
            const tag: Field = { name: type.tag, type: { kind: "literal", value: name } }
            return this.#named({ kind: "record", fields: [tag, ...fields] }, `${place}/${name}`)
          })
          .join(", ")}]`
      case "ref":
        return this.#side.names.get(type.name) ?? "Any"
    }
  }

  #named(type: RecordType, place: string): string {
    const name = this.#names.take(place)
    this.record(name, type, null)
    return name
  }
}

/** A string of JSON is one of Python, too; what cannot be seen is written in Python's escapes. */
function pythonString(text: string): string {
  return escapeHidden(JSON.stringify(text), (code) => {
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`
  })
}

function hashes(text: string | null, indent: string): string {
  if (text === null || text === "") return ""
  return visibleLines(text)
    .split("\n")
    .map((line) => `${`${indent}# ${line}`.trimEnd()}\n`)
    .join("")
}
