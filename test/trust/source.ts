const servers = [
  "bank",
  "calendar",
  "ci",
  "clinic",
  "crm",
  "desk",
  "erp",
  "files",
  "forum",
  "git",
  "mail",
  "notes",
  "ops",
]

/** A workflow with the backends that its tools name. */
export function withBackends(source: string): string {
  const named = [...servers, "shop", "sign", "web", "wiki"].filter((name) => source.includes(`mcp.${name}.`))
  const declared = named.map((name) => `mcp ${name} { endpoint: "https://${name}.example.com/mcp" }\n`)
  return `${declared.join("")}
provider any from openai { endpoint: "https://models.example.com/v1" }
provider ours from openai { endpoint: "https://models.internal.example.com/v1"  cleared: private }
model small from any { id: "small" }
model eyes from any { id: "eyes"  assets: ["image"] }
model careful from ours { id: "careful" }
${source}
`
}
