internal import TransferClient
private import TransferModel

/// What became of the source of an upload that `--delete-source` asks to remove.
enum SourceRemoval: Equatable {
    case removed
    /// Why; a sentence.
    case kept(String)

    /// Whether there is a source to be removed: a file that is stored.
    static func concerns(_ report: UploadReport) -> Bool {
        report.isPath && [.committed, .alreadyStored].contains(report.result)
    }

    /// Removes those that can be.
    ///
    /// - Returns: what became of each, in their order; nothing of a directory that was not to go, with what is left in it.
    static func remove(_ reports: [UploadReport], _ client: TransferClient) async -> [SourceRemoval?] {
        await client.removeSources(of: reports).map { result in
            switch result {
            case .success: .removed
            case .failure(let kept): kept.isOccupied ? nil : .kept(kept.reason)
            }
        }
    }
}
