import TransferCatalog
import TransferModel
import TransferStore
import TransferSystem

/// The uploads in parts that have begun and have no acknowledgement, as they were declared last. The records know them too, or
/// will when somebody has the time: nobody waits for that. Each is written when it begins and when it is declared otherwise,
/// whatever number of connections brings it.
final class UnfinishedUploads: Sendable {
    /// Who takes places: a client, or all of one network who cannot be told apart.
    enum Holder: Hashable {
        case client(UInt64)
        case network(PeerNetwork)
        /// Without an address, as over a Unix socket.
        case host(String)

        /// - Parameters:
        ///   - client: its id; nothing for one that cannot be told apart.
        ///   - sender: what stands in the catalog: of such a client the address, with a port unless a proxy has told it.
        init(client: UInt64?, sender: String) {
            let host = Self.host(of: sender)
            self = client.map(Self.client) ?? PeerNetwork(address: host).map(Self.network) ?? .host(host)
        }

        private static func host(of sender: String) -> String {
            let parts = sender.split(separator: ":", omittingEmptySubsequences: false)
            if sender.utf8.first == UInt8(ascii: "[") {
                return String(sender.dropFirst().prefix { $0 != "]" })
            }
            return parts.count == 2 ? String(parts[0]) : sender
        }
    }

    private struct State {
        private(set) var uploads: [UploadID: UnfinishedUpload] = [:]
        /// How many each of them has.
        private(set) var held: [Holder: Int] = [:]
        /// How many all of those have together who cannot be told apart.
        private(set) var nameless = 0
        /// Those that the records don't know as they are.
        var waiting: Set<UploadID> = []
        /// Whether somebody was asked to write them, who has not begun to.
        var isAsked = false

        mutating func put(_ upload: UnfinishedUpload) {
            if let old = uploads.updateValue(upload, forKey: upload.id) { release(old) }
            held[upload.holder, default: 0] += 1
            if upload.client == nil { nameless += 1 }
        }

        mutating func remove(_ id: UploadID) -> UnfinishedUpload? {
            guard let upload = uploads.removeValue(forKey: id) else { return nil }
            release(upload)
            return upload
        }

        private mutating func release(_ upload: UnfinishedUpload) {
            if upload.client == nil { nameless -= 1 }
            let rest = (held[upload.holder] ?? 1) - 1
            held[upload.holder] = rest > 0 ? rest : nil
        }
    }

    private let state = Locked(State())

    /// How many are noted at most: more than there may be parts in the store and assemblies. A note goes with what it is about.
    private static let most = 32_768

    /// As many as a directory keeps.
    static let places = FileStore.mostParts

    /// What the records knew. What has begun here since is newer.
    func add(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            for upload in uploads where state.uploads.count < Self.most && state.uploads[upload.id] == nil {
                state.put(upload)
            }
        }
    }

    /// Whether what one has begun leaves as many places to the others: an upload that nobody brings anything for has its place
    /// for a week.
    func leavesEnough(_ holder: Holder) -> Bool {
        state.withLock { state in
            let own = state.held[holder] ?? 0
            if case .client = holder { return own <= 1 || own <= Self.places - state.uploads.count }
            // Who cannot be told apart may have many addresses: all together leave as much, and each of them to the others. Who
            // has begun nothing yet finds a place behind that.
            let all = state.nameless
            let share = (Self.places - min(Self.places, state.uploads.count - all)) / 2
            return own <= 1 ? all <= 1 || all <= share + share / 2 : all <= share && own <= share - all
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
    fileprivate var holder: UnfinishedUploads.Holder { UnfinishedUploads.Holder(client: client, sender: sender) }

    /// As it is when its sender has declared it once more: whose it is and when it was begun stays, and its size where it says
    /// nothing of that now.
    fileprivate func declared(again new: UnfinishedUpload) -> UnfinishedUpload {
        var upload = new
        upload.size = new.size ?? size
        (upload.sender, upload.client, upload.begun, upload.run) = (sender, client, begun, run)
        return upload
    }
}
