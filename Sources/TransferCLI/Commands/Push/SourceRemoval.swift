internal import TransferClient
private import TransferModel

/// What happened to the source of an upload with `--delete-source`.
enum SourceRemoval: Equatable {
    case removed
    /// The source was not removed; the value says why, as a sentence.
    case kept(String)

    /// Whether a report is about a stored file, whose source can be removed.
    static func concerns(_ report: UploadReport) -> Bool {
        report.isPath && [.committed, .alreadyStored].contains(report.result)
    }
}

/// Removes the sources of a push. They wait until the push has stored everything. Then the client asks the server again
/// what it has, because a later upload could have replaced the content of an earlier one.
actor SourceRemovals {
    /// The most reports that wait, about 60 MB of memory. When there are as many, their uploads are confirmed and their
    /// sources removed before the end of the push, which does not replace what it has stored itself.
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

    /// Asks the server about the waiting uploads, and removes their sources.
    func settle() async {
        let reports = waiting
        waiting = []
        for (report, result) in zip(reports, await client.removeSources(of: reports)) {
            let removal: SourceRemoval? =
                switch result {
                case .success: .removed
                // A directory that is not empty stays without a message.
                case .failure(let kept): kept.isOccupied ? nil : .kept(kept.reason)
                }
            await reporter.settle(report, removal)
        }
    }

    /// Keeps all waiting sources, because the push has failed.
    func giveUp() async {
        await reporter.giveUp(waiting)
        waiting = []
    }
}
