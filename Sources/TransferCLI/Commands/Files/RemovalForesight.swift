internal import TransferClient
internal import TransferModel

/// What a removal would come to, found out without one.
struct RemovalForesight {
    let client: TransferClient
    let isRecursive: Bool

    /// What the server has said before it looked at anything.
    let terms: (refusal: RemovalReport?, goesToTrash: Bool)

    /// Names in the folders that would go.
    let unlisted = UnlistedCount()

    /// - Parameter found: what there is under a path.
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
        // To the trash a folder goes as it is.
        guard terms.goesToTrash || unlisted.count == before else {
            return RemovalReport(
                path: found.path, result: .pathConflict,
                message: "It cannot be emptied: something in it has a name that no path can have.")
        }
        return RemovalReport(
            path: found.path, result: .completed, files: UInt64(usage.total.files), isInTrash: terms.goesToTrash)
    }
}
