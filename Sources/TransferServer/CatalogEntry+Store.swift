import TransferCatalog
import TransferProtocol
import TransferStore

extension CatalogEntry {
    /// What the store knows of an upload that it has published; the times are not among it.
    ///
    /// - Parameter isDurable: whether what the store holds is.
    /// - Returns: nothing when nothing is stored.
    init?(_ published: Published, _ publication: Publication, isDurable: Bool) {
        switch published {
        case .committed(let path, let identity):
            self.init(id: publication.id, state: .committed, path: path.string, size: publication.size, begun: 0)
            self.identity = identity
        case .alreadyStored(let path, let identity):
            self.init(id: publication.id, state: .alreadyStored, path: path.string, size: publication.size, begun: 0)
            self.identity = identity
        case .skipped: return nil
        }
        digest = publication.digest
        self.isDurable = isDurable
    }
}
