import assert from "node:assert/strict"
import { test } from "node:test"
import { classifyAddress } from "./classify-address.ts"

const cases: Readonly<Record<string, readonly string[]>> = {
  public: [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001:82a::200e",
    // Embeddings of public addresses.
    "64:ff9b::8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
    "2001:0:808:808:0:0:f7f7:f7f7",
  ],
  private: [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.7",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "100::1",
    "4000::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::8.8.8.8",
    "2002:7f00:1::",
    "2002:0a00:0001::1",
    "2002:c0a8:0101::1",
    // Teredo: a private server, then a private client (its bits flipped: f5ff:fffe is 10.0.0.1).
    "2001:0:a00:1:0:0:f7f7:f7f7",
    "2001:0:808:808:0:0:f5ff:fffe",
    "2606:4700::5efe:10.0.0.1",
  ],
  link_local: [
    "169.254.0.1",
    "169.254.255.255",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "::ffff:169.254.1.1",
    "64:ff9b::169.254.1.1",
    "64:ff9b:1::169.254.1.1",
    "64:ff9b:1:a9fe:0:101::",
    "2002:a9fe:101::",
    "2001:0:a9fe:101:0:0:f7f7:f7f7",
    "2606:4700::200:5efe:169.254.1.1",
  ],
  metadata: [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd00:0ec2:0:0:0:0:0:0254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    // a9fe:a9fe with its bits flipped is 5601:5601.
    "2001:0:808:808:0:0:5601:5601",
  ],
}

for (const [kind, addresses] of Object.entries(cases)) {
  for (const address of addresses) {
    test(`${address} is ${kind}`, () => assert.equal(classifyAddress(address)?.kind, kind))
  }
}

test("what is no address has no class", () => {
  for (const text of ["", "localhost", "1.2.3", "256.1.1.1", "0x7f.0.0.1", "::g", "1.2.3.4.5", "[::1]"]) {
    assert.equal(classifyAddress(text), null, text)
  }
})

test("a message names the address inside", () => {
  assert.equal(classifyAddress("64:ff9b::10.0.0.1")?.name, "a NAT64 address that holds a private address")
})
