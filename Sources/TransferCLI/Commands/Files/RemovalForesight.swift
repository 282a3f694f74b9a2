internal import TransferClient
internal import TransferModel

/// Predicts the results of a removal, for `--dry-run`.
struct RemovalForesight {
    let client: TransferClient
    let isRecursive: Bool

    /// What the server says of all removals: the report if it refuses them, and whether they go to the trash.
    let terms: (refusal: RemovalReport?, goesToTrash: Bool)

    /// Counts unlisted names in the folders to be removed.
    let unlisted = UnlistedCount()

    /// - Parameter found: the answer to a stat request for the path.
    func report(_ found: StatReport) async throws(TransferFailure) -> RemovalReport {
        if let refusal = terms.refusal {
            return RemovalReport(path: found.path, result: refusal.result, message: refusal.message)
        }
        if let refusal = client.refusal(found.path) { return refusal }
        guard let entry = found.entry else {
            return RemovalReport(path: found.path, result: found.result, message: found.message)
        }
        guard isRecursive || !entry.isDirectory else {
            return RemovalReport(path: found.path, result: .wrongForm, message: "It is a folder.")
        }
        let before = unlisted.count
        let usage = try await RemoteUsage(entry, on: client, unlisted)
        // A folder moves to the trash as a whole. Without the trash it must be emptied first, which names that cannot
        // be listed prevent.
        guard terms.goesToTrash || unlisted.count == before else {
            return RemovalReport(
                path: found.path, result: .pathConflict,
                message: "It cannot be emptied: something in it has a name that no path can have.")
        }
        return RemovalReport(
            path: found.path, result: .completed, files: UInt64(usage.total.files), isInTrash: terms.goesToTrash)
    }
}
