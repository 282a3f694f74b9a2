import TransferModel
import TransferProtocol

/// Uploads that were begun and have no result yet, or not its receipt, in the order of their beginning.
struct InFlight {
    private struct Entry {
        let number: Int
        let upload: PendingUpload
        /// Of its content, when all of that was sent.
        var digest: Digest?
        /// Why it was taken back, if it was.
        var failure: Failure?
    }

    /// An acknowledgement that had to wait for its receipt.
    struct Held {
        fileprivate let number: Int
        let upload: PendingUpload
        let result: UploadResult
        let failure: Failure?
        /// Of the content, when all of it was sent.
        let digest: Digest?
    }

    private var entries: [UploadID: Entry] = [:]
    private var count = 0
    /// Those that have their result and wait for their receipt, in the order of the results.
    private var held: [Held] = []

    subscript(id: UploadID) -> PendingUpload? { entries[id]?.upload }

    mutating func add(_ upload: PendingUpload) {
        entries[upload.id] = Entry(number: count, upload: upload, digest: upload.digest)
        count += 1
    }

    /// All of an upload's content was sent.
    mutating func ended(_ id: UploadID, _ digest: Digest) {
        entries[id]?.digest = digest
    }

    /// Looks whether a success is one that its request can have, and an acknowledgement one of what was sent.
    ///
    /// - Parameter policy: that the server was told for names that are taken.
    /// - Throws: `unexpectedFrame`.
    func check(_ result: UploadResult, _ policy: ConflictPolicy) throws(ProtocolFault) {
        guard result.code.isSuccess, let entry = entries[result.id], !entry.upload.isDrop else { return }
        guard entry.upload.canEnd(with: result.code, policy) else {
            throw ProtocolFault(
                .unexpectedFrame,
                "The server ended an upload with '\(result.code.name)', which does not say that it is stored.")
        }
        guard result.code != .skipped else { return }
        guard result.hasPlausiblePath else {
            throw ProtocolFault(.unexpectedFrame, "The server stored an upload under a path that none can have.")
        }
        guard let digest = entry.digest, digest != result.digest else { return }
        throw ProtocolFault(.unexpectedFrame, "The server acknowledged other content than was sent.")
    }

    /// Remembers what to report when the server confirms that the upload was taken back.
    mutating func abandon(_ id: UploadID, _ failure: Failure) {
        entries[id]?.failure = failure
    }

    /// - Returns: the digest too, when all of the content was sent.
    mutating func remove(_ id: UploadID) -> (upload: PendingUpload, failure: Failure?, digest: Digest?)? {
        entries.removeValue(forKey: id).map { ($0.upload, $0.failure, $0.digest) }
    }

    /// An upload is acknowledged, and its receipt has yet to come.
    mutating func hold(_ result: UploadResult) {
        guard let entry = entries.removeValue(forKey: result.id) else { return }
        held.append(
            Held(
                number: entry.number, upload: entry.upload, result: result, failure: entry.failure,
                digest: entry.digest))
    }

    /// Removes those that have waited longest for their receipts.
    mutating func takeHeld(_ count: Int) -> [Held] {
        guard count < held.count else {
            defer { held = [] }
            return held
        }
        defer { held.removeFirst(count) }
        return Array(held.prefix(count))
    }

    mutating func takeAll() -> [PendingUpload] {
        defer { (entries, held) = ([:], []) }
        let all = entries.values.map { ($0.number, $0.upload) } + held.map { ($0.number, $0.upload) }
        return all.sorted { $0.0 < $1.0 }.map(\.1)
    }
}

extension PendingUpload {
    /// Whether a success is one that the server can end this with.
    fileprivate func canEnd(with code: ResultCode, _ policy: ConflictPolicy) -> Bool {
        switch code {
        case .committed, .alreadyStored: return true
        case .skipped: return policy == .skip
        case .staged: if case .part = content { return true } else { return false }
        default: return false
        }
    }
}

extension UploadResult {
    /// Whether the path, where one is told, is one that an upload can have.
    var hasPlausiblePath: Bool { storedPath.map { (try? RelativePath($0)) != nil } ?? true }
}
