import assert from "node:assert/strict"
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { readAddress, readProofs, type PostgresFiles } from "../../src/adapters/postgres/address.ts"
import { certificate } from "../support/certificate.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { account, startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

/** `app` needs TLS, `known` a certificate as well; the tests' own user needs nothing. */
const hba = `host all super 127.0.0.1/32 trust
hostssl all app 127.0.0.1/32 trust
hostssl all known 127.0.0.1/32 trust clientcert=verify-ca
`

describe("PostgreSQL over TLS", () => {
  let server: PostgresServer
  const folder = mkdtempSync(join(tmpdir(), "wireworks-tls-"))
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    const { uid, gid } = account()
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
    return path
  }
  before(async () => {
    chmodSync(folder, 0o711)
    const cert = file("server.crt", certificate.cert)
    server = await startPostgres({
      config: [
        "fsync=off",
        "ssl=on",
        `ssl_cert_file=${cert}`,
        `ssl_key_file=${file("server.key", certificate.key)}`,
        `ssl_ca_file=${cert}`,
        `hba_file=${file("hba.conf", hba)}`,
      ],
    })
    for (const sql of ["CREATE ROLE app LOGIN", "CREATE ROLE known LOGIN", "CREATE DATABASE wire OWNER app"]) {
      await server.query(sql)
    }
    await server.query("GRANT CREATE ON DATABASE wire TO known")
  })
  after(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })

  /** Opens a store and closes it again; what is said where that fails. */
  const open = async (user: string, mode: string, files: PostgresFiles, host = "127.0.0.1"): Promise<string> => {
    const url = `postgres://${user}@${host}:${server.port}/wire?sslmode=${mode}`
    const read = readAddress(url)
    assert.ok(read.ok)
    const proofs = readProofs(files, read.address)
    if (typeof proofs === "string") return proofs
    try {
      await (await postgresStores(url, new ManualClock())({ proofs })).close()
      return "opened"
    } catch (error) {
      return (error as Error).message
    }
  }
  const none: PostgresFiles = { ca: undefined, cert: undefined, key: undefined }

  test("who signed the certificate and whose it is are checked as sslmode says", async () => {
    const ca = { ...none, ca: join(folder, "server.crt") }
    assert.equal(await open("app", "require", none), "opened")
    assert.equal(await open("app", "verify-ca", ca), "opened")
    assert.match(await open("app", "verify-ca", none), /is not trusted .*: set WIRE_POSTGRES_CA to the file/)
    assert.match(
      await open("app", "verify-full", ca),
      /is not for that name .*: write the name that is in it into WIRE_STORE, or add \?sslmode=verify-ca/,
    )
    assert.match(await open("app", "disable", none), /refuses the login.*no encryption/)
  })

  test("a server that asks for a certificate gets that of the settings", async () => {
    const files = { ca: join(folder, "server.crt"), cert: join(folder, "server.crt"), key: join(folder, "server.key") }
    assert.equal(await open("known", "verify-ca", files), "opened")
    assert.match(await open("known", "verify-ca", { ...files, cert: undefined, key: undefined }), /client certificate/)
  })
})
