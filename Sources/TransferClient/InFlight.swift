import TransferProtocol

/// Uploads that were begun and have no result yet, in the order of their beginning.
struct InFlight {
    private struct Entry {
        let number: Int
        let upload: PendingUpload
        /// Why it was taken back, if it was.
        var failure: LocalFailure?
        /// What its `end` declared, once that is on its way and if anybody wants to know.
        var digest: Digest?
    }

    private var entries: [UploadID: Entry] = [:]
    private var count = 0

    subscript(id: UploadID) -> PendingUpload? { entries[id]?.upload }

    mutating func add(_ upload: PendingUpload) {
        entries[upload.id] = Entry(number: count, upload: upload)
        count += 1
    }

    /// Remembers what to report when the server confirms that the upload was taken back.
    mutating func abandon(_ id: UploadID, _ failure: LocalFailure) {
        entries[id]?.failure = failure
    }

    mutating func ended(_ id: UploadID, _ digest: Digest) {
        entries[id]?.digest = digest
    }

    mutating func remove(_ id: UploadID) -> (upload: PendingUpload, failure: LocalFailure?, digest: Digest?)? {
        entries.removeValue(forKey: id).map { ($0.upload, $0.failure, $0.digest) }
    }

    mutating func takeAll() -> [PendingUpload] {
        defer { entries = [:] }
        return entries.values.sorted { $0.number < $1.number }.map(\.upload)
    }
}
