import TransferModel
import TransferProtocol

/// Uploads that have begun and whose result, or the receipt for it, is still missing, in the order in which they began.
struct InFlight {
    private struct Entry {
        let number: Int
        let upload: PendingUpload
        /// The digest of the content, if all of it was sent.
        var digest: Digest?
        /// The reason why it was aborted; nil if it was not.
        var failure: Failure?
    }

    /// An acknowledgement that waits for its receipt.
    struct Held {
        fileprivate let number: Int
        let upload: PendingUpload
        let result: UploadResult
        let failure: Failure?
        /// The digest of the content, if all of it was sent.
        let digest: Digest?
    }

    private var entries: [UploadID: Entry] = [:]
    private var count = 0
    /// The acknowledgements without receipts, in the order of the results.
    private var held: [Held] = []

    subscript(id: UploadID) -> PendingUpload? { entries[id]?.upload }

    mutating func add(_ upload: PendingUpload) {
        entries[upload.id] = Entry(number: count, upload: upload, digest: upload.digest)
        count += 1
    }

    /// Notes the digest of an upload whose content was sent completely.
    mutating func ended(_ id: UploadID, _ digest: Digest) {
        entries[id]?.digest = digest
    }

    /// Checks that a successful result is possible for the upload, and that an acknowledgement describes what was sent.
    ///
    /// - Parameter policy: the conflict policy that the server received.
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
            throw ProtocolFault(.unexpectedFrame, "The server stored an upload under an invalid path.")
        }
        guard let digest = entry.digest, digest != result.digest else { return }
        throw ProtocolFault(.unexpectedFrame, "The server acknowledged other content than was sent.")
    }

    /// Notes the failure to report when the server confirms that the upload was aborted.
    mutating func abandon(_ id: UploadID, _ failure: Failure) {
        entries[id]?.failure = failure
    }

    /// - Returns: the upload, the reason if it was aborted, and the digest if all of the content was sent.
    mutating func remove(_ id: UploadID) -> (upload: PendingUpload, failure: Failure?, digest: Digest?)? {
        entries.removeValue(forKey: id).map { ($0.upload, $0.failure, $0.digest) }
    }

    /// Keeps an acknowledgement until its receipt arrives.
    mutating func hold(_ result: UploadResult) {
        guard let entry = entries.removeValue(forKey: result.id) else { return }
        held.append(
            Held(
                number: entry.number, upload: entry.upload, result: result, failure: entry.failure,
                digest: entry.digest))
    }

    /// Takes the acknowledgements that have waited longest.
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
    /// Whether the server can end this upload with the code.
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
    /// Whether the stored path, if there is one, is a valid path.
    var hasPlausiblePath: Bool { storedPath.map { (try? RelativePath($0)) != nil } ?? true }
}
