import TransferCatalog
import TransferModel
import TransferProtocol
import TransferStore

extension UploadResult {
    init(_ error: StoreError, _ id: UploadID, size: UInt64) {
        self.init(
            id: id, code: error.code, size: size, message: error.message,
            retryAfter: error.code == .busy ? 1000 : nil)
    }

    /// - Parameter isDurable: whether what the store holds is.
    init(_ published: Published, _ publication: Publication, isDurable: Bool) {
        let (code, path): (ResultCode, RelativePath?) =
            switch published {
            case .committed(let path, _), .restored(let path, _), .healed(let path, _): (.committed, path)
            case .alreadyStored(let path, _): (.alreadyStored, path)
            case .skipped: (.skipped, nil)
            }
        self.init(
            id: publication.id, code: code, isDurable: isDurable && path != nil, size: publication.size,
            digest: path == nil ? nil : publication.digest,
            storedPath: path == publication.path ? nil : path?.string)
    }

    /// The acknowledgement that an upload got before, to whoever sends it again.
    ///
    /// - Parameters:
    ///   - run: of the connection that it comes over now. In the run that stored it, it is a replay.
    ///   - path: that it asks for now.
    init(again entry: CatalogEntry, run: UInt64?, path: String) {
        self.init(
            id: entry.id, code: entry.state == .committed && entry.run == run ? .committed : .alreadyStored,
            isDurable: entry.isDurable, size: entry.size, digest: entry.digest,
            storedPath: entry.path.hasSameBytes(as: path) ? nil : entry.path)
    }
}
