package import TransferModel

extension FileStore {
    /// Makes a folder and those above it, as far as they are missing. When this returns they are there, durably if the store
    /// is.
    ///
    /// - Throws: `pathConflict` where a file has the path, `insufficientStorage`, `storageFailed`.
    package func makeFolder(_ path: RelativePath) throws(Failure) {
        try space?.check()
        let failures = incoming.committer.failures
        let directories = BatchDirectories(tree, incoming.committer)
        defer { directories.close() }
        _ = try directories.open(path)
        try directories.commit(since: failures)
    }
}
