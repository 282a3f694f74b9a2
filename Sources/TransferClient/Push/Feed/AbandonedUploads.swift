import TransferModel

/// Uploads in parts that came to nothing and that nobody can go on with. The server is asked to throw away what it has of
/// one as soon as nothing of it is under way any more: a part that arrived later would make it begin anew.
///
/// `@unchecked Sendable`: touched on the run's loop only.
final class AbandonedUploads: @unchecked Sendable {
    private struct Entry {
        /// Parts that were begun and have no result.
        var parts = 0
        /// Whether the server has something that it was not asked to throw away.
        var isDue = false
        /// Whether it is being asked.
        var isDropping = false
    }

    private var entries: [ObjectIdentifier: Entry] = [:]

    func began(_ upload: PendingUpload) {
        guard case .part(let split, _) = upload.content else { return }
        entries[ObjectIdentifier(split), default: Entry()].parts += 1
    }

    /// A part, or what takes an upload back, has its result, or was lost with its connection.
    ///
    /// - Returns: what is to be sent now.
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

    /// - Returns: what is to be sent now.
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
