import assert from "node:assert/strict"
import { after, test } from "node:test"
import { startWire } from "../cli/run-wire.ts"
import { startServer } from "../support/http-server.ts"
import { launchBrowser } from "./launch.ts"
import { reportFailure } from "./open-playground.ts"

// DNS rebinding with a real browser: a page is loaded under a name of an attacker's, then the name leads to the service. To
// the browser it stays one origin, and over plain HTTP its GET requests carry neither `Origin` nor `Sec-Fetch-*`.

test("a page that rebinds its name to the service reads nothing from it", async () => {
  const name = "rebound.example"
  const attacker = await startServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html", connection: "close" }).end("<title>attacker</title>")
  })
  const { port } = attacker
  const browser = await launchBrowser([`--host-resolver-rules=MAP ${name} 127.0.0.1`])
  after(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`http://${name}:${port}/`)
  await attacker.close()
  const service = await startWire(["serve", "--port", String(port)], { WIRE_STORE: "memory" })
  reportFailure(page.context(), service)

  const read = (path: string, method = "GET"): Promise<[number, string]> =>
    page.evaluate(
      async ([at, how]) => {
        const response = await fetch(at ?? "", { method: how ?? "" })
        return [response.status, await response.text()] as [number, string]
      },
      [path, method],
    )
  for (const path of ["/metrics", "/openapi.json", "/playground", "/readyz", "/execute/x"]) {
    const [status, text] = await read(path)
    assert.deepEqual([path, status], [path, 403])
    assert.match(text, /"kind":"forbidden".*WIRE_ALLOWED_HOSTS/)
  }
  assert.equal((await read("/validate", "POST"))[0], 403)

  // The same browser may call by the address.
  await page.goto(`http://127.0.0.1:${port}/playground`)
  assert.equal((await read("/metrics"))[0], 200)
  service.child.kill("SIGTERM")
  await service.ended
})
