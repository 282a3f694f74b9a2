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
        return storing(path, file)?.client == id
    }

    /// Whether the catalog says that another client stored the file. Of one that it does not know nobody says so: it may be the client's
    /// own, published by a server that died before it could record that.
    func isOfAnother(than client: Caller, _ path: RelativePath, _ file: ContentVersion) -> Bool {
        storing(path, file).map { client.id == nil || $0.client != client.id } ?? false
    }

    /// - Returns: nil if the catalog does not know the file as it is.
    private func storing(_ path: RelativePath, _ file: ContentVersion) -> CatalogEntry? {
        settleIfNeeded()
        return stored(at: path.string).last { $0.version?.hasSameContent(as: file) ?? false }
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

extension Intake {
    /// The same, also in a copy of the directory.
    ///
    /// - Throws: `busy` where that can only be told later.
    func hasStored(_ client: Caller, _ path: RelativePath, _ file: ContentVersion) throws(Failure) -> Bool {
        if known.hasStored(client, path, file) { return true }
        guard adoption.isOpen else { return false }
        switch adoption.adopt(path, file) {
        case .known: return known.hasStored(client, path, file)
        case .later(let interval): throw .isChecked(path, interval)
        case .unknown: throw .cannotBeChecked(path, isInDoubt: store.isInDoubt)
        }
    }

    /// Lets a file be known as it is before it gets another time of modification: behind that it could not be told from other files.
    ///
    /// - Throws: `busy` where that can only be done later.
    func prepareChange(of path: RelativePath) throws(Failure) {
        guard adoption.isOpen, let version = store.version(at: path) else { return }
        if case .later(let interval) = adoption.adopt(path, version) { throw .isChecked(path, interval) }
    }
}

extension Failure {
    /// A client wants something of a file that is not read yet.
    ///
    /// - Parameter interval: when to ask again.
    static func isChecked(_ path: RelativePath, _ interval: Interval) -> Failure {
        Failure(
            .busy,
            "The server's directory is a copy, and \(path) is being compared with what was acknowledged: try again later.",
            retryAfter: interval)
    }

    /// - Parameter isInDoubt: whether a sync has failed, so that the file as it is read may not be the file on the disk.
    static func cannotBeChecked(_ path: RelativePath, isInDoubt: Bool) -> Failure {
        let reason =
            isInDoubt
            ? "until the server's machine is started again, because a sync has failed."
            : "now, because it cannot be read: the server's log says why."
        return Failure(
            .busy,
            "The server's directory is a copy, and \(path) cannot be compared with what was acknowledged \(reason)")
    }

    /// To whoever wants to replace what somebody else has stored.
    static func notYours(_ path: RelativePath) -> Failure {
        Failure(
            .forbidden,
            "\(path) was not stored by this client, which may not replace what others have stored. Push it with another "
                + "conflict policy, or under another name.")
    }
}
