import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { fillUnderService, newFolder, smallDisk, startOnFullDisk, type Disk } from "../../support/full-disk.ts"

// Where this user may mount, the disk is a small file system of its own. A limit on the size of files does the same to SQLite, needs no rights, and
// is tried everywhere.

const limited: Disk = {
  folder: newFolder(),
  fill: (pid) => prlimit(pid, "4096"),
  free: (pid) => prlimit(pid, "unlimited"),
}

function prlimit(pid: number, bytes: string): void {
  const { status, stderr } = spawnSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`])
  assert.equal(status, 0, String(stderr))
}

const tmpfs = smallDisk(16)
const disks: [string, Disk][] = [["files may not grow", limited]]
if (tmpfs !== null) disks.push(["the file system is full", tmpfs])

for (const [name, disk] of disks) {
  test(`a full disk: ${name}: readiness goes off, runs wait without asking again, and all comes back by itself`, () =>
    fillUnderService({ disk, store: { WIRE_DATA_DIR: disk.folder }, sentence: /disk is full|check the disk/ }))
}

const other = smallDisk(32)
test(
  "a service that starts on a full disk refuses with 503, and takes every run when there is room again",
  { skip: other === null && "needs the right to mount" },
  () => (other === null ? undefined : startOnFullDisk(other)),
)
