internal import TransferClient
private import TransferProtocol

/// What became of the source of an upload that `--delete-source` asks to remove.
enum SourceRemoval: Equatable {
    case removed
    /// Why; a sentence.
    case kept(String)

    /// Whether there is a source to be removed: a file that is stored.
    static func concerns(_ report: UploadReport) -> Bool {
        report.isPath && [.committed, .alreadyStored].contains(report.result)
    }

    /// Removes it, if it can be.
    static func remove(_ report: UploadReport, _ client: TransferClient) async -> SourceRemoval {
        do throws(SourceKept) {
            try await client.removeSource(of: report)
            return .removed
        } catch {
            return .kept(error.reason)
        }
    }
}
