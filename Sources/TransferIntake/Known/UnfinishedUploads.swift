import TransferModel
import TransferPorts
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

        /// Whether it can be told from others.
        var isNamed: Bool { if case .client = self { true } else { false } }

        private static func host(of sender: String) -> String {
            let parts = sender.split(separator: ":", omittingEmptySubsequences: false)
            if sender.utf8.first == UInt8(ascii: "[") {
                return String(sender.dropFirst().prefix { $0 != "]" })
            }
            return parts.count == 2 ? String(parts[0]) : sender
        }
    }

    /// Where one more upload of a holder goes.
    enum Place: Equatable {
        case free
        /// One of these has to give way: the oldest ones of who has most, the oldest first.
        case instead([UploadID])
    }

    /// What one of them has.
    private struct Holding {
        var count = 0
        /// Of their paths.
        var bytes = 0
        /// In the order of their beginning. Some may have ended.
        var order: [UploadID] = []
    }

    private struct State {
        private(set) var uploads: [UploadID: UnfinishedUpload] = [:]
        private(set) var held: [Holder: Holding] = [:]
        /// How many all of those have together who cannot be told apart.
        private(set) var nameless = 0
        /// Of all paths.
        private(set) var bytes = 0
        /// Those that the records don't know as they are.
        var waiting: Set<UploadID> = []
        /// Whether somebody was asked to write them, who has not begun to.
        var isAsked = false

        mutating func put(_ upload: UnfinishedUpload) {
            // What is declared again is whose it was.
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

        /// The oldest ones of a holder.
        func oldest(of holder: Holder) -> [UploadID] {
            Array((held[holder]?.order ?? []).lazy.filter { uploads[$0] != nil }.prefix(mostLooks))
        }

        /// Who has most of all, or of those who cannot be told apart; one who has begun less than that gets a place from them.
        func greatest(namelessOnly: Bool) -> Holder? {
            held.lazy.filter { !namelessOnly || !$0.key.isNamed }.max { $0.value.count < $1.value.count }?.key
        }
    }

    private let state = Locked(State())

    /// How many are noted at most: more than there may be parts in the store and multipart uploads. A note goes with what it is about.
    private static let most = 32_768

    /// As many as a directory keeps.
    static let places = UnfinishedContent.mostParts

    /// Places that a client may have, or a network whose clients cannot be told apart: an eighth.
    static let share = places / 8

    /// Places that all may have together who cannot be told apart: a quarter.
    static let namelessShare = places / 4

    /// Bytes that their paths may have in memory: 1 KiB for each place. A client has an eighth of that as well.
    static let mostBytes = 16 << 20

    /// Uploads that are looked at for one that may give way: somebody may be working on the others.
    private static let mostLooks = 64

    /// What the records knew. What has begun here since is newer.
    func add(_ uploads: [UnfinishedUpload]) {
        state.withLock { state in
            let old = uploads.sorted { $0.begun < $1.begun }
            for upload in old where state.mayHave(upload) && state.uploads[upload.id] == nil {
                state.put(upload)
            }
        }
    }

    /// Where one more of a client goes: an upload that nobody brings anything for has its place for a week. A client that has its share
    /// loses its own oldest one. Who finds no place at all takes that of the oldest one of who has most.
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
                guard state.mayHave(upload) else { return false }
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

extension Failure {
    static let tooManyUnfinished = Failure(
        .busy,
        "This client has begun as many uploads as it may leave unfinished, and all of them are being worked on: complete some, or "
            + "delete them.")
}
