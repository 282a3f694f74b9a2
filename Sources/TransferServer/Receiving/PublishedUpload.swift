import TransferCatalog
import TransferModel
import TransferProtocol
import TransferStore

/// An upload whose publication has ended, well or not, and that has no result yet. It holds no descriptor any more.
struct PublishedUpload {
    let receiving: Receiving

    /// Where the content is; nothing unless it is stored.
    let path: RelativePath?

    let result: UploadResult

    /// For the catalog; nothing unless the content is stored.
    var entry: CatalogEntry?

    /// - Parameters:
    ///   - isDurable: whether what the store holds is.
    ///   - client: whom it came from.
    ///   - begun: UTC, in nanoseconds since 1970, as `moment`.
    ///   - moment: when it was published.
    init(
        _ receiving: Receiving, _ publication: Publication, _ outcome: Result<Published, StoreError>, isDurable: Bool,
        client: ClientView, begun: Int64, at moment: Int64
    ) {
        self.receiving = receiving
        switch outcome {
        case .success(let published):
            path = published.path
            result = UploadResult(published, publication, isDurable: isDurable)
            entry = CatalogEntry(
                published, publication, kind: receiving.begin.kind, isDurable: isDurable, client: client,
                begun: begun, committed: moment, run: receiving.run)
        case .failure(let error):
            path = nil
            // Not `receiving.size`: by now the digester may count the bytes of a later upload.
            result = UploadResult(error, publication.id, size: publication.size)
            entry = nil
        }
    }
}

extension Published {
    /// Where the content is.
    fileprivate var path: RelativePath? {
        switch self {
        case .committed(let path, _), .restored(let path, _), .healed(let path, _), .alreadyStored(let path, _): path
        case .skipped: nil
        }
    }
}
