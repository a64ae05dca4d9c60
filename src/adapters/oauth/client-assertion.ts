import { constants, createPrivateKey, randomUUID, sign, type KeyObject } from "node:crypto"

/** A JWT by which a client proves that it has its key (RFC 7523). Throws an `Error` with a sentence for a key that does not fit. */
export function clientAssertion(
  client: {
    readonly client_id: string
    readonly private_key: string
    readonly key_id: string | null
    readonly algorithm: string | null
  },
  audience: string,
  now: number,
): string {
  const key = readKey(client.private_key)
  const alg = client.algorithm ?? defaultAlgorithm(key)
  const seconds = Math.floor(now / 1000)
  const head = { alg, typ: "JWT", ...(client.key_id === null ? {} : { kid: client.key_id }) }
  const { client_id } = client
  const claims = { iss: client_id, sub: client_id, aud: audience, jti: randomUUID(), iat: seconds, exp: seconds + 60 }
  const signed = `${encoded(head)}.${encoded(claims)}`
  return `${signed}.${signature(alg, key, signed).toString("base64url")}`
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Error("`private_key` is not a key in PEM (PKCS#8)")
  }
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url")
}

const curves: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" }

function defaultAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  switch (asymmetricKeyType) {
    case "rsa":
      return "RS256"
    case "rsa-pss":
      return "PS256"
    case "ed25519":
      return "EdDSA"
    case "ec":
      return curves[asymmetricKeyDetails?.namedCurve ?? ""] ?? "ES256"
    default:
      throw new Error("`private_key` is a key of a kind that cannot sign")
  }
}

function signature(alg: string, key: KeyObject, text: string): Buffer {
  const bytes = Buffer.from(text)
  const kind = key.asymmetricKeyType
  const misfit = new Error(`\`private_key\` does not fit the algorithm ${alg}`)
  try {
    if (alg === "EdDSA") {
      if (kind !== "ed25519") throw misfit
      return sign(null, bytes, key)
    }
    const hash = `sha${alg.slice(2)}`
    switch (alg.slice(0, 2)) {
      case "RS":
        if (kind !== "rsa") throw misfit
        return sign(hash, bytes, key)
      case "PS":
        if (kind !== "rsa" && kind !== "rsa-pss") throw misfit
        return sign(hash, bytes, {
          key,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        })
      case "ES":
        if (kind !== "ec" || curves[key.asymmetricKeyDetails?.namedCurve ?? ""] !== alg) throw misfit
        return sign(hash, bytes, { key, dsaEncoding: "ieee-p1363" })
      default:
        throw misfit
    }
  } catch {
    throw misfit
  }
}
