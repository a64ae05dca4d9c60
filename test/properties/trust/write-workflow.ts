import type {
  Agent,
  Approval,
  Ask,
  Condition,
  Dynamic,
  FileCall,
  FileDeclaration,
  FileInput,
  FileValue,
  List,
  Loop,
  MarkedPath,
  RoundCondition,
  RoundInput,
  RoundList,
  RoundText,
  Text,
  Tool,
  Workflow,
} from "./labelled-workflow.ts"

function head(marks: Workflow["marks"]): string {
  const mark = (path: MarkedPath): string => marks[path] ?? ""
  return `
secrets { key: string }
input {
  mail: ${mark("mail")} string
  iban: ${mark("iban")} string
  shop: ${mark("shop")} string
  customer: { note: ${mark("customer.note")} string, name: ${mark("customer.name")} string, id: ${mark("customer.id")} string }
  mails: [${mark("mails.*")} string]
  letters: ${mark("letters")} [string]
  rows: [{ id: string, note: ${mark("rows.*.note")} string }]
  go: boolean
}
provider any from openai { api_key: secrets.key }
provider eu from openai { cleared: private }
model fast from any { id: "m" }
model safe from eu { id: "m" }
`
}

/** The source, and those of the files that it calls by their paths. */
export function writeFiles(workflow: Workflow): { readonly source: string; readonly modules: Record<string, string> } {
  const modules: Record<string, string> = {}
  for (const { file } of workflow.files) {
    const inner = writeFiles(file.workflow)
    Object.assign(modules, inner.modules, { [file.path]: inner.source })
  }
  return { source: writeWorkflow(workflow), modules }
}

function writeWorkflow({ marks, files, servers, tools, steps, output }: Workflow): string {
  const parts = [...files.map(writeFile), head(marks)]
  for (const [name, { gives, isCleared }] of Object.entries(servers)) {
    const said = gives === undefined ? "" : ` gives: ${gives}`
    parts.push(`mcp ${name} { endpoint: "https://${name}.example.com"${said}${isCleared ? " cleared: private" : ""} }`)
  }
  const given =
    output === undefined
      ? "done: true"
      : `text: ${text(output.text)}\n  flag: ${condition(output.flag)}\n  list: ${list(output.list)}`
  parts.push(...tools.map(writeTool), ...steps.map(writeStep), `output {\n  ${given}\n}\n`)
  return parts.join("\n")
}

function writeFile({ name, file, gives, requiresTrust }: FileDeclaration): string {
  const said = gives.length === 0 ? "" : `gives: [${gives.join(", ")}] `
  const words = `${said}${requiresTrust ? "requires: trusted " : ""}`
  return `workflow ${name} from "./${file.path}" { ${words}secrets { key: secrets.key } }`
}

function writeTool({ name, server, gives, requires, isCleared, approval, to }: Tool): string {
  const words = [
    gives === undefined ? "" : `gives: [${gives.join(", ")}]`,
    requires === undefined ? "" : `requires: ${requires === "to" ? "[to]" : requires}`,
    isCleared ? "cleared: private" : "",
    writeApproval(approval),
    to === undefined ? "" : `bindings { to: input.${to} }`,
  ]
  return `tool ${name} from mcp.${server}.tool.${name} { ${words.join(" ")} }`
}

function writeApproval(approval: Approval): string {
  switch (approval) {
    case "none":
      return ""
    case "caller":
      return "approval: required"
    case "group":
      return `approval { to: "desk" }`
    case "cleared group":
      return `approval { to: "desk" cleared: private }`
  }
}

function writeStep(step: Agent | Ask | Dynamic): string {
  if (step.kind === "agent") return writeAgent(step)
  if (step.kind === "ask") return writeAsk(step)
  if ("value" in step) return `dynamic { ${step.name}: ${text(step.value)} }`
  if ("file" in step) return `dynamic { ${step.name}: ${writeCall(step.file)} }`
  if ("list" in step) return `dynamic { ${step.name}: ${list(step.list)} }`
  return `dynamic { ${step.name}: { p: ${text(step.parts.p)}, q: ${text(step.parts.q)} } }`
}

function writeAgent({
  name,
  loop,
  when,
  models,
  instruction,
  system,
  requirement,
  context,
  uses,
  files,
  skips,
}: Agent): string {
  const lines = [
    `model: ${models.length === 1 ? `model.${models[0]}` : `[${models.map((one) => `model.${one}`).join(", ")}]`}`,
    `instruction: ${text(instruction)}`,
    "output { text: string  ok: boolean }",
  ]
  if (system !== undefined) lines.push(`system: ${text(system)}`)
  if (requirement !== undefined) lines.push(`require result.text != (${text(requirement)})`)
  if (context !== undefined) {
    const { compact } = context
    lines.push(
      compact === undefined
        ? `context: agent.${context.name}`
        : `context: compact agent.${context.name} { model: model.${compact.model} instruction: ${text(compact.instruction)} }`,
    )
  }
  if (uses.length > 0 || files.length > 0) {
    const entry = (name: string, approval: Approval, bound: string): string => {
      const block = [writeApproval(approval), bound === "" ? "" : `bindings { ${bound} }`].join(" ").trim()
      return block === "" ? name : `${name} { ${block} }`
    }
    const entries = [
      ...uses.map(({ tool, to, approval }) => entry(`tool.${tool}`, approval, to ? `to: ${text(to)}` : "")),
      ...files.map(({ workflow, approval, bound }) => entry(`workflow.${workflow}`, approval, writeInput(bound))),
    ]
    lines.push(`uses: [${entries.join(", ")}]`)
  }
  if (skips) lines.push("on_failure: skip")
  const often = loop === undefined ? "" : ` ${writeLoop(loop)}`
  return `agent ${name}${often}${writeWhen(when)} {\n  ${lines.join("\n  ")}\n}`
}

function writeAsk({ name, when, question, to, isCleared, expired }: Ask): string {
  const lines = [`question: ${text(question)}`, "output { text: string }"]
  if (to !== undefined) lines.push(`to: ${text(to)}`)
  if (isCleared) lines.push("cleared: private")
  if (expired !== undefined) lines.push(`on_expiry: { text: ${text(expired)} }`)
  return `ask ${name}${writeWhen(when)} {\n  ${lines.join("\n  ")}\n}`
}

function writeCall({ workflow, input, approval, skips, repeat }: FileCall): string {
  const block = `input { ${writeInput(input)} } ${writeApproval(approval)} ${skips ? "on_failure: skip" : ""}`
  if (repeat === undefined) return `call workflow.${workflow} { ${block} }`
  const rounds = `until: ${writeUntil(repeat.until)} next { ${writeNext(repeat.next)} } at_most: 3`
  return `repeat workflow.${workflow} { ${block} ${rounds} }`
}

function writeInput({ mail, iban, shop, customer, mails, letters, rows, go }: Partial<FileInput>): string {
  const fields = [
    mail && `mail: ${text(mail)}`,
    iban && `iban: ${text(iban)}`,
    shop && `shop: ${text(shop)}`,
    customer && `customer: { note: ${text(customer.note)}, name: ${text(customer.name)}, id: ${text(customer.id)} }`,
    mails && `mails: ${list(mails)}`,
    letters && `letters: ${list(letters)}`,
    rows && `rows: [{ id: ${text(rows.id)}, note: ${text(rows.note)} } ${writeLoop(rows.loop)}]`,
    go && `go: ${condition(go)}`,
  ]
  return fields.filter((field) => field !== undefined).join(", ")
}

function writeUntil(until: RoundCondition): string {
  switch (until.kind) {
    case "flag":
      return "result.flag"
    case "text":
      return `result.text == "x"`
    case "list":
      return "length(result.list) > 1"
    default:
      return condition(until)
  }
}

function writeNext({ mail, iban, mails, letters }: RoundInput): string {
  const one = (value: RoundText): string => {
    if (value.kind === "result") return "result.text"
    return value.kind === "round" ? "text(round)" : text(value)
  }
  const many = (value: RoundList): string => {
    return value.kind === "result-list" ? "result.list" : list(value)
  }
  const fields = [
    mail && `mail: ${one(mail)}`,
    iban && `iban: ${one(iban)}`,
    mails && `mails: ${many(mails)}`,
    letters && `letters: ${many(letters)}`,
  ]
  return fields.filter((field) => field !== undefined).join(", ")
}

/** The value, and a part of it. */
function filePart(value: FileValue, part: "text" | "flag" | "list", otherwise: string): string {
  const path = callOf(value).repeat === undefined ? part : `result.${part}`
  return orMissing(value, path, otherwise)
}

function orMissing(value: FileValue, path: string, otherwise: string): string {
  if (!callOf(value).skips) return `${fileBase(value)}.${path}`
  return `(${fileBase(value)}?.${path} ?? ${otherwise})`
}

function callOf(value: FileValue): FileCall {
  return value.kind === "file-call" ? value : value.by
}

function fileBase(value: FileValue): string {
  return value.kind === "file-call" ? `(${writeCall(value)})` : `dynamic.${value.name}`
}

function writeLoop({ variable, over }: Loop): string {
  return `for ${variable} in ${over.kind === "outputs" ? `agent.${over.name}` : list(over)}`
}

function writeWhen(when: Condition | undefined): string {
  return when === undefined ? "" : ` when (${condition(when)})`
}

function orElse(value: string, otherwise: Text | undefined): string {
  return otherwise === undefined ? value : `(${value} ?? (${text(otherwise)}))`
}

function text(node: Text): string {
  switch (node.kind) {
    case "literal":
      return `"x"`
    case "input":
      return `input.${node.field}`
    case "customer":
      return `input.customer.${node.field}`
    case "agent": {
      const step = node.otherwise === undefined ? "." : "?."
      if (node.field === "text") return orElse(`agent.${node.name}${step}text`, node.otherwise)
      return node.otherwise === undefined
        ? `text(agent.${node.name}.ok)`
        : `(match agent.${node.name}?.ok { true: "yes" false: "no" _ ${text(node.otherwise)} })`
    }
    case "ask":
      return orElse(`ask.${node.name}${node.otherwise === undefined ? "." : "?."}text`, node.otherwise)
    case "dynamic":
      return `dynamic.${node.name}`
    case "part":
      return `dynamic.${node.name}.${node.field}`
    case "all":
      return `json(dynamic.${node.name})`
    case "item":
      return node.name
    case "item-field":
      return `text(${node.name}${node.isNullable ? "?." : "."}${node.field})`
    case "interpolation":
      return `"${node.parts.map((part) => `{{ ${text(part)} }}`).join(" ")}"`
    case "upper":
      return `upper(${text(node.of)})`
    case "match":
      return `(match (${condition(node.on)}) { true: ${text(node.yes)} false: ${text(node.no)} })`
    case "exception":
      return `(${node.word} (${text(node.of)}) because "reason ${node.id}")`
    case "join":
      return `join(${list(node.list)}, ",")`
    case "file":
      return node.field === "text"
        ? filePart(node.value, "text", `"x"`)
        : `text(${filePart(node.value, "flag", "false")})`
    case "call": {
      const to = node.to === undefined ? "" : `to: ${text(node.to)}, `
      const block = `input { ${to}body: ${text(node.body)} } ${writeApproval(node.approval)}`
      return `text(call tool.${node.tool} { ${block} })`
    }
  }
}

function condition(node: Condition): string {
  switch (node.kind) {
    case "go":
      return "input.go"
    case "equal":
      return `(${text(node.left)}) == (${text(node.right)})`
    case "not":
      return `!(${condition(node.of)})`
    case "and":
      return `(${condition(node.left)}) && (${condition(node.right)})`
    case "longer":
      return `length(${list(node.list)}) > 1`
    case "agent":
      return node.isNullable ? `(agent.${node.name}?.ok ?? false)` : `agent.${node.name}.ok`
    case "item-field":
      return node.isNullable ? `(${node.name}?.ok ?? false)` : `${node.name}.ok`
    case "file-flag":
      if (node.field === "done") return orMissing(node.value, "done", "false")
      return node.field === "missing" ? `(${fileBase(node.value)} == null)` : filePart(node.value, "flag", "false")
  }
}

function list(node: List): string {
  switch (node.kind) {
    case "mails":
    case "letters":
      return `input.${node.kind}`
    case "ids":
      return "input.rows.*.id"
    case "notes":
      return "input.rows.*.note"
    case "lines":
      return `lines(${text(node.of)})`
    case "slice":
      return `slice(${list(node.of)}, 1)`
    case "concat":
      return `concat(${list(node.left)}, ${list(node.right)})`
    case "array":
      return `[${node.items.map(text).join(", ")}]`
    case "dynamic-list":
      return `dynamic.${node.name}`
    case "pluck": {
      const plucked = `agent.${node.name}.${node.drops ? "**" : "*"}.${node.field}`
      return node.field === "text" ? plucked : `[text(one) for one in ${plucked}]`
    }
    case "file-list":
      return filePart(node.value, "list", "[]")
    case "list": {
      const { loop, value, when, by } = node
      const key = by === undefined ? "" : ` by ${text(by)}`
      return `[${text(value)} ${writeLoop(loop)}${writeWhen(when)}${key}]`
    }
  }
}
