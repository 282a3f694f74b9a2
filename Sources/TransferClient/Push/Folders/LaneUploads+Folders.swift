import TransferModel
import TransferProtocol

/// What the server knows of folders that it was asked about.
extension LaneUploads {
    /// A folder whose files are not all known is looked at file by file.
    func compared(_ outcome: Outcome) {
        guard let folder = folders.remove(outcome.id) else { return }
        let isKnown = outcome.code == .alreadyStored && outcome.count == UInt64(folder.files.count)
        if isKnown {
            hasProgressed = true
            run.channel.send(.known(folder.report(isDurable: outcome.isDurable)))
        } else {
            run.feed.putBack(folder)
        }
        run.lanes.lookups.compared(isKnown: isKnown)
        news.tell()
    }
}
