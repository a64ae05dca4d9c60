import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { builtWire } from "../support/built-wire.ts"

// The language server as Neovim uses it. Debian's Neovim is older than `vim.lsp.config`, so that it is set up as docs/editors.md says for older ones.

const nvim = "/usr/bin/nvim"
const skip = !existsSync(nvim) && "Neovim is not installed (on Debian: apt-get install neovim)"

const source = `input {
    name: string
}

dynamic {
    greeting: "Hello, {{ input.nam }}"
}

output {
    text: dynamic.greeting
}
`

test("Neovim shows diagnostics, completes, hovers, jumps, renames, fixes and formats with wire lsp", { skip }, (t) => {
  const home = mkdtempSync(join(tmpdir(), "wireworks-neovim-"))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const flow = join(home, "flow.wire")
  const out = join(home, "out.json")
  writeFileSync(flow, source)
  const script = join(home, "try.lua")
  writeFileSync(
    script,
    `
local function try()
  local out = {}
  vim.cmd("edit ${flow}")
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({ name = "wire", cmd = { "${process.execPath}", "${builtWire}", "lsp" }, root_dir = "${home}" })
  vim.lsp.buf_attach_client(buffer, client)
  local function eventually(what, holds)
    if not vim.wait(60000, holds, 20) then error("There is no " .. what) end
  end
  local function ask(method, line, character, more)
    local params = vim.tbl_extend("force", {
      textDocument = vim.lsp.util.make_text_document_params(buffer),
      position = { line = line, character = character },
    }, more or {})
    local answers = vim.lsp.buf_request_sync(buffer, method, params, 60000)
    return answers and answers[client] and answers[client].result
  end
  local function text() return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\\n") end

  eventually("diagnostic", function() return #vim.diagnostic.get(buffer) > 0 end)
  out.problem = vim.diagnostic.get(buffer)[1].code

  local here = { start = { line = 5, character = 31 }, ["end"] = { line = 5, character = 34 } }
  local actions = ask("textDocument/codeAction", 5, 31, { range = here, context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(buffer, 5) } })
  out.action = actions[1].title
  vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
  eventually("end of diagnostics", function() return #vim.diagnostic.get(buffer) == 0 end)

  local completion = ask("textDocument/completion", 9, 18)
  out.completion = (completion.items or completion)[1].label
  local hover = ask("textDocument/hover", 9, 20)
  out.hover = type(hover.contents) == "table" and hover.contents.value or hover.contents
  local target = ask("textDocument/definition", 9, 20)
  target = target[1] or target
  out.definition = (target.range or target.targetRange).start.line
  local renamed = ask("textDocument/rename", 9, 20, { newName = "hello" })
  vim.lsp.util.apply_workspace_edit(renamed, "utf-16")
  vim.api.nvim_buf_set_lines(buffer, 0, 3, false, { "input {name:string}" })
  local edits = ask("textDocument/formatting", 0, 0, { options = { tabSize = 4, insertSpaces = true } })
  vim.lsp.util.apply_text_edits(edits, buffer, "utf-16")
  out.text = text()
  return out
end
local ok, out = pcall(try)
vim.fn.writefile({ vim.fn.json_encode(ok and out or { error = tostring(out) }) }, "${out}")
vim.cmd("qa!")
`,
  )
  const { status, stdout, stderr } = spawnSync(nvim, ["-u", "NONE", "-i", "NONE", "-n", "--headless", "-S", script], {
    cwd: home,
    env: { HOME: home, XDG_STATE_HOME: home, PATH: "/usr/bin:/bin", TERM: "xterm" },
    timeout: 300_000,
  })
  assert.ok(existsSync(out), `${String(status)} ${String(stdout)} ${String(stderr)}`)
  const { hover, ...found } = JSON.parse(readFileSync(out, "utf8")) as Record<string, unknown>
  assert.match(String(hover), /greeting/, JSON.stringify(found))
  assert.deepEqual(found, {
    problem: "unknown-reference",
    action: "Change to `input.name`",
    completion: "greeting",
    definition: 5,
    text: source.replace("input.nam ", "input.name ").replaceAll("greeting", "hello").trimEnd(),
  })
})
