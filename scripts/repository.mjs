// The repository that a release is made from, as the manifests of its packages name it.

/**
 * Undefined where nothing is released: no package names a repository that it does not come from.
 * @param {string} directory The package's, in the repository.
 */
export function repositoryFields(directory) {
  const { GITHUB_SERVER_URL: server = "https://github.com", GITHUB_REPOSITORY: repository } = process.env
  if (repository === undefined) return undefined
  const address = `${server}/${repository}`
  return {
    repository: { type: "git", url: `git+${address}.git`, directory },
    homepage: `${address}#readme`,
    bugs: `${address}/issues`,
  }
}
