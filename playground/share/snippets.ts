import type { ExecuteOptions } from "../../src/api/execute.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { escapeHidden, visibleJson } from "../../src/base/visible-text.ts"

/** A secret as a snippet needs to know it; its value is read from an environment variable. */
export interface SnippetSecret {
  readonly name: string
  /** The variable holds JSON, not the text itself. */
  readonly isJson: boolean
  /** Without its variable it is null. */
  readonly isOptional: boolean
}

/** What a snippet asks the service to do. */
export interface SnippetRequest {
  readonly url: string
  /** The workflow of the server's folder that is called by its name; null where the request has the source. */
  readonly workflow: string | null
  readonly source: string
  /** The other files that it uses. */
  readonly files: { readonly file?: string; readonly modules?: Readonly<Record<string, string>> }
  readonly input: JsonObject
  readonly options: Omit<ExecuteOptions, "notify">
  readonly secrets: readonly SnippetSecret[]
  /** The service asks for an API key. */
  readonly withKey: boolean
}

export const snippetLanguages = ["curl", "TypeScript", "Python", "PHP"] as const
/** Only a workflow with a name has a typed client. */
const typedClient = "typed-client"
export type SnippetLanguage = (typeof snippetLanguages)[number] | typeof typedClient

export function languageLabel(language: SnippetLanguage): string {
  return language === typedClient ? "Typed client" : language
}

/** The languages for a request, the best one first. */
export function languagesOf({ workflow }: Pick<SnippetRequest, "workflow">): readonly SnippetLanguage[] {
  return workflow === null ? snippetLanguages : [typedClient, ...snippetLanguages]
}

export function snippet(language: SnippetLanguage, request: SnippetRequest): string {
  switch (language) {
    case typedClient:
      return typed(request)
    case "curl":
      return curl(request)
    case "TypeScript":
      return typeScript(request)
    case "Python":
      return python(request)
    case "PHP":
      return php(request)
  }
}

/** Variables that mean something to every program. */
const taken = new Set(["PATH", "HOME", "USER", "SHELL", "PWD", "LANG", "TERM", "TMPDIR", "IFS"])

/** `API_KEY` of `api_key`. */
function variableOf({ name }: SnippetSecret): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase()
  const variable = words.replace(/[^A-Z0-9_]/g, "_")
  return taken.has(variable) || variable === keyVariable ? `SECRET_${variable}` : variable
}

const keyVariable = "WIRE_API_KEY"

/** Where the request goes: to the workflow by its name, or with its source. */
function addressOf({ url, workflow }: SnippetRequest): string {
  return workflow === null ? `${url}/execute` : `${url}/workflows/${workflow}/execute`
}

function plainBody({ workflow, source, files, input, options }: SnippetRequest): JsonObject {
  const body: JsonObject = workflow === null ? { workflow_source: source, ...files, input } : { input }
  if (Object.keys(options).length > 0) body["options"] = { ...options } as JsonObject
  return body
}

/** A shell function that writes a text as JSON, whatever is in it. */
const shellJson = `json() {
  printf '%s\\n' "$1" | awk 'BEGIN { printf "\\"" } NR > 1 { printf "\\\\n" } {
    for (i = 1; i <= length($0); i++) {
      c = substr($0, i, 1)
      printf "%s", c == "\\\\" || c == "\\"" ? "\\\\" c : c == "\\t" ? "\\\\t" : c == "\\r" ? "\\\\r" : c
    }
  } END { printf "\\"" }'
}`

/** In single quotes, where the shell leaves everything as it is; secrets are between two such pieces. */
function curl(request: SnippetRequest): string {
  const { secrets, withKey } = request
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
  const json = visibleJson(plainBody(request), 2)
  // The pieces with the secrets are quoted by hand: their variables must be seen by the shell.
  const fields = secrets.map(
    (secret) => `    ${quote(JSON.stringify(secret.name)).slice(1, -1)}: '"${shellValue(secret)}"'`,
  )
  const body =
    secrets.length === 0 ? quote(json) : `${quote(json.slice(0, -2))}',\n  "secrets": {\n${fields.join(",\n")}\n  }\n}'`
  const needed = secrets.filter(({ isOptional }) => !isOptional).map((secret) => `"\${${variableOf(secret)}:?}"`)
  return [
    ...environmentLines(request, (name) => `export ${name}=…`),
    ...(secrets.some(({ isJson }) => !isJson) ? [shellJson] : []),
    ...(needed.length === 0 ? [] : [`: ${needed.join(" ")} &&`]),
    `curl ${quote(addressOf(request))} \\`,
    "  -H 'Content-Type: application/json' \\",
    ...(withKey ? [`  -H "Authorization: Bearer $${keyVariable}" \\`] : []),
    `  -d ${body}`,
    "",
  ].join("\n")
}

function shellValue(secret: SnippetSecret): string {
  const variable = variableOf(secret)
  if (secret.isJson) return secret.isOptional ? `\${${variable}:-null}` : `$${variable}`
  const text = `json "$${variable}"`
  return secret.isOptional ? `$([ -n "\${${variable}-}" ] && ${text} || printf null)` : `$(${text})`
}

function environmentLines({ secrets, withKey }: SnippetRequest, line: (name: string) => string): string[] {
  const names = [...(withKey ? [keyVariable] : []), ...secrets.map(variableOf)]
  return names.length === 0 ? [] : names.map((name) => `# ${line(name)}`)
}

/** Called by name, with the types that the command writes. */
function typed({ url, workflow, input, options, secrets, withKey }: SnippetRequest): string {
  const more = [
    ...(secrets.length === 0
      ? []
      : [
          `secrets: { ${secrets.map((secret) => `${JSON.stringify(secret.name)}: ${typeScriptValue(secret)}`).join(", ")} }`,
        ]),
    ...(Object.keys(options).length === 0 ? [] : [`options: ${visibleJson(options)}`]),
  ]
  const key = withKey ? `, apiKey: variable("${keyVariable}")` : ""
  const needs = withKey || secrets.some(({ isOptional }) => !isOptional)
  return `// Once, in the folder of the workflows: wire types . --out wire.d.ts
import { createClient } from "wireworks/client"
import type { Workflows } from "./wire.d.ts"
${needs ? `\n${typeScriptVariable}\n` : ""}
const client = createClient<Workflows>({ baseUrl: ${JSON.stringify(url)}${key} })
const { run_id, output } = await client.workflow(${JSON.stringify(workflow)}).execute(
  ${indented(visibleJson(input, 2), 2)},${more.length === 0 ? "" : `\n  { ${more.join(", ")} },`}
)
console.log(run_id, JSON.stringify(output))
`
}

function typeScript(request: SnippetRequest): string {
  const { workflow, source, files, input, options, secrets, withKey } = request
  const fields = [
    ...(workflow === null
      ? [
          "workflow_source: source",
          ...Object.entries(files).map(([name, value]) => `${name}: ${indented(visibleJson(value, 2), 4)}`),
        ]
      : []),
    `input: ${indented(visibleJson(input, 2), 4)}`,
    ...(secrets.length === 0
      ? []
      : [
          `secrets: { ${secrets.map((secret) => `${JSON.stringify(secret.name)}: ${typeScriptValue(secret)}`).join(", ")} }`,
        ]),
    ...(Object.keys(options).length === 0 ? [] : [`options: ${visibleJson(options)}`]),
  ]
  const needs = withKey || secrets.some(({ isOptional }) => !isOptional)
  return `${workflow === null ? `const source = ${templateLiteral(source)}\n` : ""}${needs ? `\n${typeScriptVariable}\n` : ""}
const response = await fetch(${JSON.stringify(addressOf(request))}, {
  method: "POST",
  headers: {
    "content-type": "application/json",${withKey ? `\n    authorization: \`Bearer \${variable("${keyVariable}")}\`,` : ""}
  },
  body: JSON.stringify({
    ${fields.join(",\n    ")},
  }),
})
const output = await response.json()
if (!response.ok) throw new Error(output.error.message)
console.log(JSON.stringify(output))
`
}

function typeScriptValue(secret: SnippetSecret): string {
  const name = variableOf(secret)
  const value = secret.isOptional ? `process.env.${name}` : `variable("${name}")`
  if (secret.isJson) return `JSON.parse(${value}${secret.isOptional ? ' ?? "null"' : ""})`
  return secret.isOptional ? `${value} ?? null` : value
}

const typeScriptVariable = `function variable(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(\`Set \${name} first\`)
  return value
}`

function templateLiteral(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${")
  return `\`${escapeInLines(escaped, (code) => `\\u{${code.toString(16)}}`)}\``
}

/** In a text over several lines, tabs and line feeds stay. */
function escapeInLines(text: string, write: (code: number) => string): string {
  return escapeHidden(text, (code, character) => (character === "\n" || character === "\t" ? character : write(code)))
}

function python(request: SnippetRequest): string {
  const { workflow, source, files, input, options, secrets, withKey } = request
  const fields = [
    ...(workflow === null
      ? [
          '"workflow_source": source',
          ...Object.entries(files).map(
            ([name, value]) => `"${name}": json.loads(${JSON.stringify(visibleJson(value))})`,
          ),
        ]
      : []),
    `"input": json.loads(${JSON.stringify(visibleJson(input))})`,
    ...(secrets.length === 0
      ? []
      : [
          `"secrets": {${secrets.map((secret) => `${JSON.stringify(secret.name)}: ${pythonValue(secret)}`).join(", ")}}`,
        ]),
    ...(Object.keys(options).length === 0 ? [] : [`"options": json.loads(${JSON.stringify(visibleJson(options))})`]),
  ]
  return `import json
import os
import urllib.error
import urllib.request

${workflow === null ? `source = ${pythonText(source)}\n\n` : ""}request = urllib.request.Request(
    ${JSON.stringify(addressOf(request))},
    data=json.dumps({
        ${fields.join(",\n        ")},
    }).encode(),
    headers={
        "Content-Type": "application/json",${withKey ? `\n        "Authorization": "Bearer " + os.environ["${keyVariable}"],` : ""}
    },
)
try:
    with urllib.request.urlopen(request) as response:
        print(json.dumps(json.load(response)))
except urllib.error.HTTPError as error:
    raise SystemExit(json.load(error)["error"]["message"])
`
}

function pythonValue(secret: SnippetSecret): string {
  const variable = JSON.stringify(variableOf(secret))
  const value = secret.isOptional ? `os.environ.get(${variable})` : `os.environ[${variable}]`
  return secret.isJson ? `json.loads(${secret.isOptional ? `${value} or "null"` : value})` : value
}

/** A string over several lines that Python reads back to the letter. */
function pythonText(text: string): string {
  const lines = text.split("\n").map((line) => visibleJson(line).slice(1, -1))
  return `"""\\\n${lines.join("\n")}"""`
}

function php(request: SnippetRequest): string {
  const { workflow, source, files, input, options, secrets, withKey } = request
  const fields = [
    ...(workflow === null
      ? [
          '"workflow_source" => $source',
          ...Object.entries(files).map(([name, value]) => `"${name}" => json_decode(${phpText(visibleJson(value))})`),
        ]
      : []),
    `"input" => json_decode(${phpText(visibleJson(input))})`,
    ...(secrets.length === 0
      ? []
      : [`"secrets" => [${secrets.map((secret) => `${phpText(secret.name)} => ${phpValue(secret)}`).join(", ")}]`]),
    ...(Object.keys(options).length === 0 ? [] : [`"options" => json_decode(${phpText(visibleJson(options))})`]),
  ]
  return `<?php

${workflow === null ? `$source = ${phpText(source)};\n\n` : ""}$request = curl_init(${phpText(addressOf(request))});
curl_setopt_array($request, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        "Content-Type: application/json",${withKey ? `\n        "Authorization: Bearer " . getenv("${keyVariable}"),` : ""}
    ],
    CURLOPT_POSTFIELDS => json_encode([
        ${fields.join(",\n        ")},
    ]),
]);
$answer = curl_exec($request);
$output = json_decode($answer);
if (curl_getinfo($request, CURLINFO_RESPONSE_CODE) !== 200) {
    throw new Exception($output->error->message ?? "The service did not answer");
}
echo $answer, "\\n";
`
}

/** `getenv` gives false for a variable that is not set. */
function phpValue(secret: SnippetSecret): string {
  const value = `getenv("${variableOf(secret)}")`
  const known = secret.isJson ? `json_decode(${value})` : value
  const otherwise = secret.isOptional ? "null" : `throw new Exception("Set ${variableOf(secret)} first")`
  return `${value} === false ? ${otherwise} : ${known}`
}

/** In single quotes there are no escapes: a text with characters that cannot be seen is read from JSON. */
function phpText(text: string): string {
  if (escapeInLines(text, () => "") !== text) return `json_decode(${phpText(visibleJson(text))})`
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
}

function indented(text: string, by: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(by)}`)
}
