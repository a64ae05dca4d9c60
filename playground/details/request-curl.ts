import type { CallRequestAnswer } from "../../src/client/client.ts"

/** The request as a command for a shell; keys and secrets are variables that it sees: `$KEY`. */
export function requestCurl({ method, url, headers, text, redacted }: CallRequestAnswer): string {
  const lines = [
    `curl -X ${method} ${withVariables(url)}`,
    ...Object.entries(headers).map(([name, value]) => `  ${header(name, value)}`),
    ...(text === null || text === "" ? [] : [`  --data-binary ${redacted ? withVariables(text) : quote(text)}`]),
  ]
  return `${lines.join(" \\\n")}\n`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** A secret is shown by its name, which is written otherwise in an address. */
const secret = /(?:\[secret:|%5Bsecret%3A)([\w.-]+)(?:\]|%5D)/

function withVariables(text: string): string {
  const parts = text.split(secret)
  const shown = parts.map((part, at) =>
    at % 2 === 0 ? (part === "" ? "" : quote(part)) : `"$${part.toUpperCase().replaceAll(/[.-]/g, "_")}"`,
  )
  return shown.join("")
}

/** A variable stands between double quotes, where the shell puts in its value. */
function header(name: string, value: string): string {
  // curl unpacks only what it has asked for itself.
  if (name === "accept-encoding") return "--compressed"
  const [, before, variable] = /^(.*?)(\$[A-Z0-9_]+)$/.exec(value) ?? []
  return `-H ${variable === undefined ? quote(`${name}: ${value}`) : `${quote(`${name}: ${before}`)}"${variable}"`}`
}
