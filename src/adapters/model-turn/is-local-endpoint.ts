const names = /^(?:localhost|[^.]+|.+\.(?:localhost|local|lan|internal|intranet|home\.arpa|test))$/
const addresses =
  /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|0\.|\[(?:::1?\]|f[cd]|fe[89ab]))/

/**
 * Whether a backend stands on this machine or in this network, by its name alone. Those are Ollama, LM Studio, llama.cpp
 * or vLLM as a rule, some of which silently drop tools when a schema is asked for.
 */
export function isLocalEndpoint(endpoint: string): boolean {
  const host = URL.parse(endpoint)?.hostname ?? ""
  return addresses.test(host) || (names.test(host) && !host.startsWith("["))
}
