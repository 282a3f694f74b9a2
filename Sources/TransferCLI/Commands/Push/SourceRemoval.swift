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
}

/// The sources of a push that are to be removed. They wait until nothing more of the push is stored, and then the server is asked again
/// what it has: nothing that comes later may replace what a source was removed for.
actor SourceRemovals {
    /// Reports that wait, at most: 60 MB. Where there are more, the server is asked in between; a push replaces nothing that it
    /// has stored.
    private static let mostWaiting = 65_536

    private let client: TransferClient
    private let reporter: PushReporter
    private var waiting: [UploadReport] = []

    init(_ client: TransferClient, _ reporter: PushReporter) {
        (self.client, self.reporter) = (client, reporter)
    }

    func add(_ report: UploadReport) async {
        guard await reporter.hold(report) else {
            return await reporter.settle(report, .kept("Its receipt could not be kept."))
        }
        waiting.append(report)
        if waiting.count >= Self.mostWaiting { await settle() }
    }

    /// Removes what can be removed.
    func settle() async {
        let reports = waiting
        waiting = []
        for (report, result) in zip(reports, await client.removeSources(of: reports)) {
            let removal: SourceRemoval? =
                switch result {
                case .success: .removed
                // A directory that was not to go, with what is left in it.
                case .failure(let kept): kept.isOccupied ? nil : .kept(kept.reason)
                }
            await reporter.settle(report, removal)
        }
    }

    /// The push has failed: all that wait stay.
    func giveUp() async {
        await reporter.giveUp(waiting)
        waiting = []
    }
}
