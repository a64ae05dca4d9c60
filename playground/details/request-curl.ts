import type { CallRequestAnswer } from "../../src/client/client.ts"

/** The request as a command for a shell; keys are variables that it sees: `$KEY`. */
export function requestCurl({ method, url, headers, text }: CallRequestAnswer): string {
  const lines = [
    `curl -X ${method} ${quote(url)}`,
    ...Object.entries(headers).map(([name, value]) => `  -H ${header(name, value)}`),
    ...(text === null ? [] : [`  --data-binary ${quote(text)}`]),
  ]
  return `${lines.join(" \\\n")}\n`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** A variable stands between double quotes, where the shell puts in its value. */
function header(name: string, value: string): string {
  const [, before, variable] = /^(.*?)(\$[A-Z0-9_]+)$/.exec(value) ?? []
  return variable === undefined ? quote(`${name}: ${value}`) : `${quote(`${name}: ${before}`)}"${variable}"`
}
