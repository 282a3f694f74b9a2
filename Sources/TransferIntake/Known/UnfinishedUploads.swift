import TransferCatalog
import TransferModel
import TransferSystem

/// The uploads in parts that have begun and have no acknowledgement, as they were declared last. The records know them too, or
/// will when somebody has the time: nobody waits for that. Each is written when it begins and when it is declared otherwise,
/// whatever number of connections brings it.
final class UnfinishedUploads: Sendable {
    private struct State {
        var uploads: [UploadID: UnfinishedUpload] = [:]
        /// Those that the records don't know as they are.
        var waiting: Set<UploadID> = []
        /// Whether somebody was asked to write them, who has not begun to.
        var isAsked = false
    }

    private let state = Locked(State())

    /// How many are noted at most: more than there may be parts in the store, so that only who begins uploads to leave them
    /// meets it. Those beyond can be resumed like others.
    private static let most = 32_768

    /// What the records knew.
    func add(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            for upload in uploads.prefix(Self.most - min(Self.most, state.uploads.count)) {
                state.uploads[upload.id] = upload
            }
        }
    }

    /// - Returns: nothing for one that was not noted, or has ended.
    func find(_ id: UploadID) -> UnfinishedUpload? { state.withLock { $0.uploads[id] } }

    var all: [UnfinishedUpload] { state.withLock { Array($0.uploads.values) } }

    /// Work on an upload begins, perhaps once more.
    ///
    /// - Returns: whether something has to be written, and nobody has been asked to do that yet.
    func begin(_ upload: UnfinishedUpload) -> Bool {
        state.withLock { state in
            if let known = state.uploads[upload.id] {
                let declared = known.declared(again: upload)
                guard declared != known else { return false }
                state.uploads[upload.id] = declared
            } else {
                guard state.uploads.count < Self.most else { return false }
                state.uploads[upload.id] = upload
            }
            state.waiting.insert(upload.id)
            defer { state.isAsked = true }
            return !state.isAsked
        }
    }

    /// They have their acknowledgement, which is recorded by itself.
    func end(_ ids: some Sequence<UploadID>) {
        state.withLock { state in
            guard !state.uploads.isEmpty else { return }
            for id in ids where state.uploads.removeValue(forKey: id) != nil { state.waiting.remove(id) }
        }
    }

    /// - Returns: what is to be written; the caller's from now on.
    func takeWaiting() -> [UnfinishedUpload] {
        state.withLock { state in
            defer { (state.waiting, state.isAsked) = ([], false) }
            return state.waiting.compactMap { state.uploads[$0] }
        }
    }

    /// They could not be written. Whoever is asked next tries again.
    func putBack(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            for upload in uploads where state.uploads[upload.id] != nil { state.waiting.insert(upload.id) }
        }
    }

    /// Forgets all but those that somebody can go on with.
    ///
    /// - Parameter isThere: is asked without the lock.
    /// - Returns: the others.
    func removeAll(unless isThere: (UploadID) -> Bool) -> [UploadID] {
        let gone = state.withLock { Array($0.uploads.keys) }.filter { !isThere($0) }
        end(gone)
        return gone
    }
}

extension UnfinishedUpload {
    /// As it is when its sender has declared it once more: whose it is and when it was begun stays, and its size where it says
    /// nothing of that now.
    fileprivate func declared(again new: UnfinishedUpload) -> UnfinishedUpload {
        var upload = new
        upload.size = new.size ?? size
        (upload.sender, upload.client, upload.begun, upload.run) = (sender, client, begun, run)
        return upload
    }
}
