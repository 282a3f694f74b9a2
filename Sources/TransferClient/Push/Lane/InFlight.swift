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
        var failure: LocalFailure?
    }

    /// An acknowledgement that had to wait for its receipt.
    struct Held {
        fileprivate let number: Int
        let upload: PendingUpload
        let result: UploadResult
        let failure: LocalFailure?
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

    /// Looks whether an acknowledgement is one of what was sent.
    ///
    /// - Throws: `unexpectedFrame`.
    func check(_ result: UploadResult) throws(ProtocolFault) {
        guard [.committed, .alreadyStored, .staged].contains(result.code) else { return }
        guard let digest = entries[result.id]?.digest, digest != result.digest else { return }
        throw ProtocolFault(.unexpectedFrame, "The server acknowledged other content than was sent.")
    }

    /// Remembers what to report when the server confirms that the upload was taken back.
    mutating func abandon(_ id: UploadID, _ failure: LocalFailure) {
        entries[id]?.failure = failure
    }

    /// - Returns: the digest too, when all of the content was sent.
    mutating func remove(_ id: UploadID) -> (upload: PendingUpload, failure: LocalFailure?, digest: Digest?)? {
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
