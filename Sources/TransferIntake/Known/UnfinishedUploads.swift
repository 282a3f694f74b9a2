import TransferCatalog
import TransferModel
import TransferSystem

/// The uploads in parts that have begun and have no acknowledgement, as they were declared last. The records know them too, or
/// will when somebody has the time: nobody waits for that. Each is written when it begins and when it is declared otherwise,
/// whatever number of connections brings it.
final class UnfinishedUploads: Sendable {
    private struct State {
        private(set) var uploads: [UploadID: UnfinishedUpload] = [:]
        /// How many each client has, by its id; those of nobody in particular count together.
        private(set) var held: [UInt64?: Int] = [:]
        /// Those that the records don't know as they are.
        var waiting: Set<UploadID> = []
        /// Whether somebody was asked to write them, who has not begun to.
        var isAsked = false

        mutating func put(_ upload: UnfinishedUpload) {
            let old = uploads.updateValue(upload, forKey: upload.id)
            guard old?.client != upload.client || old == nil else { return }
            if let old { release(old) }
            held[upload.client, default: 0] += 1
        }

        mutating func remove(_ id: UploadID) -> UnfinishedUpload? {
            guard let upload = uploads.removeValue(forKey: id) else { return nil }
            release(upload)
            return upload
        }

        private mutating func release(_ upload: UnfinishedUpload) {
            let rest = (held[upload.client] ?? 1) - 1
            held[upload.client] = rest > 0 ? rest : nil
        }
    }

    private let state = Locked(State())

    /// How many are noted at most: more than there may be parts in the store and assemblies. A note goes with what it is about.
    private static let most = 32_768

    /// As many as the store keeps (`Incoming.mostParts`).
    static let places = 16_384

    /// What the records knew. What has begun here since is newer.
    func add(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            for upload in uploads where state.uploads.count < Self.most && state.uploads[upload.id] == nil {
                state.put(upload)
            }
        }
    }

    /// Whether what one client has begun leaves as many places to the others: an upload that nobody brings anything for has its
    /// place for a week.
    func leavesEnough(_ client: UInt64?) -> Bool {
        state.withLock { state in
            let own = state.held[client] ?? 0
            return own <= 1 || own <= Self.places - state.uploads.count
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
                state.put(declared)
            } else {
                guard state.uploads.count < Self.most else { return false }
                state.put(upload)
            }
            state.waiting.insert(upload.id)
            defer { state.isAsked = true }
            return !state.isAsked
        }
    }

    /// They have their acknowledgement, which is recorded by itself, or nothing is left of them.
    ///
    /// - Returns: those that were noted.
    @discardableResult
    func end(_ ids: some Sequence<UploadID>) -> [UnfinishedUpload] {
        state.withLock { state in
            guard !state.uploads.isEmpty else { return [] }
            return ids.compactMap { id in
                state.waiting.remove(id)
                return state.remove(id)
            }
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

    /// Forgets uploads, but those that somebody can go on with.
    ///
    /// - Parameters:
    ///   - ids: which; nothing for all.
    ///   - isThere: is asked without the lock.
    /// - Returns: the forgotten ones.
    func remove(_ ids: [UploadID]?, unless isThere: (UploadID) -> Bool) -> [UploadID] {
        let gone = end(state.withLock { state in ids ?? Array(state.uploads.keys) }.filter { !isThere($0) })
        return gone.compactMap { upload in
            guard isThere(upload.id) else { return upload.id }
            // Somebody has begun it again meanwhile, and found it noted.
            _ = begin(upload)
            return nil
        }
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
