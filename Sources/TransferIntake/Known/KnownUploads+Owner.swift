import TransferDatabase
import TransferCatalog
package import TransferModel
import TransferStore
import TransferSystem

/// Whose a stored file is.
extension KnownUploads {
    /// Whether it was this client that stored the file. That it has sent the same content later makes nobody its owner; and
    /// somebody else may have written to it, or have got the number of one that is gone.
    package func hasStored(_ client: Caller, _ path: RelativePath, _ file: ContentVersion) -> Bool {
        guard let id = client.id else { return false }
        settleIfNeeded()
        return stored(at: path.string).last { $0.version?.hasSameContent(as: file) ?? false }?.client == id
    }

    /// Uploads that have stored a file under a path, the newest last, as far as they are settled.
    private func stored(at path: String) -> [CatalogEntry] {
        do throws(DatabaseError) {
            return try records.stored(at: path).sorted { $0.committed < $1.committed }
        } catch {
            complain(error, unrecorded: 0)
            return []
        }
    }
}

extension StoreError {
    /// To whoever wants to replace what somebody else has stored.
    static func notYours(_ path: RelativePath) -> StoreError {
        StoreError(
            .forbidden,
            "\(path) was not stored by this client, which may not replace what others have stored. Push it with another "
                + "conflict policy, or under another name.")
    }
}
