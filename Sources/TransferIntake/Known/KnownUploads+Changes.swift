package import TransferCatalog
import TransferDatabase
package import TransferModel

/// What becomes of uploads whose files this server has moved or given other attributes.
extension KnownUploads {
    /// Files, or all in folders, have other paths now. No id stands for them any more.
    ///
    /// - Parameter versions: of the files, before and after, with their paths of now.
    package func moved(_ moves: [PathMove], _ versions: [VersionChange]) {
        guard !moves.isEmpty else { return }
        recent.forget(Set(moves.lazy.flatMap { [PathKey($0.path), PathKey($0.target)] }))
        do throws(DatabaseError) {
            try records.move(moves)
            try records.restamp(versions.filter { $0.before != $0.after })
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// Files have other attributes now.
    package func changed(_ changes: [VersionChange]) {
        let changes = changes.filter { $0.before != $0.after }
        guard !changes.isEmpty else { return }
        recent.forget(Set(changes.lazy.map { PathKey($0.path) }))
        do throws(DatabaseError) {
            try records.restamp(changes)
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// A file was copied. The copy is the client's, as what it has pushed itself.
    ///
    /// - Parameters:
    ///   - digest: of its content.
    ///   - isDurable: whether it is on disk with its name.
    ///   - moment: of now; UTC, in nanoseconds since 1970.
    package func copied(
        _ path: RelativePath, kind: ContentKind, _ digest: Digest, _ version: ContentVersion, by caller: Caller,
        isDurable: Bool, at moment: Int64
    ) {
        var entry = CatalogEntry(found: path, digest: digest, version: version, at: moment)
        (entry.kind, entry.sender, entry.client, entry.isDurable) = (kind, caller.sender, caller.id, isDurable)
        record([entry])
    }

    /// A file has another name: what was acknowledged of its content holds for that, too.
    ///
    /// - Parameters:
    ///   - before: what the source was when it was looked at.
    ///   - moment: of now; UTC, in nanoseconds since 1970.
    package func adopt(
        _ path: RelativePath, like source: RelativePath, as before: ContentVersion, _ version: ContentVersion,
        at moment: Int64
    ) {
        settleIfNeeded()
        let known = entries(at: [source.string])[0].last { $0.version == before && $0.digest != nil }
        guard let known else { return }
        var entry = CatalogEntry(found: path, digest: known.digest, version: version, at: moment)
        (entry.kind, entry.sender, entry.client) = (known.kind, known.sender, known.client)
        entry.isDurable = known.isDurable
        record([entry])
    }
}
