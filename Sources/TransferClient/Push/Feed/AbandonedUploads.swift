import TransferModel

/// Uploads in parts that have failed and cannot be resumed. The client asks the server to discard what it has of such
/// an upload as soon as no part is under way, because a part that arrived after the request would start the upload
/// again.
///
/// `@unchecked Sendable`: used on the run's loop only.
final class AbandonedUploads: @unchecked Sendable {
    private struct Entry {
        /// The number of parts that were begun and have no result.
        var parts = 0
        /// Whether the server has content that it was not asked to discard.
        var isDue = false
        /// Whether the request to discard is under way.
        var isDropping = false
    }

    private var entries: [ObjectIdentifier: Entry] = [:]

    func began(_ upload: PendingUpload) {
        guard case .part(let split, _) = upload.content else { return }
        entries[ObjectIdentifier(split), default: Entry()].parts += 1
    }

    /// Notes that a part, or a request to discard, has its result, or was lost with its connection.
    ///
    /// - Returns: the request to discard that is to be sent now, if there is one.
    func ended(_ upload: PendingUpload) -> PendingUpload? {
        switch upload.content {
        case .part(let split, _):
            return change(split) { entry in
                entry.parts -= 1
                entry.isDue = split.whole.isGivenUp
            }
        case .drop(let split): return change(split) { $0.isDropping = false }
        case .file, .sealed, .bytes, .stream, .rest, .multipart: return nil
        }
    }

    /// - Returns: the request to discard that is to be sent now, if there is one.
    func giveUp(_ split: any UploadInParts) -> PendingUpload? {
        split.whole.isGivenUp = true
        return change(split) { $0.isDue = true }
    }

    private func change(_ split: any UploadInParts, _ body: (inout Entry) -> Void) -> PendingUpload? {
        let key = ObjectIdentifier(split)
        var entry = entries[key] ?? Entry()
        body(&entry)
        let isNow = entry.isDue && entry.parts == 0 && !entry.isDropping
        if isNow { (entry.isDue, entry.isDropping) = (false, true) }
        entries[key] = entry.parts > 0 || entry.isDropping || entry.isDue ? entry : nil
        return isNow ? PendingUpload(.drop(split), of: split.whole, id: split.whole.id) : nil
    }
}
