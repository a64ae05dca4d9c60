// What `wire init` writes for coding agents.

const howTo = `- Before you write a \`.wire\` file, read the language on one page: \`GET /llms.txt\` of a running service, or \`docs/llms.txt\` of the package.
- \`wire check workflows\` reports what is wrong: each message has a code and a hint that, followed, works. Run it after every change.
- \`wire fmt workflows\` writes the canonical form.
- \`wire test workflows\` runs the tests (\`NAME.test.wire\` beside \`NAME.wire\`). They call nobody.
- \`wire run workflows/triage.wire\` runs a workflow. The demo model (\`endpoint: "demo"\`) needs no key.
- \`wire mcp docs\` is an MCP server with the tools check, format, explain, search_docs, examples and reach.
- Keys are secrets: declare them in \`secrets { }\`, never write them into a file.
`

export const agentFiles: Readonly<Record<string, string>> = {
  "AGENTS.md": `# For coding agents

Every \`.wire\` file in \`workflows/\` is an AI workflow that Wireworks checks, tests and serves.

${howTo}`,
}

export const skillFiles: Readonly<Record<string, string>> = {
  ".agents/skills/wire/SKILL.md": `---
name: wire
description: Write, check, test and run Wireworks workflows (.wire files). Use when a task touches a .wire file or asks for an AI workflow.
---

# Workflows in .wire files

${howTo}`,
}
