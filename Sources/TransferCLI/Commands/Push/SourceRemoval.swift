internal import TransferClient
private import TransferProtocol

/// What became of the source of an upload that `--delete-source` asks to remove.
enum SourceRemoval: Equatable {
    case removed
    /// Why; a sentence.
    case kept(String)

    /// Removes it, if it can be.
    ///
    /// - Returns: nothing of what is no file, or was not stored.
    static func remove(_ report: UploadReport, _ client: TransferClient) async -> SourceRemoval? {
        guard report.isPath, [.committed, .alreadyStored].contains(report.result) else { return nil }
        do throws(SourceKept) {
            try await client.removeSource(of: report)
            return .removed
        } catch {
            return .kept(error.reason)
        }
    }
}
