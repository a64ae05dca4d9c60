import type { HostedTool, HostSession } from "../../ports/tools.ts"
import type { Redactor } from "../secrets/redact.ts"

/** What servers publish enters a run, too, and goes to its models: secrets in it are replaced on entry. */
export function redactHost(host: HostSession, redactor: Redactor): HostSession {
  const { redact, redactLong } = redactor
  return {
    problems: redact(host.problems),
    tools: mapped(host.tools, (tool) => redactTool(tool, redactor)),
    resources: mapped(host.resources, ({ description, variables, required }) => ({
      description: redact(description),
      variables: redactLong(variables),
      required: redactLong(required),
    })),
    prompts: mapped(host.prompts, (prompt) => ({ arguments: redactLong(prompt.arguments) })),
    // Neither models nor callers see a definition: it is only compared.
    published: (...args) => host.published(...args),
    call: (...args) => host.call(...args),
    read: (...args) => host.read(...args),
    render: (...args) => host.render(...args),
    close: () => host.close(),
  }
}

function redactTool(tool: HostedTool, { redact, redactLong }: Redactor): HostedTool {
  return {
    definition: tool.definition,
    description: redact(tool.description),
    parameters: redactLong(tool.parameters),
    typed: tool.typed,
    idempotent: tool.idempotent,
    ...(tool.retries === true ? { retries: true } : {}),
    fit: (values) => tool.fit(values),
    checkArguments: (values, partial) => redact(tool.checkArguments(values, partial)),
    checkResult: (value) => redact(tool.checkResult(value)),
  }
}

function mapped<T, U>(table: ReadonlyMap<string, T>, change: (value: T) => U): ReadonlyMap<string, U> {
  return new Map([...table].map(([name, value]) => [name, change(value)]))
}
