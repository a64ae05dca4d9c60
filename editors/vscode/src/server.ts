import about from "../../../package.json" with { type: "json" }
import { serveStdio } from "../../../src/lsp/serve-stdio.ts"

// The language server alone, for those who have no `wire` installed.

process.exitCode = await serveStdio(about.version)
