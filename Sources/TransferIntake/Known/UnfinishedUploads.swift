import TransferModel
import TransferPorts
import TransferSystem

/// The multipart uploads that have begun and have no acknowledgement, as they were declared last. They are written to
/// the records later, and no client waits for that. Each is written once when it begins, and again when its declaration
/// changes, however many connections send its parts.
final class UnfinishedUploads: Sendable {
    /// The party whose places are counted: a client, or all clients without a key or token in one network.
    enum Holder: Hashable {
        case client(UInt64)
        case network(PeerNetwork)
        /// A client without an IP address, as on a Unix socket.
        case host(String)

        /// - Parameters:
        ///   - client: the client's number; nil for a client without a key or token.
        ///   - sender: the sender in the catalog. For a client without a key or token it is an address, with a port
        ///     unless a proxy has named it.
        init(client: UInt64?, sender: String) {
            let host = Self.host(of: sender)
            self = client.map(Self.client) ?? PeerNetwork(address: host).map(Self.network) ?? .host(host)
        }

        /// Whether this is a client with a key or token.
        var isNamed: Bool { if case .client = self { true } else { false } }

        private static func host(of sender: String) -> String {
            let parts = sender.split(separator: ":", omittingEmptySubsequences: false)
            if sender.utf8.first == UInt8(ascii: "[") {
                return String(sender.dropFirst().prefix { $0 != "]" })
            }
            return parts.count == 2 ? String(parts[0]) : sender
        }
    }

    /// Where one more upload of a holder finds a place.
    enum Place: Equatable {
        case free
        /// One of these uploads has to be given up. They are the oldest uploads of one holder, the oldest first.
        case instead([UploadID])
    }

    /// The unfinished uploads of one holder.
    private struct Holding {
        var count = 0
        /// Bytes that their paths have.
        var bytes = 0
        /// Ordered by when they began. Some may have ended.
        var order: [UploadID] = []
    }

    private struct State {
        private(set) var uploads: [UploadID: UnfinishedUpload] = [:]
        private(set) var held: [Holder: Holding] = [:]
        /// The number of uploads of all holders without a name.
        private(set) var nameless = 0
        /// Bytes that all paths have.
        private(set) var bytes = 0
        /// Uploads whose current state is not recorded.
        var waiting: Set<UploadID> = []
        /// Whether a caller was asked to record the waiting uploads and has not begun to.
        var isAsked = false

        mutating func put(_ upload: UnfinishedUpload) {
            // An upload that is declared again keeps its holder.
            let before = uploads.updateValue(upload, forKey: upload.id)
            let more = upload.path.utf8.count - (before?.path.utf8.count ?? 0)
            bytes += more
            held[upload.holder, default: Holding()].bytes += more
            guard before == nil else { return }
            held[upload.holder, default: Holding()].count += 1
            held[upload.holder, default: Holding()].order.append(upload.id)
            if upload.client == nil { nameless += 1 }
        }

        func mayHave(_ upload: UnfinishedUpload) -> Bool {
            uploads.count < most && bytes + upload.path.utf8.count <= 2 * mostBytes
        }

        mutating func remove(_ id: UploadID) -> UnfinishedUpload? {
            guard let upload = uploads.removeValue(forKey: id) else { return nil }
            release(upload)
            return upload
        }

        private mutating func release(_ upload: UnfinishedUpload) {
            if upload.client == nil { nameless -= 1 }
            bytes -= upload.path.utf8.count
            guard var holding = held.removeValue(forKey: upload.holder), holding.count > 1 else { return }
            holding.count -= 1
            holding.bytes -= upload.path.utf8.count
            if holding.order.count > 2 * holding.count + mostLooks {
                holding.order.removeAll { uploads[$0] == nil }
            }
            held[upload.holder] = holding
        }

        /// The oldest uploads of a holder.
        func oldest(of holder: Holder) -> [UploadID] {
            Array((held[holder]?.order ?? []).lazy.filter { uploads[$0] != nil }.prefix(mostLooks))
        }

        /// The holder with the most uploads, of all or of those without a name.
        func greatest(namelessOnly: Bool) -> Holder? {
            held.lazy.filter { !namelessOnly || !$0.key.isNamed }.max { $0.value.count < $1.value.count }?.key
        }
    }

    private let state = Locked(State())

    /// The most uploads that are remembered: more than the parts in the store and the multipart uploads in memory can
    /// be together. An upload is forgotten with its parts.
    private static let most = 32_768

    /// Number of places: as many as the parts that a directory keeps.
    static let places = UnfinishedContent.mostParts

    /// Places for one holder: an eighth of all places.
    static let share = places / 8

    /// Places for all holders without a name together: a quarter of all places.
    static let namelessShare = places / 4

    /// The most bytes of paths in memory: 1 KiB for each place. One holder may use an eighth of that.
    static let mostBytes = 16 << 20

    /// The number of uploads that are examined when one has to be given up; connections may be working on some.
    private static let mostLooks = 64

    /// Adds the uploads that the records have. Uploads that have begun since the server started are newer, and stay.
    func add(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            let old = uploads.sorted { $0.begun < $1.begun }
            for upload in old where state.mayHave(upload) && state.uploads[upload.id] == nil {
                state.put(upload)
            }
        }
    }

    /// Finds a place for one more upload of a holder. An upload to which nothing is added keeps its place for a week. A
    /// holder that has used its share loses its own oldest upload. If no place is free, the holder with the most
    /// uploads loses its oldest one.
    func place(for holder: Holder) -> Place {
        state.withLock { state in
            let own = state.held[holder]?.count ?? 0
            if own >= Self.share || state.held[holder]?.bytes ?? 0 >= Self.mostBytes / 8 {
                return .instead(state.oldest(of: holder))
            }
            let isShareUsed = !holder.isNamed && state.nameless >= Self.namelessShare
            let isFull = state.uploads.count >= Self.places || state.bytes >= Self.mostBytes
            guard isShareUsed || isFull else { return .free }
            let greatest = state.greatest(namelessOnly: isShareUsed)
            let loser = greatest.flatMap { state.held[$0]?.count ?? 0 > own ? $0 : nil } ?? holder
            return .instead(state.oldest(of: loser))
        }
    }

    /// - Returns: nil for an upload that is not known, or has ended.
    func find(_ id: UploadID) -> UnfinishedUpload? { state.withLock { $0.uploads[id] } }

    var all: [UnfinishedUpload] { state.withLock { Array($0.uploads.values) } }

    /// Notes that work on an upload begins, perhaps once more.
    ///
    /// - Returns: whether there is something to record and no caller was asked yet to do so.
    func begin(_ upload: UnfinishedUpload) -> Bool {
        state.withLock { state in
            if let known = state.uploads[upload.id] {
                let declared = known.declared(again: upload)
                guard declared != known else { return false }
                state.put(declared)
            } else {
                guard state.mayHave(upload) else { return false }
                state.put(upload)
            }
            state.waiting.insert(upload.id)
            defer { state.isAsked = true }
            return !state.isAsked
        }
    }

    /// Removes uploads that have their acknowledgement, which is recorded separately, or whose parts are gone.
    ///
    /// - Returns: the uploads that were in memory.
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

    /// - Returns: the uploads that the caller now has to record.
    func takeWaiting() -> [UnfinishedUpload] {
        state.withLock { state in
            defer { (state.waiting, state.isAsked) = ([], false) }
            return state.waiting.compactMap { state.uploads[$0] }
        }
    }

    /// Puts back uploads that could not be recorded. The next call of `takeWaiting` returns them again.
    func putBack(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            for upload in uploads where state.uploads[upload.id] != nil { state.waiting.insert(upload.id) }
        }
    }

    /// Forgets uploads that cannot be resumed.
    ///
    /// - Parameters:
    ///   - ids: the uploads to look at; nil for all.
    ///   - isThere: whether an upload can be resumed; called without the lock.
    /// - Returns: the ids of the forgotten uploads.
    func remove(_ ids: [UploadID]?, unless isThere: (UploadID) -> Bool) -> [UploadID] {
        let gone = end(state.withLock { state in ids ?? Array(state.uploads.keys) }.filter { !isThere($0) })
        return gone.compactMap { upload in
            guard isThere(upload.id) else { return upload.id }
            // Another connection has begun the upload again before it was removed here, so it stays.
            _ = begin(upload)
            return nil
        }
    }
}

extension UnfinishedUpload {
    fileprivate var holder: UnfinishedUploads.Holder { UnfinishedUploads.Holder(client: client, sender: sender) }

    /// The upload after its client has declared it once more: owner and time stay, and so does the size if the client
    /// does not declare one now.
    fileprivate func declared(again new: UnfinishedUpload) -> UnfinishedUpload {
        var upload = new
        upload.size = new.size ?? size
        (upload.sender, upload.client, upload.begun, upload.run) = (sender, client, begun, run)
        return upload
    }
}

extension Failure {
    static let tooManyUnfinished = Failure(
        .busy,
        "This client has as many unfinished uploads as it may have, and all of them are in use: "
            + "complete or delete some first.")
}
